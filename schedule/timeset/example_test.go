// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timeset_test

import (
	"fmt"
	"time"

	"github.com/carillon-dev/carillon/schedule"
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

// A list of holidays, a freeze and a season: what is excluded is no time, and is counted apart.
func ExampleSpec() {
	holidays := timeset.NewCalendar("holidays", []string{"12-24/12-26", "2027-03-26"})
	set, err := timeset.Compile(timeset.Spec{
		TimeZone:  "Europe/London",
		Items:     []timeset.Item{{Name: "nightly", Cron: "30 2 * * *"}, {Name: "launch", At: []string{"2027-03-28T12:00"}}},
		Exclude:   []timeset.Exclusion{{Calendar: holidays}, {Period: "2027-03-30T00:00/2027-03-31T12:00"}},
		NotBefore: time.Date(2027, 3, 25, 0, 0, 0, 0, time.UTC),
		NotAfter:  time.Date(2027, 4, 2, 0, 0, 0, 0, time.UTC),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	from := time.Date(2027, 1, 1, 0, 0, 0, 0, set.Location())
	for at := range set.Between(from, from.AddDate(1, 0, 0)) {
		fmt.Println(at.Format("Mon 02 Jan 15:04"), set.Names(at))
	}
	fmt.Println("excluded:", set.Excluded().Count(from, from.AddDate(1, 0, 0)))
	_, end := set.Search(from.AddDate(1, 0, 0))
	fmt.Println("ended:", end == timeset.NoMoreTimes)
	// Output:
	// Thu 25 Mar 02:30 [nightly]
	// Sat 27 Mar 02:30 [nightly]
	// Sun 28 Mar 02:30 [nightly]
	// Sun 28 Mar 12:00 [launch]
	// Mon 29 Mar 02:30 [nightly]
	// Thu 01 Apr 02:30 [nightly]
	// excluded: 3
	// ended: true
}

// Jitter puts starts off, each set by a number of its own; the times themselves stay.
func ExampleSet_PlannedStart() {
	at := time.Date(2027, 3, 1, 2, 30, 0, 0, time.UTC)
	for _, name := range []string{"orders", "invoices"} {
		set, _ := timeset.Compile(timeset.Spec{
			Hash:   schedule.Hash{Namespace: "shop", Name: name},
			Items:  []timeset.Item{{Cron: "30 2 * * *"}},
			Jitter: 10 * time.Minute,
		})
		fmt.Println(name, set.Has(at), set.PlannedStart(at).Format(time.TimeOnly))
	}
	// Output:
	// orders true 02:38:52
	// invoices true 02:34:45
}
