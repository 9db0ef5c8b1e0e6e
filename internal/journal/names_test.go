// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"fmt"
	"slices"
	"testing"

	"github.com/carillon-dev/carillon/internal/plan/run"
)

// Names are those of all owners, however long ago the last run of one was.
func TestNames(t *testing.T) {
	const owners = 10_000
	dir := tempDir(t)
	j := open(t, dir, Options{limits: quiet()})
	runs := make([]run.Run, 0, 2*owners+2)
	for n := range owners {
		r := aRun(n, run.Succeeded)
		r.Owner, r.Name = owner(n), fmt.Sprint("made-", n)
		runs = append(runs, r)
	}
	for n := range owners { // and later ones, all of the same owner
		r := aRun(owners+n, run.Succeeded)
		r.Owner, r.Name = owner(0), fmt.Sprint("later-", n)
		runs = append(runs, r)
	}
	byHand, elsewhere := aRun(2*owners, run.Succeeded), aRun(2*owners+1, run.Succeeded)
	byHand.Owner, byHand.Name, byHand.ScheduledTime, byHand.Created = run.Owner{}, "by-hand", at(-1), at(-1)
	elsewhere.Namespace, elsewhere.Owner.Name, elsewhere.Name = "shop", "till", "till-1"
	omitted := run.Omission{Namespace: "shop", Owner: run.Owner{APIVersion: "timetables.carillon.dev/v1alpha1", Kind: "Timetable", Name: "never", UID: uid(3_000_000)}, ScheduledTime: at(1), Count: 1, Seen: at(1)}
	if err := j.Record(t.Context(), append(runs, byHand, elsewhere), []run.Omission{omitted}); err != nil {
		t.Fatal(err)
	}
	r := read(t, dir)
	names := func(namespace, kind string, most int) []string {
		t.Helper()
		got, err := r.Names(t.Context(), namespace, kind, most)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := names("default", "CronJob", 2*owners); len(got) != owners || !slices.IsSorted(got) || !slices.Contains(got, "nightly-9999") || slices.Contains(got, "till") {
		t.Errorf("%d names", len(got))
	}
	if got := names("", "CronJob", 2*owners); len(got) != owners+1 {
		t.Errorf("%d names in all namespaces", len(got))
	}
	if got := names("default", "CronJob", 7); len(got) != 7 {
		t.Errorf("%d of 7 names", len(got))
	}
	if got := names("shop", "Timetable", 7); !slices.Equal(got, []string{"never"}) {
		t.Errorf("%q", got)
	}
	if got := names("default", "Job", 3); !slices.Equal(got, []string{"by-hand", "later-9998", "later-9999"}) {
		t.Errorf("%q", got)
	}
	if got := names("shop", "Job", 3); !slices.Equal(got, []string{"till-1"}) {
		t.Errorf("%q", got)
	}
}
