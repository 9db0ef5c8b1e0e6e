// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/internal/plan/run"
)

// triedRuns are runs of which some are tries of one scheduled time, of CronJobs, Timetables and nobody.
func triedRuns(t *rapid.T) []run.Run {
	var all []run.Run
	for i := range rapid.IntRange(0, 25).Draw(t, "runs") {
		r := aRun(rapid.IntRange(0, 3000).Draw(t, "minute"), rapid.SampledFrom(outcomes).Draw(t, "outcome"))
		r.UID, r.Namespace, r.Retry = uid(i), rapid.SampledFrom([]string{"a", "b"}).Draw(t, "namespace"), rapid.IntRange(0, 3).Draw(t, "retry")
		r.Created = r.Created.Add(time.Duration(i) * time.Millisecond) // no two at once
		switch rapid.IntRange(0, 5).Draw(t, "owner") {
		case 0:
			r.Owner = run.Owner{}
		case 1, 2, 3:
			r.Owner = owner(rapid.IntRange(0, 1).Draw(t, "which"))
			r.Owner.Kind, r.ScheduledTime = "Timetable", at(rapid.IntRange(0, 3).Draw(t, "time")*700)
		case 4:
			r.Owner.Kind, r.ScheduledTime = "Timetable", time.Time{}
			r.Created = at(700).Add(time.Duration(i) * time.Millisecond)
		default:
			r.ScheduledTime = r.ScheduledTime.Add(time.Duration(i)) // a CronJob has one Job for each time
		}
		all = append(all, r)
	}
	return all
}

// Of several tries of one scheduled time the last one is given, and counted, whatever else is asked.
func TestLastTries(t *testing.T) {
	checkJournals(t, func(t *rapid.T, j *Journal, dir string) {
		if err := j.Record(t.Context(), triedRuns(t), nil); err != nil {
			t.Fatal(err)
		}
		r, err := OpenReader(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		q := Query{Namespace: rapid.SampledFrom([]string{"", "a"}).Draw(t, "of namespace"), OwnerKind: rapid.SampledFrom([]string{"", "Timetable"}).Draw(t, "of kind"),
			Outcomes: rapid.SampledFrom([][]run.Outcome{nil, {run.Failed}, {run.Active, run.Succeeded}}).Draw(t, "of outcomes"),
			From:     rapid.SampledFrom([]time.Time{{}, at(600)}).Draw(t, "from"), Limit: rapid.SampledFrom([]int{0, 2}).Draw(t, "limit")}
		all, err := r.Runs(t.Context(), Query{})
		if err != nil {
			t.Fatal(err)
		}
		var want []types.UID
		counts := map[run.Outcome]int{}
		for _, one := range run.LastOfTries(all) {
			if (q.Namespace == "" || one.Namespace == q.Namespace) && (q.OwnerKind == "" || one.Owner.Kind == q.OwnerKind) &&
				(q.Outcomes == nil || slices.Contains(q.Outcomes, one.Outcome)) && !one.Time().Before(q.From) {
				want = append(want, one.UID)
				counts[one.Outcome]++
			}
		}
		if q.Limit > 0 {
			want = want[:min(len(want), q.Limit)]
		}
		q.LastTries = true
		runs, err := r.Runs(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		var got []types.UID
		for i := range runs {
			got = append(got, runs[i].UID)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v of %+v", got, want, all)
		}
		q.LastTries = false
		tally, err := r.Tally(t.Context(), q, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		for i := range tally {
			counts[tally[i].Outcome] -= tally[i].Count
		}
		for outcome, rest := range counts {
			if rest != 0 {
				t.Fatalf("of %s %d are not counted", outcome, rest)
			}
		}
	})
}
