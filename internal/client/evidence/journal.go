// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/carillon-dev/carillon/internal/client/cluster"
	"github.com/carillon-dev/carillon/internal/client/exitcode"
	"github.com/carillon-dev/carillon/internal/client/reference"
	"github.com/carillon-dev/carillon/internal/datadir"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/diagnosis"
	"github.com/carillon-dev/carillon/internal/plan/duration"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// How much of a journal is looked at: the newest runs, and those around the time that a question is about.
const (
	mostRemembered = 500
	around         = 36 * time.Hour
)

// OpenJournal opens the journal of the Carillon of this machine, if flags mean that; nil if they mean a cluster, or
// there is none.
func OpenJournal(flags cluster.Flags) (*journal.Reader, error) {
	local := flags.OrLocal()
	if local.DataDir == "" {
		return nil, nil //nolint:nilnil // documented: there is none
	}
	dir, err := cluster.Absolute(local.DataDir)
	if err != nil {
		return nil, err
	}
	reader, err := journal.OpenReader(datadir.Journal(dir))
	if errors.Is(err, journal.ErrNone) {
		return nil, nil //nolint:nilnil // documented: there is none
	}
	return reader, err
}

// OpenNamed opens the journal in a directory that a user has named, or in a data directory. Errors name the flag
// --journal.
func OpenNamed(named string) (*journal.Reader, error) {
	dir, err := filepath.Abs(named)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(datadir.JournalDatabase(dir)); err == nil {
		dir = datadir.Journal(dir)
	}
	reader, err := journal.OpenReader(dir)
	switch {
	case errors.Is(err, journal.ErrNone):
		return nil, exitcode.UsageError("--journal: there is no journal in %s", named)
	case err != nil:
		return nil, fmt.Errorf("--journal: %w", err)
	}
	return reader, nil
}

// LastSign is when the Carillon on a data directory, which does not run, wrote its log last; zero if that is not known.
func LastSign(dataDir string) time.Time {
	log, err := os.Stat(datadir.Log(dataDir))
	if err != nil {
		return time.Time{}
	}
	return log.ModTime()
}

// Stopped is what is said of the Carillon on a data directory, which does not run: since when, as far as that is known.
func Stopped(dataDir string, now time.Time) diagnosis.Journal {
	of := diagnosis.Journal{Stopped: true, StoppedAt: LastSign(dataDir), Unasked: "the Carillon on " + dataDir + " does not run"}
	if !of.StoppedAt.IsZero() {
		of.Unasked += " since " + of.StoppedAt.UTC().Format("2006-01-02 15:04") + " UTC (" + duration.FromNow(of.StoppedAt, now) + ")"
	}
	return of
}

// Journal is what Remember and Alone ask; journal.Reader is one.
type Journal interface {
	Runs(ctx context.Context, q journal.Query) ([]run.Run, error)
	Omissions(ctx context.Context, q journal.Query) ([]run.Omission, error)
	Extent(ctx context.Context) (journal.Extent, error)
}

// Remember adds to e what the journal has of its CronJob or Timetable: the newest runs, and those around at, if that is
// not zero. What it cannot read it says (Evidence.Unread).
func Remember(ctx context.Context, reader Journal, e *diagnosis.Evidence, at time.Time) {
	q := journal.Query{Limit: mostRemembered}
	switch only := e.Journal.Only; {
	case only != nil:
		q.Namespace, q.OwnerKind, q.OwnerName = only.Namespace, only.Kind, only.Name
	case e.Scheduled == nil || e.Scheduled.Owner.UID == "":
		return
	default:
		q.Namespace, q.OwnerUID = e.Scheduled.Owner.Namespace, e.Scheduled.Owner.UID
	}
	known, err := read(ctx, reader, q)
	if err == nil && !at.IsZero() {
		q.From, q.Until = at.Add(-around), at.Add(around)
		var more diagnosis.Journal
		more, err = read(ctx, reader, q)
		for i := range more.Runs {
			if !slices.ContainsFunc(known.Runs, func(r run.Run) bool { return r.UID == more.Runs[i].UID }) {
				known.Runs = append(known.Runs, more.Runs[i])
			}
		}
		known.Omissions = append(known.Omissions, more.Omissions...)
	}
	var extent journal.Extent
	if err == nil {
		extent, err = reader.Extent(ctx)
	}
	if err != nil {
		e.Unread = append(e.Unread, "the journal: "+err.Error())
		return
	}
	remembered := e.Journal
	remembered.Since, remembered.Runs, remembered.Omissions = extent.Oldest, known.Runs, known.Omissions
	if remembered.Only != nil && remembered.Unasked == "" {
		for i := range remembered.Runs {
			nobodySaw(&remembered.Runs[i])
		}
	}
	e.Remember(remembered)
}

func read(ctx context.Context, reader Journal, q journal.Query) (known diagnosis.Journal, err error) {
	if known.Runs, err = reader.Runs(ctx, q); err != nil {
		return known, err
	}
	if q.From.IsZero() {
		known.Omissions, err = reader.Omissions(ctx, q)
		return known, err
	}
	q.From = time.Time{} // one that began long before may reach into the interval
	known.Omissions, err = reader.Omissions(ctx, q)
	return known, err
}

// nobodySaw is about a run whose object is not there: if it has not ended by what is remembered, it has by now.
func nobodySaw(r *run.Run) {
	if !r.Outcome.Ended() {
		r.Outcome = run.Unknown
	}
}

// Alone gives what a journal has, on its own, of an object in namespace that is not there or that nobody could be asked
// about; of says which (Journal.Unasked and what stands beside it). Of a Job it is all that there is to know, of a
// CronJob or Timetable what Remember goes on with. It is nil if the journal has nothing of it.
func Alone(ctx context.Context, reader Journal, ref reference.Reference, namespace string, of diagnosis.Journal) (*diagnosis.Evidence, error) {
	e := &diagnosis.Evidence{Read: diagnosis.Kinds{Jobs: true}, Journal: of}
	q := journal.Query{Namespace: namespace, Name: ref.Name, Limit: 1}
	if ref.Kind != "job" {
		q = journal.Query{Namespace: namespace, OwnerKind: kinds[ref.Kind], OwnerName: ref.Name, Limit: 1}
	}
	runs, err := reader.Runs(ctx, q)
	var omissions []run.Omission
	if err == nil && ref.Kind != "job" {
		omissions, err = reader.Omissions(ctx, q)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the journal: %w", err)
	case len(runs)+len(omissions) == 0:
		return nil, nil //nolint:nilnil // documented: there is nothing
	case ref.Kind != "job":
		e.Journal.Only = &diagnosis.Object{Kind: kinds[ref.Kind], Namespace: namespace, Name: ref.Name}
		return e, nil
	}
	if of.Unasked == "" {
		nobodySaw(&runs[0])
	}
	e.Journal.Gone = &runs[0]
	return e, nil
}

// mostNames is how many names are looked for in a journal, when a shell completes one or one is wrong.
const mostNames = 20_000

// Names are those of objects in namespace that a journal remembers, of the kind that references call by this word.
func Names(ctx context.Context, reader *journal.Reader, namespace, word string) ([]string, error) {
	return reader.Names(ctx, namespace, kinds[word], mostNames)
}

// kinds are the kinds of objects that references name.
var kinds = map[string]string{"cronjob": "CronJob", "timetable": "Timetable", "job": "Job"}
