// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package crilog_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/internal/journal/crilog"
)

// A mark that was written down is read again, and what is none is refused.
func TestParseMark(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := crilog.Mark{}
		for range rapid.IntRange(0, 5).Draw(t, "pieces") {
			p := crilog.Piece{Time: begin.Add(time.Duration(rapid.Int64().Draw(t, "ns") / 4)), Text: rapid.SliceOfN(rapid.Byte(), 0, 3).Draw(t, "text")}
			p.Ending = crilog.Ending(rapid.IntRange(0, 1).Draw(t, "ending"))
			want = want.After(p)
		}
		got, err := crilog.ParseMark(want.String())
		if err != nil || got.String() != want.String() || !got.At.Equal(want.At) {
			t.Fatalf("%q is read as %q, %v", want, got, err)
		}
	})
	for _, text := range []string{"1", "1-2", "x-1-1", "1-x-1", "1-1-x", "1-2-3-4", "1--1-1", "--1-1-1", "1-1-99999999999"} {
		if m, err := crilog.ParseMark(text); err == nil {
			t.Errorf("%q is read as %q", text, m)
		}
	}
}
