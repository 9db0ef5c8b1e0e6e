// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"fmt"
	"testing"
	"time"

	"github.com/carillon-dev/carillon/schedule"
)

// Another minute in the text of a schedule.
func TestExpression(t *testing.T) {
	tests := map[string]struct {
		text        string
		first, step int
		at7         string // the text with minute 7, or every so many minutes from there on; "" if it has no even minute
	}{
		"a day":              {"0 0 * * *", 0, 60, "7 0 * * *"},
		"zeros":              {"00 0 * * *", 0, 60, "7 0 * * *"},
		"a minute":           {"17 3 * * 1-5", 17, 60, "7 3 * * 1-5"},
		"a descriptor":       {"@weekly", 0, 60, "7 0 * * 0"},
		"an hour":            {"@hourly", 0, 60, "7 * * * *"},
		"a zone":             {"CRON_TZ=Asia/Tokyo @daily", 0, 60, "CRON_TZ=Asia/Tokyo 7 0 * * *"},
		"many blanks":        {"  0   0 * *  * ", 0, 60, "7 0 * * *"},
		"steps":              {"*/15 * * * *", 0, 15, "7-59/15 * * * *"},
		"half hours":         {"0,30 * * * *", 0, 30, "7,37 * * * *"},
		"a range of steps":   {"5-59/10 * * * *", 5, 10, "7-59/10 * * * *"},
		"a start of steps":   {"10/20 * * * *", 10, 20, "7,27,47 * * * *"},
		"seconds":            {"30 0 0 * * *", 0, 60, "30 7 0 * * *"},
		"a year":             {"30 0 0 * * * 2027", 0, 60, "30 7 0 * * * 2027"},
		"each minute":        {"* * * * *", 0, 0, ""},
		"uneven steps":       {"*/40 * * * *", 0, 0, ""},
		"uneven":             {"0,7 * * * *", 0, 0, ""},
		"hashed":             {"H 0 * * *", 0, 0, ""},
		"every":              {"@every 5m", 0, 0, ""},
		"no expression":      {"", 0, 0, ""},
		"a zone and no more": {"TZ=Asia/Tokyo", 0, 0, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			x, ok := parseExpression(test.text)
			first, step, even := x.even()
			if !ok || !even {
				first, step = 0, 0
			}
			if first != test.first || step != test.step {
				t.Fatalf("got %d and %d, want %d and %d", first, step, test.first, test.step)
			}
			if step == 0 {
				return
			}
			if got := x.with(evenMinutes(7, step)); got != test.at7 {
				t.Errorf("got %q, want %q", got, test.at7)
			}
		})
	}
}

// Whatever the engine reads, another minute can be read as well, and is that minute.
func FuzzExpression(f *testing.F) {
	for _, seed := range []string{"0 0 * * *", "@daily", "TZ=Asia/Tokyo */5 9 * * 1-5", "0,30 1-5 * JAN sun", "5-59/10 * * * ?", "@every 1h", "+5 0 * * *", "*x 0 * * *", "0 0 0 * * *"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := schedule.Parse(text, nil)
		if err != nil || !parsed.Satisfiable() {
			return
		}
		x, ok := parseExpression(text)
		if !ok {
			return
		}
		first, step, even := x.even()
		if !even {
			return
		}
		same, err := schedule.Parse(x.with(evenMinutes(first, step)), nil)
		if err != nil {
			t.Fatalf("%q cannot be read: %v", x.with(evenMinutes(first, step)), err)
		}
		at := start
		for range 20 {
			want, got := parsed.Next(at), same.Next(at)
			if !got.Equal(want) {
				t.Fatalf("%q starts at %v, %q at %v", text, want, x.with(evenMinutes(first, step)), got)
			}
			if want.IsZero() {
				break
			}
			at = want
		}
		for minute := range step {
			moved, err := schedule.Parse(x.with(evenMinutes(minute, step)), nil)
			if err != nil {
				t.Fatalf("minute %d: %v", minute, err)
			}
			if next := moved.Next(start); !next.IsZero() && next.UTC().Minute()%step != minute && !zoned(text) {
				t.Fatalf("%q starts at %v", x.with(evenMinutes(minute, step)), next)
			}
		}
	})
}

// start is where the fuzz test begins to look.
var start = time.Date(2026, 5, 4, 0, 0, 0, 0, time.UTC)

func zoned(text string) bool { return len(text) > 3 && (text[:3] == "TZ=" || text[0] == 'C') }

// Every even minute is read as it is written.
func TestEvenMinutes(t *testing.T) {
	for _, step := range []int{2, 3, 4, 5, 6, 10, 12, 15, 20, 30, 60} {
		for first := range step {
			x := expression{minute: evenMinutes(first, step), after: " 0 * * *"}
			if gotFirst, gotStep, ok := x.even(); !ok || gotFirst != first || gotStep != step {
				t.Errorf("%s is read as %d and %d", x.minute, gotFirst, gotStep)
			}
			if _, err := schedule.Compile(schedule.Item{Cron: fmt.Sprintf("%s 0 * * *", hashedMinutes(step))}, schedule.Options{}); err != nil {
				t.Error(err)
			}
		}
	}
}
