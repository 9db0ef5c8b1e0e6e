// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/statistics"
)

// checkJournals checks a property of journals; each begins empty, in a directory of its own.
func checkJournals(t *testing.T, property func(t *rapid.T, j *Journal, dir string)) {
	t.Helper()
	base := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		dir := filepath.Join(base, fmt.Sprint(n))
		defer os.RemoveAll(dir)
		j, err := Open(dir, Options{KeepLogs: -1, limits: quiet()})
		if err != nil {
			t.Fatal(err)
		}
		defer j.Close()
		property(t, j, dir)
	})
}

// Statistics are those of the runs and omissions that a reader gives, times of attempts included.
func TestStatistics(t *testing.T) {
	checkJournals(t, func(t *rapid.T, j *Journal, dir string) {
		for i := range rapid.IntRange(0, 25).Draw(t, "runs") {
			r := aRun(rapid.IntRange(0, 3000).Draw(t, "minute"), rapid.SampledFrom(outcomes).Draw(t, "outcome"))
			r.UID, r.Namespace = uid(i), rapid.SampledFrom([]string{"a", "b"}).Draw(t, "namespace")
			r.Trigger = rapid.SampledFrom([]run.Trigger{"", run.Schedule, run.Manual}).Draw(t, "trigger")
			r.Retry, r.PodsFailed = rapid.IntRange(0, 3).Draw(t, "retry"), rapid.Int32Range(0, 2).Draw(t, "failed")
			r.Created = r.Created.Add(time.Duration(i) * time.Millisecond)
			switch rapid.IntRange(0, 5).Draw(t, "owner") {
			case 0:
				r.Owner = run.Owner{}
			case 1, 3, 4:
				r.Owner.Kind = "Timetable" // with tries of few times
				r.ScheduledTime = at(rapid.IntRange(0, 3).Draw(t, "time") * 700)
			case 2:
				r.ScheduledTime = time.Time{}
			}
			if err := j.Record(t.Context(), []run.Run{r}, nil); err != nil {
				t.Fatal(err)
			}
			if rapid.Bool().Draw(t, "attempt") {
				a := anAttempt(i, i)
				a.Started, a.Ended = r.Started.Add(300*time.Millisecond), r.Ended.Add(-200*time.Millisecond)
				if err := j.RecordAttempt(t.Context(), a, nil); err != nil {
					t.Fatal(err)
				}
			}
		}
		for i := range rapid.IntRange(0, 5).Draw(t, "omissions") {
			o := run.Omission{Namespace: "a", Owner: owner(i), ScheduledTime: at(rapid.IntRange(0, 3000).Draw(t, "omitted")), Count: int64(i + 1), Missed: i%2 == 0, Reason: "Overlap", Seen: at(i)}
			if err := j.Record(t.Context(), nil, []run.Omission{o}); err != nil {
				t.Fatal(err)
			}
		}
		// A run that is known from its attempts alone counts nowhere.
		if err := j.RecordAttempt(t.Context(), anAttempt(900, 900), nil); err != nil {
			t.Fatal(err)
		}
		r, err := OpenReader(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		q := statistics.Query{Namespace: rapid.SampledFrom([]string{"", "a", "none"}).Draw(t, "of namespace"), OwnerKind: rapid.SampledFrom([]string{"", "CronJob", "Timetable"}).Draw(t, "of kind"),
			Owners: rapid.Bool().Draw(t, "owners"), Bounds: []time.Time{at(-10), at(600), at(1440), at(2880)}}
		got, err := r.Statistics(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		c := statistics.NewCollector(q)
		runs, err := r.Runs(t.Context(), Query{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range runs {
			c.Add(&runs[i])
		}
		omissions, err := r.Omissions(t.Context(), Query{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range omissions {
			c.AddOmission(&omissions[i])
		}
		want := c.Result()
		sorted(want)
		sorted(got)
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func sorted(s *statistics.Statistics) {
	slices.SortFunc(s.Owners, func(a, b statistics.Owner) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Owner.Kind, b.Owner.Kind), cmp.Compare(a.Owner.Name, b.Owner.Name))
	})
}

func TestNoStatistics(t *testing.T) {
	dir := tempDir(t)
	j := open(t, dir, Options{})
	if err := j.Record(t.Context(), []run.Run{aRun(1, run.Failed)}, nil); err != nil {
		t.Fatal(err)
	}
	if got, err := read(t, dir).Statistics(t.Context(), statistics.Query{Owners: true}); err != nil || len(got.Spans) != 0 || len(got.Owners) != 0 {
		t.Errorf("got %+v, %v", got, err)
	}
}
