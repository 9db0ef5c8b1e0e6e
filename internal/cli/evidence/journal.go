// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/carillon-dev/carillon/internal/cli/cluster"
	"github.com/carillon-dev/carillon/internal/cli/reference"
	"github.com/carillon-dev/carillon/internal/datadir"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/diagnosis"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// How much of a journal is looked at: the newest runs, and those around the time that a question is about.
const (
	mostRemembered = 500
	around         = 36 * time.Hour
)

// OpenJournal opens the journal of the Carillon of this machine, if flags mean that; nil if they mean a cluster, or there is
// none.
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

// Remember adds to e what the journal has of its CronJob or Timetable: the newest runs, and those around at, if that is not
// zero. What it cannot read it says (Evidence.Unread).
func Remember(ctx context.Context, reader *journal.Reader, e *diagnosis.Evidence, at time.Time) {
	if e.Scheduled == nil || e.Scheduled.Owner.UID == "" {
		return
	}
	q := journal.Query{Namespace: e.Scheduled.Owner.Namespace, OwnerUID: e.Scheduled.Owner.UID, Limit: mostRemembered}
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
	known.Since = extent.Oldest
	e.Remember(known)
}

func read(ctx context.Context, reader *journal.Reader, q journal.Query) (known diagnosis.Journal, err error) {
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

// Gone gives what a journal has of an object that is not there, in namespace: of a Job the evidence that answers; of a CronJob
// or Timetable an error that says how to see its runs. notThere is given back if the journal has nothing either.
func Gone(ctx context.Context, reader *journal.Reader, ref reference.Reference, namespace string, notThere *NotThere) (*diagnosis.Evidence, error) {
	q := journal.Query{Namespace: namespace, Name: ref.Name, Limit: 1}
	if ref.Kind != "job" {
		q = journal.Query{Namespace: namespace, OwnerKind: ownerKinds[ref.Kind], OwnerName: ref.Name}
	}
	runs, err := reader.Runs(ctx, q)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w; nor can the journal be read: %w", notThere, err)
	case len(runs) == 0:
		return nil, notThere
	case ref.Kind != "job":
		return nil, &NotThere{fmt.Errorf("%w; the journal remembers %s of one that had the name: carillon describe %s shows them", notThere,
			quantity.Count(len(runs), "run"), ref)}
	}
	gone := runs[0]
	if !gone.Outcome.Ended() {
		gone.Outcome = run.Unknown // its object is not there
	}
	e := &diagnosis.Evidence{Read: diagnosis.Kinds{Jobs: true}}
	e.Remember(diagnosis.Journal{Gone: &gone})
	return e, nil
}

// ownerKinds are the kinds of owners that references name.
var ownerKinds = map[string]string{"cronjob": "CronJob", "timetable": "Timetable"}
