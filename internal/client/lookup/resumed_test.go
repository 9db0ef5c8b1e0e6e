// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"bytes"
	"io"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/internal/journal/crilog"
)

// A log that is read in two goes, of which the first ends anywhere, is read once: no line is lost, none comes twice,
// also where lines have the same time, or break off.
func TestResumedReadingIsWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var stamped, want []byte
		at := time.Date(2026, 5, 4, 2, 0, 0, 0, time.UTC)
		for range rapid.IntRange(0, 12).Draw(t, "lines") {
			at = at.Add(time.Duration(rapid.IntRange(0, 2).Draw(t, "ns")))
			text := []byte(rapid.StringMatching(`[a-c]{0,6}`).Draw(t, "text"))
			stamped = append(append(append(append(stamped, at.Format(time.RFC3339Nano)...), ' '), text...), '\n')
			want = append(append(want, text...), '\n')
		}
		var got []byte
		read := func(log []byte, from crilog.Mark) crilog.Mark {
			lines, rest := crilog.NewReader(newCRIReader(io.NopCloser(bytes.NewReader(log)))), crilog.Resumed{From: from}
			for {
				p, err := lines.Next()
				if err != nil {
					return from
				}
				p, fresh := rest.Rest(p)
				if !fresh {
					continue
				}
				from = from.After(p)
				if got = append(got, p.Text...); p.Ending == crilog.Newline {
					got = append(got, '\n')
				}
			}
		}
		// The API gives whole lines with their time; within one it breaks off behind the time only.
		cut := rapid.IntRange(0, len(stamped)).Draw(t, "cut")
		start := bytes.LastIndexByte(stamped[:cut], '\n') + 1
		if head := bytes.IndexByte(stamped[start:cut], ' '); head < 0 {
			cut = start
		}
		read(stamped, read(stamped[:cut], crilog.Mark{}))
		if !bytes.Equal(got, want) {
			t.Fatalf("cut at %d of %q: got %q, want %q", cut, stamped, got, want)
		}
	})
}
