// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"fmt"
	"time"

	"github.com/carillon-dev/carillon/schedule"
)

// The next scheduled time, in the zone of the question. On the day on which the clocks in Berlin go forward there is no
// 02:30.
func ExampleSchedule_Next() {
	berlin, _ := schedule.LoadZone("Europe/Berlin")
	nightly, _ := schedule.Parse("30 2 * * *", berlin)
	at := time.Date(2026, 3, 27, 12, 0, 0, 0, berlin)
	for range 3 {
		at = nightly.Next(at)
		fmt.Println(at.Format(time.RFC3339))
	}
	// Output:
	// 2026-03-28T02:30:00+01:00
	// 2026-03-30T02:30:00+02:00
	// 2026-03-31T02:30:00+02:00
}

// A controller that was away asks what it missed: how many times, and which one comes last.
func ExampleSchedule_LastBetween() {
	everyTen, _ := schedule.Parse("*/10 * * * *", time.UTC)
	recorded := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	now := time.Date(2026, 5, 4, 13, 5, 0, 0, time.UTC)
	fmt.Println(everyTen.Count(recorded, now), "since", recorded.Format(time.Kitchen))
	fmt.Println("start", everyTen.LastBetween(recorded, now).Format(time.Kitchen))
	// Output:
	// 6 since 12:00PM
	// start 1:00PM
}

// An error says which part cannot be read and what to write instead; a schedule that names no date is not an error.
func ExampleParse() {
	_, err := schedule.Parse("61 * * * *", time.UTC)
	fmt.Println(err)
	never, err := schedule.Parse("0 0 30 2 *", time.UTC)
	fmt.Println(err, never.Satisfiable())
	// Output:
	// schedule "61 * * * *": minute 61 is out of range 0-59
	// <nil> false
}
