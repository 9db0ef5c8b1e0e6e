// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timeset_test

import (
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/carillon-dev/carillon/schedule/timeset"
)

// The patterns and rules of section 2 of the contract, by which the API server judges.
var (
	durationPattern = regexp.MustCompile(`^([0-9]{1,5}h)?([0-9]{1,5}m)?([0-9]{1,5}s)?$`)
	momentPattern   = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}(:[0-9]{2})?(Z|[+-][0-9]{2}:[0-9]{2})?)?$`)
	periodPattern   = regexp.MustCompile(`^([0-9]{2}-[0-9]{2}(/[0-9]{2}-[0-9]{2})?|[0-9]{4}-[0-9]{2}-[0-9]{2}(/[0-9]{4}-[0-9]{2}-[0-9]{2})?|` +
		`[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2})$`)
	ruleV30 = regexp.MustCompile(`^([0-9]{4}-)?((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|[12][0-9]))` +
		`(T([01][0-9]|2[0-3]):[0-5][0-9])?$`)
)

func ruleV1(period string) bool {
	first, last, isRange := strings.Cut(period, "/")
	return !isRange || len(period) == 11 || first < last || len(period) == 21 && first == last
}

// admitted tells whether the API server takes a period.
func admitted(period string) bool {
	first, last, isRange := strings.Cut(period, "/")
	return periodPattern.MatchString(period) && ruleV1(period) && ruleV30.MatchString(first) && (!isRange || ruleV30.MatchString(last))
}

// hasMissingLeapDay tells whether a period names 29 February in a year that has none.
func hasMissingLeapDay(period string) bool {
	for date := range strings.SplitSeq(period, "/") {
		if len(date) < 10 || date[4:10] != "-02-29" {
			continue
		}
		if _, err := time.Parse("2006-01-02", date[:10]); err != nil {
			return true
		}
	}
	return false
}

func checkMessage(t *testing.T, text string, err error) {
	t.Helper()
	if message := err.Error(); len(message) > 500 || !utf8.ValidString(message) || strings.ContainsAny(message, "\n\r\x00\x1b") {
		t.Errorf("%q: message %q", text, message)
	}
}

// A duration is hours, minutes and seconds, as VV-31 to VV-33 have it, and what package time makes of it.
func FuzzParseDuration(f *testing.F) {
	for _, text := range []string{"90m", "1d", "0s", "1h30m", "99999h99999m99999s", "", "1.5h", "-1h", "1m1h", "100000s", "+1s", "h", "1", "1ms"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := timeset.ParseDuration(text)
		if want := durationPattern.MatchString(text) && text != "" && len(text) <= 18; want != (err == nil) {
			t.Fatalf("ParseDuration(%q) = %v, %v", text, got, err)
		}
		if err != nil {
			checkMessage(t, text, err)
			return
		}
		if want, err := time.ParseDuration(text); err != nil || want != got {
			t.Fatalf("ParseDuration(%q) = %v; package time says %v, %v", text, got, want, err)
		}
	})
}

// A moment has the shape that the API server asks for, and names a date and a time of day that exist.
func FuzzParseMoment(f *testing.F) {
	for _, text := range []string{"2027-03-01T14:00", "2026-05-04T12:00:00Z", "2026-05-04T14:00:30+02:00", "2026-01-05", "2026-02-30T00:00",
		"2026-05-04T24:00", "2026-05-04T12:00:60", "2026-05-04T12:00+24:00", "2026-05-04Z", "2026-05-04T12:00-00:30", "0000-01-01", "2026-05-04T1:00", "2026-05-04T12:00:00.5Z"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := timeset.ParseMoment(text)
		if err != nil {
			checkMessage(t, text, err)
			if !momentPattern.MatchString(text) {
				return
			}
			for _, layout := range []string{"2006-01-02", "2006-01-02T15:04", "2006-01-02T15:04:05", time.RFC3339} {
				// Package time takes offsets of 24 hours and more.
				if _, err := time.Parse(layout, text); err == nil && text[len(text)-5:] < "24" {
					t.Fatalf("ParseMoment(%q): %v", text, err)
				}
			}
			return
		}
		if !momentPattern.MatchString(text) {
			t.Fatalf("ParseMoment(%q) = %+v", text, got)
		}
		wall := time.Unix(got.Wall, 0).UTC()
		if shown := wall.Format("2006-01-02T15:04:05"); !strings.HasPrefix(shown, strings.TrimRight(text[:min(len(text), 16)], "Z")) {
			t.Fatalf("ParseMoment(%q) = %+v, which shows %s", text, got, shown)
		}
		if got.DateOnly != (len(text) == 10) || got.Zoned != (len(text) > 10 && strings.ContainsAny(text[10:], "Z+-")) {
			t.Fatalf("ParseMoment(%q) = %+v", text, got)
		}
		if at, err := time.Parse(time.RFC3339, text); err == nil && at.Unix() != got.Wall-got.Offset {
			t.Fatalf("ParseMoment(%q) = %+v", text, got)
		}
	})
}

// A period is what V1 and V30 admit, but for 29 February in a year that has none.
func FuzzParsePeriod(f *testing.F) {
	for _, text := range []string{"2026-12-25", "2026-12-24/2027-01-02", "12-25", "12-24/01-02", "2026-12-24T18:00/2026-12-27T06:00", "2026-12-24/2026-12-20",
		"2026-12-24/01-02", "02-30", "13-45", "2027-02-29", "2028-02-29", "02-29", "2026-12-24T18:00/2026-12-24T18:00", "2026-12-24/2026-12-24",
		"2026-12-24T18:00", "2026-12-24T24:00/2026-12-27T06:00", "12-25/", "/12-25", "12-25/12-25/12-25", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := timeset.ParsePeriod(text)
		if want := admitted(text) && !hasMissingLeapDay(text); want != (err == nil) {
			t.Fatalf("ParsePeriod(%q) = %+v, %v", text, got, err)
		}
		switch {
		case err != nil:
			checkMessage(t, text, err)
		case got.Yearly != (text[2] == '-'):
			t.Fatalf("ParsePeriod(%q) = %+v", text, got)
		case got.Yearly:
			if d := time.Date(2000, 1, 1+got.FirstDay, 0, 0, 0, 0, time.UTC).Format("01-02"); !strings.HasPrefix(text, d) {
				t.Fatalf("ParsePeriod(%q) = %+v, which begins on %s", text, got, d)
			}
		case got.Start >= got.End:
			t.Fatalf("ParsePeriod(%q) = %+v", text, got)
		}
	})
}
