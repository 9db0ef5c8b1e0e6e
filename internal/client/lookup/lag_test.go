// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/client/cluster"
	"github.com/carillon-dev/carillon/internal/client/exitcode"
	"github.com/carillon-dev/carillon/internal/datadir"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// liveRuns is a Source that has some runs, chosen as from an API server.
type liveRuns struct {
	Source
	runs []run.Run
}

func (l liveRuns) Runs(_ context.Context, q journal.Query) ([]run.Run, error) {
	var chosen []run.Run
	for i := range l.runs {
		if Chooses(&q, &l.runs[i]) {
			chosen = append(chosen, l.runs[i])
		}
	}
	return chosen, nil
}

// A journal that cannot be written to is added to by the objects, and one that is well is not.
func TestJournalThatLags(t *testing.T) {
	began := time.Date(2026, 11, 2, 3, 0, 0, 0, time.UTC)
	made := func(name string, minute int, outcome run.Outcome) run.Run {
		r := run.Run{UID: types.UID(name), APIVersion: "batch/v1", Kind: "Job", Namespace: "default", Name: name, Outcome: outcome,
			Created: began.Add(time.Duration(minute) * time.Minute)}
		if outcome.Ended() {
			r.Ended = r.Created.Add(time.Second)
		}
		return r
	}
	dir := filepath.Join(t.TempDir(), "journal")
	j, err := journal.Open(dir, journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if err := j.Record(t.Context(), []run.Run{made("gone", 0, run.Succeeded), made("known", 1, run.Active), made("kept", 2, run.Failed)}, nil); err != nil {
		t.Fatal(err)
	}
	reader, err := journal.OpenReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	late := false
	s := &journalSource{
		reader: reader, name: "the journal", lags: func() bool { return late },
		objects: liveRuns{runs: []run.Run{made("known", 1, run.Succeeded), made("kept", 2, run.Failed), made("new", 3, run.Active)}},
	}
	defer s.Close()
	for scenario, c := range map[string]struct {
		late bool
		q    journal.Query
		want string
	}{
		"well":                {want: "kept known gone"},
		"late":                {late: true, want: "new kept known gone"},
		"late, limited":       {late: true, q: journal.Query{Limit: 2}, want: "new kept"},
		"well, active ones":   {q: journal.Query{Outcomes: []run.Outcome{run.Active}}, want: "known"},
		"late, active ones":   {late: true, q: journal.Query{Outcomes: []run.Outcome{run.Active}}, want: "new"},
		"late, one by name":   {late: true, q: journal.Query{Name: "new"}, want: "new"},
		"late, of no owner":   {late: true, q: journal.Query{OwnerName: "nightly"}},
		"late, failed lately": {late: true, q: journal.Query{EndedFrom: began}, want: "kept known gone"},
	} {
		t.Run(scenario, func(t *testing.T) {
			late = c.late
			runs, err := s.Runs(t.Context(), c.q)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, r := range runs {
				names = append(names, r.Name)
			}
			if got := strings.Join(names, " "); got != c.want {
				t.Errorf("%q instead of %q", got, c.want)
			}
			if strings.Contains(s.Origin(t.Context()), "cannot be written to now") != c.late {
				t.Error(s.Origin(t.Context()))
			}
		})
	}
}

// Who waits for the journal for more than a minute shows that it is not written to.
func TestLags(t *testing.T) {
	now := time.Date(2026, 11, 2, 3, 0, 0, 0, time.UTC)
	for scenario, c := range map[string]struct {
		name string
		age  time.Duration
		want bool
	}{
		"just ended":          {"c1", time.Second, false},
		"ended long ago":      {"c1", time.Hour, true},
		"set aside long ago":  {"damaged", time.Hour, false},
		"by a clock set back": {"c1", -time.Hour, false},
	} {
		t.Run(scenario, func(t *testing.T) {
			ended := t.TempDir()
			path := filepath.Join(ended, c.name)
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(path, now, now.Add(-c.age)); err != nil {
				t.Fatal(err)
			}
			if got := lags(filepath.Join(ended, "none"), ended, now); got != c.want {
				t.Error(got)
			}
		})
	}
}

// Where no Carillon runs, a journal that is damaged is told.
func TestDamagedJournalOfACarillonThatDoesNotRun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.MkdirAll(datadir.Journal(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(datadir.JournalDatabase(dir), []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err := new(Target).openLocal(cluster.Flags{DataDir: dir})
	var shownAlone *exitcode.Error // only what is in it is shown
	if err == nil || errors.As(err, &shownAlone) || !strings.Contains(err.Error(), "is damaged") {
		t.Error(err)
	}
}
