// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/plan/run"
)

// triedRun is the nth of many runs of 100 owners. Of a Timetable each fifth scheduled time failed at first, and was
// tried again.
func triedRun(n int, kind string) run.Run {
	r := manyRun(n)
	o := n % 100
	r.Owner = run.Owner{APIVersion: "batch/v1", Kind: kind, Name: fmt.Sprintf("report-%03d", o), UID: uid(6_000_000 + o)}
	r.Namespace, r.ScheduledTime, r.Retry = "team", at(n/100), 1
	if time := n / 100; kind == "Timetable" && time%6 == 5 {
		r.ScheduledTime, r.Retry = at(time-1), 2
	} else if kind == "Timetable" && time%6 == 4 {
		r.Outcome = run.Failed
	}
	return r
}

// BenchmarkTally is what the timeline asks a journal of 100,000 runs, and the list of the failures of all time.
func BenchmarkTally(b *testing.B) {
	for _, kind := range []string{"CronJob", "Timetable"} {
		dir := tempDir(b)
		j := open(b, dir, Options{})
		var batch []run.Run
		for n := range 100_000 {
			if batch = append(batch, triedRun(n, kind)); len(batch) == 1000 {
				if err := j.Record(b.Context(), batch, nil); err != nil {
					b.Fatal(err)
				}
				batch = batch[:0]
			}
		}
		if err := j.Close(); err != nil {
			b.Fatal(err)
		}
		var owners []types.UID
		for o := range 50 {
			owners = append(owners, uid(6_000_000+o))
		}
		for name, q := range map[string]Query{
			"all":          {From: at(0), Until: at(100_000)},
			"of 50 owners": {OwnerUIDs: owners, From: at(0), Until: at(100_000)},
			"failures":     {Outcomes: []run.Outcome{run.Failed}, From: at(0)},
		} {
			b.Run(kind+"/"+name, func(b *testing.B) {
				r := read(b, dir)
				for b.Loop() {
					all, err := r.Tally(b.Context(), q, time.Hour)
					if err != nil || len(all) == 0 {
						b.Fatal(err, all)
					}
				}
			})
		}
	}
}
