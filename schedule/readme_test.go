// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"testing"
	"time"

	"github.com/carillon-dev/carillon/schedule"
)

// What README.md says of this package in its table.
func TestReadmeTable(t *testing.T) {
	tests := map[string]struct {
		text, zone, after string
		compile           *schedule.DST // nil: Parse
		want              string        // "" for none
	}{
		"a gap, as Kubernetes":      {"30 2 * * *", "Europe/Berlin", "2027-03-27T12:00:00Z", nil, "2027-03-29T02:30:00+02:00"},
		"a gap, shifted":            {"30 2 * * *", "Europe/Berlin", "2027-03-27T12:00:00Z", &schedule.DST{}, "2027-03-28T03:00:00+02:00"},
		"a gap, skipped":            {"30 2 * * *", "Europe/Berlin", "2027-03-27T12:00:00Z", &schedule.DST{Gap: schedule.GapSkip}, "2027-03-29T02:30:00+02:00"},
		"the second of two":         {"30 2 * * *", "Europe/Berlin", "2027-10-31T00:30:00Z", nil, "2027-10-31T02:30:00+01:00"},
		"only the first of two":     {"30 2 * * *", "Europe/Berlin", "2027-10-31T00:30:00Z", &schedule.DST{}, "2027-11-01T02:30:00+01:00"},
		"only the last of two":      {"30 2 * * *", "Europe/Berlin", "2027-10-30T12:00:00Z", &schedule.DST{Overlap: schedule.OverlapLast}, "2027-10-31T02:30:00+01:00"},
		"half an hour":              {"0 3 * * *", "Australia/Lord_Howe", "2027-10-02T00:00:00Z", nil, "2027-10-03T03:00:00+11:00"},
		"a day without a midnight":  {"30 3 30 4 *", "Africa/Cairo", "2027-04-01T00:00:00Z", nil, "2027-04-30T03:30:00+03:00"},
		"a leap day after 2096":     {"0 0 29 2 *", "UTC", "2096-03-01T00:00:00Z", nil, "2104-02-29T00:00:00Z"},
		"a day that does not exist": {"0 0 30 2 *", "UTC", "2027-01-01T00:00:00Z", nil, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			zone, err := schedule.LoadZone(test.zone)
			if err != nil {
				t.Fatal(err)
			}
			after, err := time.Parse(time.RFC3339, test.after)
			if err != nil {
				t.Fatal(err)
			}
			s, err := schedule.Parse(test.text, zone)
			if test.compile != nil {
				s, err = schedule.Compile(schedule.Item{Cron: test.text}, schedule.Options{Zone: zone, DST: *test.compile})
			}
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if next := s.Next(after.In(zone)); !next.IsZero() {
				got = next.Format(time.RFC3339)
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	berlin, err := schedule.LoadZone("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	halves, err := schedule.Parse("*/30 * * * *", berlin)
	if err != nil {
		t.Fatal(err)
	}
	day := time.Date(2027, 10, 31, 0, 0, 0, 0, berlin)
	if n := halves.Count(day.Add(-1), day.AddDate(0, 0, 1).Add(-1)); n != 50 {
		t.Errorf("%d times on a day of 25 hours", n)
	}
}
