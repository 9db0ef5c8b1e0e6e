// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/carillon-dev/carillon/internal/cli/console"
)

// Each image that came has a line, those that failed or were here have none, and the status line is that of the pull
// that began first.
func TestPulls(t *testing.T) {
	at := time.Date(2026, 5, 4, 12, 10, 0, 0, time.Local)
	clock := func() time.Time { return at }
	var b bytes.Buffer
	out := console.New(&b, console.Options{Now: clock})
	p := NewPulls(out, clock)
	p.Ended("here:1", nil)
	p.Progress(Progress{Image: "a:1", Layers: 1, Bytes: 5 << 20})
	p.Progress(Progress{Image: "b:1", Layers: 1, Bytes: 5 << 20})
	p.mu.Lock()
	if len(p.going) != 2 || p.going[0].last.Image != "a:1" || !strings.HasPrefix(p.going[0].line, "pulling a:1 · 0 B/5.0 MiB") {
		t.Errorf("pulling %+v", p.going)
	}
	p.mu.Unlock()
	at = at.Add(2 * time.Second)
	p.Progress(Progress{Image: "a:1", Layers: 1, LayersDone: 1, Bytes: 5 << 20, BytesDone: 5 << 20})
	p.Ended("b:1", errors.New("no"))
	p.Ended("a:1", nil)
	if err := out.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := "12:10:02   pulled a:1, 5.0 MiB in 2.0s\n"; b.String() != want || len(p.going) != 0 {
		t.Errorf("said %q, want %q", b.String(), want)
	}
}
