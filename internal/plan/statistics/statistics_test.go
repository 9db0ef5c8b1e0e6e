// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package statistics_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/statistics"
)

var start = time.Date(2026, 10, 24, 22, 0, 0, 0, time.UTC) // midnight in Berlin, on the day before the clock goes back

// days are midnights of a zone.
func days(t testing.TB, zone string, n int) []time.Time {
	t.Helper()
	l, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	var bounds []time.Time
	for d := range n + 1 {
		bounds = append(bounds, time.Date(2026, 10, 24+d, 0, 0, 0, 0, l))
	}
	return bounds
}

func add(q statistics.Query, runs []run.Run, omissions []run.Omission) *statistics.Statistics {
	c := statistics.NewCollector(q)
	for i := range runs {
		c.Add(&runs[i])
	}
	for i := range omissions {
		c.AddOmission(&omissions[i])
	}
	s := c.Result()
	slices.SortFunc(s.Owners, func(a, b statistics.Owner) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Owner.Kind, b.Owner.Kind), cmp.Compare(a.Owner.Name, b.Owner.Name))
	})
	return s
}

func someRuns(t *rapid.T) []run.Run {
	var all []run.Run
	for n := range rapid.IntRange(0, 60).Draw(t, "runs") {
		r := run.Run{
			Namespace: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "namespace"),
			Owner:     run.Owner{Kind: rapid.SampledFrom([]string{"CronJob", "Timetable"}).Draw(t, "kind"), Name: rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "name")},
			Outcome:   rapid.SampledFrom([]run.Outcome{run.Active, run.Succeeded, run.Succeeded, run.Failed, run.Cancelled, run.Unknown}).Draw(t, "outcome"),
			Retry:     rapid.IntRange(0, 3).Draw(t, "retry"), PodsFailed: rapid.Int32Range(0, 3).Draw(t, "failed"),
			Trigger: rapid.SampledFrom([]run.Trigger{run.Schedule, run.CatchUp, run.Manual}).Draw(t, "trigger"),
			// No two at once: of equally late runs the later is told.
			Created: start.Add(time.Duration(rapid.IntRange(-3*24*60, 6*24*60).Draw(t, "created"))*time.Minute + time.Duration(n)*time.Millisecond),
		}
		if rapid.Bool().Draw(t, "scheduled") {
			r.ScheduledTime = r.Created.Add(-time.Duration(rapid.IntRange(-5, 3000).Draw(t, "late")) * time.Second)
		}
		if rapid.Bool().Draw(t, "started") {
			r.Started = r.Created.Add(time.Second)
		}
		if len(all) > 0 && rapid.IntRange(0, 2).Draw(t, "a try") == 0 { // of a time of one before; a CronJob has one Job for each
			if of := rapid.SampledFrom(all).Draw(t, "of"); of.Owner.Kind == "Timetable" {
				r.Namespace, r.Owner, r.ScheduledTime = of.Namespace, of.Owner, of.ScheduledTime
			}
		}
		if r.Outcome.Ended() && rapid.IntRange(0, 9).Draw(t, "end known") > 0 {
			r.Ended = r.Created.Add(time.Duration(rapid.IntRange(1, 500).Draw(t, "took")) * time.Second)
		}
		all = append(all, r)
	}
	return all
}

// What is added up is what going through all runs for each number gives.
func TestStatistics(t *testing.T) {
	bounds := days(t, "Europe/Berlin", 3)
	rapid.Check(t, func(t *rapid.T) {
		q := statistics.Query{Bounds: bounds, Owners: true, Namespace: rapid.SampledFrom([]string{"", "a"}).Draw(t, "of namespace"),
			OwnerKind: rapid.SampledFrom([]string{"", "Timetable"}).Draw(t, "of kind")}
		runs := someRuns(t)
		got := add(q, runs, nil)
		runs = tried(runs)
		chosen := slices.DeleteFunc(slices.Clone(runs), func(r run.Run) bool {
			return r.Time().Before(bounds[0]) || !r.Time().Before(bounds[3]) || q.Namespace != "" && r.Namespace != q.Namespace || q.OwnerKind != "" && r.Owner.Kind != q.OwnerKind
		})
		for n, span := range got.Spans {
			within := slices.DeleteFunc(slices.Clone(chosen), func(r run.Run) bool {
				return r.Reason == triedAgain || r.Time().Before(bounds[n]) || !r.Time().Before(bounds[n+1])
			})
			counts := map[run.Outcome]int{}
			var took []time.Duration
			for _, r := range within {
				counts[r.Outcome]++
				if r.Outcome == run.Succeeded && !r.Ended.IsZero() {
					took = append(took, r.Duration(r.Ended))
				}
			}
			want := statistics.Span{Active: counts[run.Active], Succeeded: counts[run.Succeeded], Failed: counts[run.Failed], Cancelled: counts[run.Cancelled],
				Unknown: counts[run.Unknown], Median: share(took, 0.5), Most95: share(took, 0.95)}
			if span != want {
				t.Fatalf("day %d: got %+v, want %+v", n, span, want)
			}
		}
		checkOwners(t, got.Owners, chosen)
	})
}

// triedAgain marks what has a later try.
const triedAgain = "tried again"

// tried marks the runs that a later try of the same time of the same owner followed.
func tried(runs []run.Run) []run.Run {
	runs = slices.Clone(runs)
	for i := range runs {
		r := &runs[i]
		for _, o := range runs {
			if !r.ScheduledTime.IsZero() && r.Owner.Name != "" && r.Namespace == o.Namespace && r.Owner == o.Owner && r.ScheduledTime.Equal(o.ScheduledTime) &&
				(o.Retry > r.Retry || o.Retry == r.Retry && o.Created.After(r.Created)) {
				r.Reason = triedAgain
			}
		}
	}
	return runs
}

// share is the least of the durations that so many of them do not exceed.
func share(took []time.Duration, part float64) time.Duration {
	least := time.Duration(math.MaxInt64)
	for _, d := range took {
		below := 0
		for _, o := range took {
			if o <= d {
				below++
			}
		}
		if float64(below) >= part*float64(len(took)) {
			least = min(least, d)
		}
	}
	if len(took) == 0 {
		return 0
	}
	return least
}

func checkOwners(t *rapid.T, got []statistics.Owner, chosen []run.Run) {
	known := 0
	for _, o := range got {
		own := slices.DeleteFunc(slices.Clone(chosen), func(r run.Run) bool { return r.Namespace != o.Namespace || r.Owner != o.Owner })
		known += len(own)
		want := statistics.Owner{Namespace: o.Namespace, Owner: o.Owner}
		var took []time.Duration
		for _, r := range own {
			want.Retries += int(r.PodsFailed)
			if r.Outcome == run.Failed {
				want.Retries = want.Retries - int(r.PodsFailed) + max(0, int(r.PodsFailed)-1)
			}
			if r.Retry >= 2 {
				want.Retries++
			}
			if late := r.Lateness(); late > 0 && r.Retry < 2 && r.Trigger != run.Manual && (late > want.Latest || late == want.Latest && r.Time().After(want.LatestAt)) {
				want.Latest, want.LatestAt = late, r.Time()
			}
			if r.Reason == triedAgain {
				continue
			}
			want.Runs++
			d := r.Duration(r.Ended)
			ended := !r.Ended.IsZero() && (r.Outcome == run.Succeeded || r.Outcome == run.Failed)
			switch r.Outcome {
			case run.Failed:
				want.Failed++
			case run.Succeeded:
				want.Succeeded++
			}
			if ended && r.Outcome == run.Succeeded {
				took = append(took, d)
			}
			if ended && (d > want.Longest || d == want.Longest && r.Time().After(want.LongestAt)) {
				want.Longest, want.LongestAt = d, r.Time()
			}
		}
		want.Median = share(took, 0.5)
		if diff := gocmp.Diff(want, o); diff != "" {
			t.Fatal(diff)
		}
	}
	for _, r := range chosen {
		if r.Owner.Name == "" {
			known++
		}
	}
	if known != len(chosen) {
		t.Fatalf("%d of %d runs belong to an owner or to none", known, len(chosen))
	}
}

// The order in which runs come does not matter.
func TestOrder(t *testing.T) {
	bounds := days(t, "Europe/Berlin", 3)
	rapid.Check(t, func(t *rapid.T) {
		runs := someRuns(t)
		q := statistics.Query{Bounds: bounds, Owners: true}
		if diff := gocmp.Diff(add(q, runs, nil), add(q, rapid.Permutation(runs).Draw(t, "order"), nil)); diff != "" {
			t.Fatal(diff)
		}
	})
}

// A day is what lies between two midnights, however long that is.
func TestDays(t *testing.T) {
	bounds := days(t, "Europe/Berlin", 3)
	if got := bounds[2].Sub(bounds[1]); got != 25*time.Hour {
		t.Fatalf("the day has %s", got)
	}
	at := func(times ...time.Time) (runs []run.Run) {
		for _, t := range times {
			runs = append(runs, run.Run{ScheduledTime: t, Outcome: run.Succeeded})
		}
		return runs
	}
	tests := map[string]struct {
		runs []run.Run
		want [3]int
	}{
		"none":                     {nil, [3]int{}},
		"before all":               {at(bounds[0].Add(-1)), [3]int{}},
		"the first moment":         {at(bounds[0]), [3]int{1, 0, 0}},
		"a midnight":               {at(bounds[1].Add(-1), bounds[1]), [3]int{1, 1, 0}},
		"the 25th hour":            {at(bounds[1].Add(24*time.Hour), bounds[1].Add(25*time.Hour)), [3]int{0, 1, 1}},
		"the end is not in it":     {at(bounds[3], bounds[3].Add(-1)), [3]int{0, 0, 1}},
		"later, sooner, and later": {at(bounds[2], bounds[0], bounds[2], bounds[1]), [3]int{1, 1, 2}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got [3]int
			for n, s := range add(statistics.Query{Bounds: bounds}, test.runs, nil).Spans {
				got[n] = s.Runs()
			}
			if got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestOmissions(t *testing.T) {
	bounds := days(t, "UTC", 2)
	of := func(namespace, kind string, day int, count int64, missed bool) run.Omission {
		return run.Omission{Namespace: namespace, Owner: run.Owner{Kind: kind, Name: "x"}, ScheduledTime: bounds[0].AddDate(0, 0, day), Count: count, Missed: missed}
	}
	all := []run.Omission{of("a", "CronJob", 0, 1, true), of("a", "Timetable", 0, 5, true), of("b", "CronJob", 0, 7, false), of("a", "CronJob", 1, 0, false), of("a", "CronJob", 2, 9, true), of("a", "CronJob", -1, 9, true)}
	tests := map[string]struct {
		q    statistics.Query
		want string
	}{
		"all":          {statistics.Query{}, "6 missed, 7 skipped; 0 missed, 1 skipped; "},
		"a namespace":  {statistics.Query{Namespace: "b"}, "0 missed, 7 skipped; 0 missed, 0 skipped; "},
		"a kind":       {statistics.Query{OwnerKind: "Timetable"}, "5 missed, 0 skipped; 0 missed, 0 skipped; "},
		"neither that": {statistics.Query{Namespace: "b", OwnerKind: "Timetable"}, "0 missed, 0 skipped; 0 missed, 0 skipped; "},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.q.Bounds = bounds
			got := ""
			for _, s := range add(test.q, nil, all).Spans {
				got += fmt.Sprintf("%d missed, %d skipped; ", s.Missed, s.Skipped)
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestNothingAsked(t *testing.T) {
	for _, bounds := range [][]time.Time{nil, {start}} {
		got := add(statistics.Query{Bounds: bounds, Owners: true}, []run.Run{{Created: start, Owner: run.Owner{Name: "x"}}}, []run.Omission{{ScheduledTime: start}})
		if len(got.Spans) != 0 || len(got.Owners) != 0 {
			t.Errorf("got %+v", got)
		}
	}
}

func TestSpan(t *testing.T) {
	s := statistics.Span{Active: 1, Succeeded: 3, Failed: 1, Cancelled: 2, Unknown: 4}
	if s.Runs() != 11 || s.Judged() != 4 || s.SuccessRate() != 0.75 {
		t.Errorf("got %d, %d, %f", s.Runs(), s.Judged(), s.SuccessRate())
	}
	if empty := (statistics.Span{Active: 1}); empty.SuccessRate() != 0 {
		t.Errorf("got %f", empty.SuccessRate())
	}
	s.Add(&statistics.Span{Active: 1, Succeeded: 2, Failed: 3, Cancelled: 4, Unknown: 5, Missed: 6, Skipped: 7})
	if want := (statistics.Span{Active: 2, Succeeded: 5, Failed: 4, Cancelled: 6, Unknown: 9, Missed: 6, Skipped: 7}); s != want {
		t.Errorf("got %+v", s)
	}
}
