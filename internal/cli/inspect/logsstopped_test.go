// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/client/lookup"
	"github.com/carillon-dev/carillon/internal/client/reference"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/description"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// stoppedJournal is a journal that has one run, and no attempt of it.
type stoppedJournal struct{ *runMemory }

func (stoppedJournal) Attempts(context.Context, types.UID) ([]run.Attempt, error) { return nil, nil }
func (stoppedJournal) Log(context.Context, string) (io.ReadCloser, error)         { return nil, fs.ErrNotExist }
func (stoppedJournal) Tail(context.Context, string, int) ([]byte, error)          { return nil, fs.ErrNotExist }
func (stoppedJournal) Extent(context.Context) (journal.Extent, error)             { return journal.Extent{}, nil }

func (stoppedJournal) Names(ctx context.Context, namespace, kind string, most int) ([]string, error) {
	return nil, nil
}

func (stoppedJournal) Owners(context.Context, journal.Query) ([]journal.OwnerIn, error) {
	return nil, nil
}

func (stoppedJournal) Tally(context.Context, journal.Query, time.Duration) ([]journal.Tally, error) {
	return nil, nil
}

// Of a run that was active when Carillon was killed nothing is said that nobody knows.
func TestLogsOfStopped(t *testing.T) {
	r := backupRun(4, run.Active)
	r.Ended = time.Time{}
	var out, said bytes.Buffer
	l := &logs{tail: -1, streams: Streams{Out: &out, Err: &said}, clock: func() time.Time { return logsNow }}
	s := lookup.NewJournal(stoppedJournal{&runMemory{runs: []run.Run{r}}}, "the journal", "/data")
	if err := l.show(t.Context(), s, nil, reference.Reference{Kind: "cronjob", Name: "backup"}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{", not ended when Carillon stopped\n", "what it wrote since is not in the journal yet; start Carillon: carillon up --data-dir /data\n"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("%q is not said:\n%s", want, &said)
		}
	}
	for _, wrong := range []string{"running for", "nothing yet"} {
		if strings.Contains(said.String(), wrong) {
			t.Errorf("%q is said:\n%s", wrong, &said)
		}
	}
}

// Nor does its duration grow, in the history.
func TestHistoryOfStopped(t *testing.T) {
	r := backupRun(4, run.Active)
	r.Ended = time.Time{}
	s := lookup.NewJournal(stoppedJournal{&runMemory{runs: []run.Run{r}}}, "the journal", "/data")
	for _, name := range []string{"cronjob/backup", ""} {
		args := strings.Fields(name + " -o wide")
		out, err := askHistory(t, s, 120, args...)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out, "not ended") || strings.Contains(out, " runs ") || strings.Contains(out, "since") || name != "" && !strings.Contains(out, " when Carillon stopped") {
			t.Errorf("%q: %s", name, out)
		}
	}
}

// Nor on the screen that describes the schedule.
func TestDescribedRunOfStopped(t *testing.T) {
	r := &run.RunDocument{Kind: "Job", Name: "backup-1", Outcome: run.Active, DurationSeconds: new(90.0), Trigger: run.Manual}
	cells := (&screen{remembered: true, ascii: true}).runCells(r)
	if !strings.HasSuffix(cells[0].Text, " not ended") || cells[1].Text != "" || cells[2].Text != "when the journal was written last, by hand" {
		t.Errorf("%+v", cells)
	}
	d := &description.Description{Active: []description.ActiveRun{{RunDocument: *r, AgeSeconds: 90}}}
	s := &screen{remembered: true, width: 80}
	if s.state(d); !strings.Contains(strings.Join(s.lines, "\n"), "Not ended  job/backup-1, when the journal was written last") {
		t.Errorf("%q", s.lines)
	}
	if cells = (&screen{ascii: true}).runCells(r); cells[1].Text != "1m30s" {
		t.Errorf("while it runs: %+v", cells)
	}
}
