// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/plan/run"
)

// tallyJournal has 60 runs, one a minute from minute 1 on, of owners 0, 1 and 2 in turn, of which each fifth failed, a
// Job of its own at minute 30, and of owner 9 nothing but an omission at minute 40.
func tallyJournal(t *testing.T) *Reader {
	t.Helper()
	dir := tempDir(t)
	j := open(t, dir, Options{})
	for n := 1; n <= 60; n++ {
		outcome := run.Succeeded
		if n%5 == 0 {
			outcome = run.Failed
		}
		r := aRun(n, outcome)
		r.Owner, r.Namespace, r.ScheduledTime = owner(n%3), "shop", at(n)
		record(t, j, r)
	}
	own := aRun(1000, run.Succeeded)
	own.Owner, own.ScheduledTime, own.Created, own.Namespace = run.Owner{}, time.Time{}, at(30), "shop"
	record(t, j, own)
	if err := j.Record(t.Context(), nil, []run.Omission{{Namespace: "shop", Owner: owner(9), ScheduledTime: at(40), Count: 1, Seen: at(41)}}); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	return read(t, dir)
}

func TestTally(t *testing.T) {
	r := tallyJournal(t)
	for name, test := range map[string]struct {
		q     Query
		width time.Duration
	}{
		"all in one cell":          {},
		"cells of ten minutes":     {Query{From: at(5), Until: at(50)}, 10 * time.Minute},
		"of some owners":           {Query{From: at(0), OwnerUIDs: []types.UID{owner(1).UID, owner(2).UID}}, 7 * time.Minute},
		"of Jobs of their own":     {Query{From: at(0), OwnerUIDs: []types.UID{""}}, time.Minute},
		"what failed":              {Query{Outcomes: []run.Outcome{run.Failed}}, 0},
		"of another namespace":     {Query{Namespace: "other", From: at(0)}, time.Hour},
		"of an owner that is none": {Query{OwnerUIDs: []types.UID{"nobody"}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			type key struct {
				owner   types.UID
				cell    int
				outcome run.Outcome
			}
			want := map[key]Tally{}
			for _, one := range runs(t, r, test.q) {
				k := key{owner: one.Owner.UID, outcome: one.Outcome}
				if test.width > 0 && !test.q.From.IsZero() {
					k.cell = int(one.Time().Sub(test.q.From) / test.width)
				}
				w := want[k]
				w.Namespace, w.Owner, w.Cell, w.Outcome, w.Count = one.Namespace, one.Owner, k.cell, one.Outcome, w.Count+1
				if one.Time().After(w.Newest) {
					w.Newest = one.Time()
				}
				want[k] = w
			}
			got, err := r.Tally(t.Context(), test.q, test.width)
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != len(want) {
				t.Errorf("there are %d counts, want %d", len(got), len(want))
			}
			for _, g := range got {
				if w := want[key{g.Owner.UID, g.Cell, g.Outcome}]; g != w {
					t.Errorf("got %+v, want %+v", g, w)
				}
			}
		})
	}
}

func TestOwners(t *testing.T) {
	r := tallyJournal(t)
	for name, test := range map[string]struct {
		q    Query
		want []types.UID
	}{
		"all":                        {Query{}, []types.UID{"", owner(0).UID, owner(1).UID, owner(2).UID, owner(9).UID}},
		"of a short time":            {Query{From: at(1), Until: at(3)}, []types.UID{owner(1).UID, owner(2).UID}},
		"only an omission":           {Query{From: at(40), Until: at(41)}, []types.UID{owner(1).UID, owner(9).UID}},
		"before and after there was": {Query{From: at(70)}, nil},
		"one of them":                {Query{OwnerUIDs: []types.UID{owner(2).UID, "nobody"}}, []types.UID{owner(2).UID}},
		"Jobs of their own":          {Query{OwnerUIDs: []types.UID{""}}, []types.UID{""}},
		"another namespace":          {Query{Namespace: "other"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			all, err := r.Owners(t.Context(), test.q)
			if err != nil {
				t.Fatal(err)
			}
			var got []types.UID
			for _, o := range all {
				got = append(got, o.Owner.UID)
				if o.Namespace != "shop" {
					t.Errorf("%v is in namespace %s", o.Owner, o.Namespace)
				}
			}
			slices.SortFunc(got, func(a, b types.UID) int { return cmp.Compare(a, b) })
			slices.SortFunc(test.want, func(a, b types.UID) int { return cmp.Compare(a, b) })
			if !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}
