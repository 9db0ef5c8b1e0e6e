// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/carillon-dev/carillon/schedule"
)

// Run is how a program runs a function on a schedule: a timer and a loop. It returns when the context ends, or when the
// schedule names no more times. A run that takes longer than the distance of the times makes those in between pass;
// missed says how many.
func Run(ctx context.Context, s schedule.Schedule, do func(scheduled time.Time, missed int)) {
	last := time.Now()
	for {
		next := s.Next(last)
		if next.IsZero() {
			return
		}
		timer := time.NewTimer(time.Until(next))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		// The clock may have been put forward, or the machine may have slept: take the latest time that has come.
		now := time.Now()
		if now.Before(next) {
			continue // it was put back
		}
		latest := s.LastBetween(last, now)
		do(latest, s.Count(last, latest)-1)
		last = latest
	}
}

// A runner is ten lines around a timer. This one makes up for nothing but the latest of the times that it missed; with
// Count and LastBetween a program may choose otherwise.
func Example_runner() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	everySecond, err := schedule.Parse("@every 1s", time.UTC)
	if err != nil {
		fmt.Println(err)
		return
	}
	Run(ctx, everySecond, func(time.Time, int) {
		fmt.Println("run")
		stop()
	})
	// Output:
	// run
}

// An error says which part cannot be read and what to write instead; a schedule that names no date is not an error.
func ExampleParse() {
	_, err := schedule.Parse("61 * * * *", time.UTC)
	fmt.Println(err)
	if parse, ok := errors.AsType[*schedule.ParseError](err); ok {
		fmt.Println(parse.Field, parse.Value)
	}
	never, err := schedule.Parse("0 0 30 2 *", time.UTC)
	fmt.Println(err, never.Satisfiable())
	// Output:
	// schedule "61 * * * *": minute 61 is out of range 0-59
	// minute 61
	// <nil> false
}

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

// All times of a span, in order. The loop may end early.
func ExampleSchedule_Between() {
	office, _ := schedule.Parse("0 9,17 * * MON-FRI", time.UTC)
	friday := time.Date(2026, 5, 8, 12, 0, 0, 0, time.UTC)
	for at := range office.Between(friday, friday.AddDate(0, 0, 4)) {
		fmt.Println(at.Format("Mon 15:04"))
	}
	// Output:
	// Fri 17:00
	// Mon 09:00
	// Mon 17:00
	// Tue 09:00
}

// How often it fires in a year takes as long to ask as how often it fires in a day.
func ExampleSchedule_Count() {
	everyFive, _ := schedule.Parse("*/5 * * * *", time.UTC)
	year := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	fmt.Println(everyFive.Count(year.Add(-time.Second), year.AddDate(1, 0, 0).Add(-time.Second)))
	// Output:
	// 105120
}

// A program that was away asks what it missed: how many times, and which one comes last.
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

// The extended language has days that move, ranges that wrap, seconds and years.
func ExampleCompile() {
	for _, text := range []string{"0 18 LW * *", "0 9 * * TUE#2", "0 23 * * FRI-MON", "30 0 9 1 1 * 2030"} {
		s, err := schedule.Compile(schedule.Item{Name: "report", Cron: text}, schedule.Options{})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(s.Next(time.Date(2026, 5, 5, 0, 0, 0, 0, time.UTC)).Format("Mon 2006-01-02 15:04:05"))
	}
	// Output:
	// Fri 2026-05-29 18:00:00
	// Tue 2026-05-12 09:00:00
	// Fri 2026-05-08 23:00:00
	// Tue 2030-01-01 09:00:30
}

// A policy says what becomes of 02:30 on the day that has none, and on the day that has two.
func ExampleDST() {
	berlin, _ := schedule.LoadZone("Europe/Berlin")
	spring := time.Date(2027, 3, 28, 0, 0, 0, 0, berlin)
	autumn := time.Date(2027, 10, 31, 0, 0, 0, 0, berlin)
	for _, policy := range []schedule.DST{
		{}, // GapShift and OverlapFirst
		{Gap: schedule.GapSkip, Overlap: schedule.OverlapBoth},
	} {
		s, _ := schedule.Compile(schedule.Item{Cron: "30 2 * * *"}, schedule.Options{Zone: berlin, DST: policy})
		for _, day := range []time.Time{spring, autumn} {
			for at := range s.Between(day, day.AddDate(0, 0, 1)) {
				fmt.Println(at.Format(time.RFC3339))
			}
		}
		fmt.Println()
	}
	// Output:
	// 2027-03-28T03:00:00+02:00
	// 2027-10-31T02:30:00+02:00
	//
	// 2027-10-31T02:30:00+02:00
	// 2027-10-31T02:30:00+01:00
}

// H chooses a value for each owner, always the same one: ten thousand nightly schedules do not start in one minute.
func ExampleHash() {
	day := time.Date(2026, 5, 4, 0, 0, 0, 0, time.UTC)
	for _, name := range []string{"orders", "invoices", "stock"} {
		s, _ := schedule.Compile(schedule.Item{Cron: "H H(0-5) * * *"}, schedule.Options{Hash: schedule.Hash{Namespace: "shop", Name: name}})
		fmt.Println(name, s.Next(day).Format("15:04"))
	}
	// Output:
	// orders 01:49
	// invoices 00:56
	// stock 04:23
}
