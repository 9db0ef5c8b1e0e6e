// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timeset_test

import (
	"fmt"
	"time"

	"github.com/carillon-dev/carillon/schedule/timeset"
)

// Two schedules, not on holidays: the names of a time are those of the schedules that name it.
func ExampleCompile() {
	holidays := timeset.NewCalendar("holidays", []string{"12-24/12-26", "01-01"})
	set, err := timeset.Compile(timeset.Spec{
		TimeZone: "Europe/Zurich",
		Items:    []timeset.Item{{Name: "daily", Cron: "0 18 * * *"}, {Name: "weekly", Cron: "0 18 * * SUN"}},
		Exclude:  []timeset.Exclusion{{Calendar: holidays}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	at := time.Date(2026, 12, 23, 12, 0, 0, 0, set.Location())
	for range 3 {
		at = set.Next(at)
		fmt.Println(at.Format(time.RFC3339), set.Names(at))
	}
	// Output:
	// 2026-12-23T18:00:00+01:00 [daily]
	// 2026-12-27T18:00:00+01:00 [daily weekly]
	// 2026-12-28T18:00:00+01:00 [daily]
}

// What keeps a timing from being served is one line that says what to write instead.
func ExampleObstacle() {
	_, err := timeset.Compile(timeset.Spec{Items: []timeset.Item{{Name: "nightly", Every: "1d"}}})
	fmt.Println(err)
	// Output:
	// schedule nightly: every: "1d" is no duration; write hours, minutes and seconds, such as 1h30m
}

// A freeze in the middle of an outage: what it takes out is counted apart.
func ExampleSet_Excluded() {
	set, _ := timeset.Compile(timeset.Spec{
		Items:   []timeset.Item{{Cron: "* * * * *"}},
		Exclude: []timeset.Exclusion{{Period: "2026-05-04/2026-05-10"}},
	})
	after, until := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 5, 12, 0, 0, 0, 0, time.UTC)
	fmt.Println(set.Count(after, until), "and", set.Excluded().Count(after, until))
	// Output:
	// 5760 and 10080
}
