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
		"as answers write it":              {text: "2026-11-20 02:00 UTC", from: "2026-11-20T02:00:00Z", lasts: time.Minute},
		"as answers write seconds":         {text: "2026-11-20 02:00:07 UTC", from: "2026-11-20T02:00:07Z", lasts: time.Second},
		"with parts of a second":           {text: "2026-11-20T02:00:07.9Z", from: "2026-11-20T02:00:07Z", lasts: time.Second},
		"local, with parts of a second":    {text: "2026-11-20 02:00:07.9", from: "2026-11-20T01:00:07Z", lasts: time.Second},
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

// Of a time of day that comes twice today the last one that has come is meant.
func TestParseAtOnTheDayOfTwoHours(t *testing.T) {
	const first, second = "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"
	for name, test := range map[string]struct{ now, from, first, second string }{
		"before both":    {now: "2026-10-25T00:10:00Z", from: "2026-10-24T00:30:00Z"},
		"between them":   {now: "2026-10-25T01:10:00Z", from: first, second: second},
		"after the last": {now: "2026-10-25T08:00:00Z", from: second, first: first},
		"a day later":    {now: "2026-10-26T00:10:00Z", from: second, first: first},
	} {
		t.Run(name, func(t *testing.T) {
			at, err := diagnosis.ParseAt("02:30", instant(test.now), zone(t, "Europe/Rome"))
			if err != nil {
				t.Fatal(err)
			}
			if !at.From.Equal(instant(test.from)) || at.Until.Sub(at.From) != time.Minute {
				t.Errorf("%+v", at)
			}
			if test.first == "" != at.First.IsZero() || test.first != "" && !at.First.Equal(instant(test.first)) {
				t.Errorf("the first is %s", at.First)
			}
			if test.second == "" != at.Second.IsZero() || test.second != "" && !at.Second.Equal(instant(test.second)) {
				t.Errorf("the second is %s", at.Second)
			}
		})
	}
}

func TestQuoted(t *testing.T) {
	for word, want := range map[string]string{"prod": "prod", "/home/x/.kube/config": "/home/x/.kube/config", "my cluster": "'my cluster'", "it's": `'it'\''s'`, "": "''"} {
		if got := diagnosis.Quoted(word); got != want {
			t.Errorf("%q: %s", word, got)
		}
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
