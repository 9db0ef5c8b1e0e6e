// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package backup

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/datadir"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/journal/ended"
)

// Merged counts what came into a journal that was not there.
type Merged struct{ Runs, Attempts, Omissions int64 }

// freezeJournal holds a journal at this moment; nil says that there is none.
func freezeJournal(ctx context.Context, dir string) (frozenJournal, error) {
	frozen, err := journal.Freeze(ctx, dir)
	if errors.Is(err, journal.ErrNone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return frozen, nil
}

// restoreHistory brings the unpacked history into a data directory that may be in use: what is missing there, and
// nothing else. A kill leaves a part of it; the same again adds the rest.
func (r *restoration) restoreHistory(ctx context.Context, fresh string) error {
	r.done.RunsOnly, r.done.Running = true, r.target.inUse
	if err := recordEnded(ctx, fresh); err != nil {
		return err
	}
	frozen, err := freezeJournal(ctx, datadir.Journal(fresh))
	if err != nil || frozen == nil {
		return err
	}
	copied := r.work.file(journalCopy)
	if err := errors.Join(frozen.CopyTo(ctx, copied), frozen.Close()); err != nil {
		return err
	}
	added, err := journal.Merge(ctx, datadir.Journal(r.dir), copied, func(done, _ int64) { r.o.Progress("adding to the history", done) })
	r.done.Merged = Merged{Runs: added.Runs, Attempts: added.Attempts, Omissions: added.Omissions}
	return err
}

// recordEnded takes what was on its way into the journal of an unpacked backup into it.
func recordEnded(ctx context.Context, dir string) error {
	if _, err := os.Lstat(datadir.EndedContainers(dir)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	entries, err := ended.Open(datadir.EndedContainers(dir), ended.Options{LogBytes: -1, Entries: -1})
	if err != nil {
		return err
	}
	defer entries.Close() //nolint:errcheck // it is only read
	j, err := journal.Open(datadir.Journal(dir), journal.Options{KeepLogs: -1})
	if err != nil {
		return err
	}
	past, err := journal.OpenReader(datadir.Journal(dir))
	if err != nil {
		return errors.Join(err, j.Close())
	}
	for _, id := range entries.List() {
		if err = recordOne(ctx, j, past, entries, id); err != nil {
			break
		}
	}
	return errors.Join(err, past.Close(), j.Close())
}

// volcanoJob is the label with the name of the Job that a Pod of Volcano's belongs to: it tells no UID.
const volcanoJob = "volcano.sh/job-name"

// recordOne takes one container into the journal, unless it belongs to no run, or to one that the journal does not
// know.
func recordOne(ctx context.Context, j *journal.Journal, past *journal.Reader, entries *ended.Dir, id string) error {
	c, err := entries.Read(id)
	if err != nil {
		return err
	}
	attempt := c.Attempt()
	name := c.Pod.Labels[volcanoJob]
	switch {
	case c.Pod.JobUID() != "":
	case name != "":
		runs, err := past.Runs(ctx, journal.Query{Namespace: c.Pod.Namespace, Name: name})
		if err != nil {
			return err
		}
		attempt.RunUID = ""
		for i := range runs { // the newest first
			r := &runs[i]
			if strings.HasPrefix(r.APIVersion, "batch.volcano.sh/") && !r.Created.After(c.Ended) {
				attempt.RunUID = r.UID
				break
			}
		}
		if attempt.RunUID == "" {
			return nil
		}
	case c.Pod.Labels[v1alpha1.LabelTimetableUID] == "":
		return nil
	}
	log, err := entries.Log(id)
	if errors.Is(err, fs.ErrNotExist) {
		return j.RecordAttempt(ctx, attempt, nil)
	}
	if err != nil {
		return err
	}
	return errors.Join(j.RecordAttempt(ctx, attempt, log), log.Close())
}
