// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"context"
	"os"
	"slices"
	"time"

	"github.com/carillon-dev/carillon/internal/datadir"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

const (
	// longestWait is how long an ended container waits for a journal at most that is well.
	longestWait = time.Minute
	// leastFree is with how much free space a journal is not written to any more.
	leastFree = 64 << 20
)

// lags tells whether the journal in a directory seems not to be written to: its disk is full, or containers that ended
// long ago still wait for it. Directories that cannot be read tell nothing.
func lags(journalDir, ended string, now time.Time) bool {
	if free := datadir.Free(journalDir); free >= 0 && free < leastFree {
		return true
	}
	waiting, err := os.ReadDir(ended)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(waiting, func(e os.DirEntry) bool {
		info, err := e.Info()
		return err == nil && e.Name() != "damaged" && now.Sub(info.ModTime()) > longestWait
	})
}

func (s *journalSource) isLate() bool { return s.objects != nil && s.lags != nil && s.lags() }

// withObjects adds the runs that the journal does not have, and brings those up to date that it knows as active.
func (s *journalSource) withObjects(ctx context.Context, q *journal.Query, known []run.Run) []run.Run {
	any := *q
	any.Outcomes, any.EndedFrom, any.Limit, any.LastTries = nil, time.Time{}, 0, false
	live, err := s.objects.Runs(ctx, any)
	if err != nil {
		return known // the journal has answered; what the API server would add is not worth an end
	}
	for i := range live {
		at := slices.IndexFunc(known, func(r run.Run) bool { return r.UID == live[i].UID })
		switch {
		case at < 0:
			known = append(known, live[i])
		case !known[at].Outcome.Ended():
			known[at] = live[i]
		}
	}
	slices.SortFunc(known, NewestFirst)
	return Choose(q, known)
}
