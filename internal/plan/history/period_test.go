// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"testing"
	"time"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func TestParseMonth(t *testing.T) {
	berlin := zone(t, "Europe/Berlin")
	for text, want := range map[string][2]string{
		"2026-10":    {"2026-09-30T22:00:00Z", "2026-10-31T23:00:00Z"},
		"last":       {"2026-09-30T22:00:00Z", "2026-10-31T23:00:00Z"},
		"last month": {"2026-09-30T22:00:00Z", "2026-10-31T23:00:00Z"},
		" October ":  {"2026-09-30T22:00:00Z", "2026-10-31T23:00:00Z"},
		"this":       {"2026-10-31T23:00:00Z", "2026-11-30T23:00:00Z"},
		"this month": {"2026-10-31T23:00:00Z", "2026-11-30T23:00:00Z"},
		"nov":        {"2026-10-31T23:00:00Z", "2026-11-30T23:00:00Z"},
		"dec":        {"2025-11-30T23:00:00Z", "2025-12-31T23:00:00Z"},
		"2026-12":    {"2026-11-30T23:00:00Z", "2026-12-31T23:00:00Z"},
	} {
		got, err := ParseMonth(text, noon, berlin)
		if err != nil || got.From.UTC().Format(time.RFC3339) != want[0] || got.Until.UTC().Format(time.RFC3339) != want[1] {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	january := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	if got, err := ParseMonth("last", january, time.UTC); err != nil || got.From.Format(time.DateOnly) != "2025-12-01" || got.Until.Format(time.DateOnly) != "2026-01-01" {
		t.Errorf("in January: %v, %v", got, err)
	}
	for _, text := range []string{"", "2026", "2026-13", "10", "soon", "0026-10", "2026-10-01"} {
		if got, err := ParseMonth(text, noon, berlin); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

// noon is a Monday.
func TestParseStart(t *testing.T) {
	berlin := zone(t, "Europe/Berlin")
	for text, want := range map[string]string{
		"30d":                  "2026-10-03T12:00:00Z",
		"2w":                   "2026-10-19T12:00:00Z",
		"1d12h":                "2026-11-01T00:00:00Z",
		"90m":                  "2026-11-02T10:30:00Z",
		"36h ago":              "2026-11-01T00:00:00Z",
		"now":                  "2026-11-02T12:00:00Z",
		"today":                "2026-11-01T23:00:00Z",
		"Yesterday":            "2026-10-31T23:00:00Z",
		"tomorrow":             "2026-11-02T23:00:00Z",
		"this week":            "2026-11-01T23:00:00Z",
		"last  week":           "2026-10-25T23:00:00Z",
		"last month":           "2026-09-30T22:00:00Z",
		"this month":           "2026-10-31T23:00:00Z",
		"this year":            "2025-12-31T23:00:00Z",
		"last year":            "2024-12-31T23:00:00Z",
		"2026-10-01":           "2026-09-30T22:00:00Z",
		"2026-10":              "2026-09-30T22:00:00Z",
		"2026":                 "2025-12-31T23:00:00Z",
		"2026-10-01 02:00":     "2026-10-01T00:00:00Z",
		"2026-10-01T02:00:00Z": "2026-10-01T02:00:00Z",
		"yesterday 02:00":      "2026-11-01T01:00:00Z",
		"02:00":                "2026-11-02T01:00:00Z",
	} {
		got, err := ParseStart(text, noon, berlin)
		if err != nil || got.UTC().Format(time.RFC3339) != want {
			t.Errorf("%q: %v, %v", text, got.UTC(), err)
		}
	}
	for _, text := range []string{"", "d", "-3d", "0d", "3x", "soon", "9999999999999w", "1e300d", "2026-02-30", "3000-01-01", "1.5.5d"} {
		if got, err := ParseStart(text, noon, berlin); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

// A day begins with its first instant also where clocks jump over midnight, or show it twice.
func TestMidnight(t *testing.T) {
	for name, want := range map[string]string{
		"America/Sao_Paulo 2018-11-04": "2018-11-04T03:00:00Z", // 00:00 is skipped
		"America/Havana 2026-03-08":    "2026-03-08T05:00:00Z", // likewise
		"America/Havana 2026-11-01":    "2026-11-01T04:00:00Z", // 00:00 comes twice
		"Asia/Beirut 2022-03-27":       "2022-03-26T22:00:00Z",
		"UTC 2026-03-08":               "2026-03-08T00:00:00Z",
	} {
		var where, day string
		for i := range name {
			if name[i] == ' ' {
				where, day = name[:i], name[i+1:]
			}
		}
		at, err := time.Parse(time.DateOnly, day)
		if err != nil {
			t.Fatal(err)
		}
		if got := Midnight(at.Year(), at.Month(), at.Day(), zone(t, where)).UTC().Format(time.RFC3339); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func FuzzPeriods(f *testing.F) {
	for _, text := range []string{"30d", "2w3d12h", "2026-10", "last month", "02:00", "october", "1.5d", "9223372036854775807w"} {
		f.Add(text)
	}
	berlin := zone(f, "Europe/Berlin")
	f.Fuzz(func(t *testing.T, text string) {
		if span, ok := ParseSpan(text); ok && span <= 0 {
			t.Errorf("%q is %s", text, span)
		}
		if p, err := ParseMonth(text, noon, berlin); err == nil && (!p.From.Before(p.Until) || p.Until.Sub(p.From) > 32*24*time.Hour) {
			t.Errorf("%q is %v", text, p)
		}
		if at, err := ParseStart(text, noon, berlin); err == nil && (at.Year() < 1900 || at.Year() > 3000) {
			t.Errorf("%q is %v", text, at)
		}
	})
}
