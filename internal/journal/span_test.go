// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/plan/run"
)

// A run is as long as its attempts, whichever becomes known first, also for what is usual, and after a merge.
func TestARunIsAsLongAsItsAttempts(t *testing.T) {
	started, ended := at(1).Add(700*time.Millisecond), at(1).Add(3700*time.Millisecond)
	attempt := anAttempt(1, 1)
	attempt.Role, attempt.Mains, attempt.Started, attempt.Ended = run.Main, 1, started, ended
	object := aRun(1, run.Succeeded)
	object.Created, object.Started, object.Ended = at(1), at(1).Add(2*time.Second), at(1).Add(5*time.Second)
	active := object
	active.Outcome, active.Ended = run.Active, time.Time{}
	for name, steps := range map[string][]func(*Journal){
		"the run is first":          {func(j *Journal) { record(t, j, object) }, func(j *Journal) { recordAttempt(t, j, attempt, "") }},
		"the attempt is first":      {func(j *Journal) { recordAttempt(t, j, attempt, "") }, func(j *Journal) { record(t, j, object) }},
		"the attempt is in between": {func(j *Journal) { record(t, j, active) }, func(j *Journal) { recordAttempt(t, j, attempt, "") }, func(j *Journal) { record(t, j, object) }},
		"it is told again":          {func(j *Journal) { recordAttempt(t, j, attempt, "") }, func(j *Journal) { record(t, j, object) }, func(j *Journal) { record(t, j, object) }},
	} {
		for _, late := range []time.Duration{2 * time.Second, time.Hour} {
			object.Ended = ended.Truncate(time.Second).Add(late)
			t.Run(name+" "+late.String(), func(t *testing.T) {
				dir := tempDir(t)
				j := open(t, dir, Options{})
				for _, step := range steps {
					step(j)
				}
				expect := func(dir string) {
					t.Helper()
					r := read(t, dir)
					all := runs(t, r, Query{})
					if len(all) != 1 || !all[0].Started.Equal(started) || !all[0].Ended.Equal(ended) {
						t.Errorf("%+v, want one from %s to %s", all, started, ended)
					}
					owner := object.Owner.UID
					usual, err := r.Usual(t.Context(), []types.UID{owner})
					if want := (Usual{Runs: 1, Median: ended.Sub(started), Most: ended.Sub(started)}); err != nil || usual[owner] != want {
						t.Errorf("usual is %+v, want %+v (%v)", usual, want, err)
					}
				}
				expect(dir)
				if err := j.Close(); err != nil {
					t.Fatal(err)
				}
				other := tempDir(t)
				if _, err := Merge(t.Context(), other, dir+"/runs.db", nil); err != nil {
					t.Fatal(err)
				}
				expect(other)
			})
		}
	}
}
