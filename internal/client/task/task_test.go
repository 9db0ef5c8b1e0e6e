// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package task

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
)

// A panic is an error, whose stack is logged once; the rest of the work is done.
func TestGroup(t *testing.T) {
	var log bytes.Buffer
	g := NewGroup(slog.New(slog.NewTextHandler(&log, nil)))
	var done atomic.Int32
	for n := range 4 {
		g.Go("the third", func() {
			if n == 2 {
				panic("it makes no sense")
			}
			done.Add(1)
		})
	}
	err := g.Wait()
	if fault, ok := errors.AsType[*PanicError](err); !ok || fault.Work != "the third" || !strings.Contains(err.Error(), "it makes no sense") {
		t.Errorf("got %v", err)
	}
	if text := log.String(); done.Load() != 3 || strings.Count(text, "work for a page panicked") != 1 || !strings.Contains(text, "TestGroup") {
		t.Errorf("%d were done; logged was %s", done.Load(), text)
	}
}

func TestDo(t *testing.T) {
	own := errors.New("its own")
	for name, test := range map[string]struct{ gives, wanted error }{"works": {}, "fails": {own, own}} {
		if err := Do(slog.New(slog.DiscardHandler), name, func() error { return test.gives }); !errors.Is(err, test.wanted) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
