// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package diagnosis_test

import (
	"testing"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/diagnosis"
	"github.com/carillon-dev/carillon/schedule"
)

func zone(tb testing.TB, name string) *time.Location {
	tb.Helper()
	loc, err := schedule.LoadZone(name)
	if err != nil {
		tb.Fatal(err)
	}
	return loc
}

func TestParseAt(t *testing.T) {
	for name, test := range map[string]struct {
		text    string
		from    string
		lasts   time.Duration
		second  string
		skipped bool
	}{
		"with an offset":                   {text: "2026-11-20T02:00:00+01:00", from: "2026-11-20T01:00:00Z", lasts: time.Second},
		"in UTC, to the minute":            {text: "2026-11-20T01:00Z", from: "2026-11-20T01:00:00Z", lasts: time.Minute},
		"a local date and time":            {text: "2026-11-20 02:00", from: "2026-11-20T01:00:00Z", lasts: time.Minute},
		"a local date and time with a T":   {text: "2026-07-20T02:00:30", from: "2026-07-20T00:00:30Z", lasts: time.Second},
		"a time of today":                  {text: "02:00", from: "2026-11-23T01:00:00Z", lasts: time.Minute},
		"a time that has not come today":   {text: "23:00", from: "2026-11-22T22:00:00Z", lasts: time.Minute},
		"today, although it is to come":    {text: "today 23:00", from: "2026-11-23T22:00:00Z", lasts: time.Minute},
		"yesterday":                        {text: "yesterday 02:00:05", from: "2026-11-22T01:00:05Z", lasts: time.Second},
		"tomorrow":                         {text: " Tomorrow 02:00 ", from: "2026-11-24T01:00:00Z", lasts: time.Minute},
		"a local time that does not exist": {text: "2026-03-29 02:30", from: "2026-03-29T01:00:00Z", lasts: time.Minute, skipped: true},
		"a local time that exists twice":   {text: "2026-10-25 02:30", from: "2026-10-25T00:30:00Z", lasts: time.Minute, second: "2026-10-25T01:30:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			at, err := diagnosis.ParseAt(test.text, now, zone(t, "Europe/Rome"))
			if err != nil {
				t.Fatal(err)
			}
			if !at.From.Equal(instant(test.from)) || at.Until.Sub(at.From) != test.lasts || at.Skipped != test.skipped {
				t.Errorf("%+v", at)
			}
			if test.second == "" != at.Second.IsZero() || test.second != "" && !at.Second.Equal(instant(test.second)) {
				t.Errorf("the other one is %s", at.Second)
			}
		})
	}
}

func TestParseAtRefuses(t *testing.T) {
	for _, text := range []string{"", "noon", "25:00", "02", "someday 02:00", "2026-13-01 02:00", "9999-01-01 00:00", "02:00 yesterday"} {
		if at, err := diagnosis.ParseAt(text, now, time.UTC); err == nil {
			t.Errorf("%q is %+v", text, at)
		}
	}
}

func FuzzParseAt(f *testing.F) {
	for _, seed := range []string{"02:00", "yesterday 02:00", "2026-11-20 02:00", "2026-11-20T02:00:00Z", "2026-03-29 02:30", "today"} {
		f.Add(seed)
	}
	rome := zone(f, "Europe/Rome")
	f.Fuzz(func(t *testing.T, text string) {
		at, err := diagnosis.ParseAt(text, now, rome)
		if err != nil {
			return
		}
		if !at.Until.After(at.From) || !at.Second.IsZero() && !at.Second.After(at.From) {
			t.Errorf("%q is %+v", text, at)
		}
		if at.Local != "" && !at.Skipped && at.From.In(rome).Format("15:04") != at.Local {
			t.Errorf("%q is %s", text, at.From.In(rome))
		}
	})
}
