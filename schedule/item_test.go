// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/carillon-dev/carillon/schedule"
)

// Hashed values are those of the contract, the same in every cluster.
func TestHashVectors(t *testing.T) {
	var vectors struct {
		Hash []struct{ Text, H string }
	}
	readVectors(t, "timetable-vectors.json", &vectors)
	if len(vectors.Hash) < 9 {
		t.Fatalf("only %d vectors", len(vectors.Hash))
	}
	for _, v := range vectors.Hash {
		lines := strings.Split(v.Text, "\n")
		namespace, name, _ := strings.Cut(lines[1], "/")
		got := schedule.Hash{Namespace: namespace, Name: name}.Value(lines[2], lines[3])
		if text := strconv.FormatUint(got, 10); text != v.H {
			t.Errorf("%q: %s, want %s", v.Text, text, v.H)
		}
	}
}

// An option that is none of the known ones is refused, not guessed.
func TestOptionsAreChecked(t *testing.T) {
	for want, o := range map[string]schedule.Options{
		"schedule main: dayRule And is unknown; use Either or Both":                {DayRule: "And"},
		"schedule main: dst.gap Before is unknown; use Shift or Skip":              {DST: schedule.DST{Gap: "Before"}},
		"schedule main: dst.overlap Never is unknown; use First, Last or Both":     {DST: schedule.DST{Overlap: "Never"}},
		"schedule main: dst.overlap \"\\x00\" is unknown; use First, Last or Both": {DST: schedule.DST{Overlap: "\x00"}},
	} {
		_, err := schedule.Compile(schedule.Item{Name: "main", Cron: "0 2 * * *"}, o)
		var perr *schedule.ParseError
		if !errors.As(err, &perr) || err.Error() != want || perr.Name != "main" {
			t.Errorf("error = %v, want %s", err, want)
		}
	}
}
