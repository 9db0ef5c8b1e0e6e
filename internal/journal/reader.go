// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"errors"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/plan/run"
)

// Reader reads a journal, also while another process writes to it, and also when none does. Its methods may be called
// from several goroutines.
type Reader struct{}

// ErrNone: there is no journal in the directory.
var ErrNone = errors.New("there is no journal")

// OpenReader opens the journal in dir for reading. It makes nothing: errors are ErrNone, a damaged one, one of a later
// version, or one of somebody else's (privatedir).
func OpenReader(dir string) (*Reader, error) { return nil, errNotBuilt }

// Close ends it.
func (r *Reader) Close() error { return nil }

// Query chooses runs, or omissions. The zero value chooses all; each field narrows it.
type Query struct {
	Namespace string
	// OwnerKind ("CronJob", "Timetable") and OwnerName choose those of one owner, OwnerUID of one object.
	OwnerKind, OwnerName string
	OwnerUID             types.UID
	// Name is the name of the run's own object. UID is its UID.
	Name string
	UID  types.UID
	// Outcomes: one of these.
	Outcomes []run.Outcome
	// From (inclusive) and Until (exclusive) bound run.Run.Time, or an omission's ScheduledTime.
	From, Until time.Time
	// EndedFrom chooses what has ended then or later.
	EndedFrom time.Time
	// Limit is how many are given at most, the newest by run.Run.Time; 0 means all.
	Limit int
}

// Runs gives the chosen runs, newest first.
func (r *Reader) Runs(ctx context.Context, q Query) ([]run.Run, error) { return nil, errNotBuilt }

// Omissions gives the chosen omissions, newest first.
func (r *Reader) Omissions(ctx context.Context, q Query) ([]run.Omission, error) {
	return nil, errNotBuilt
}

// Attempts gives those of a run, by their end.
func (r *Reader) Attempts(ctx context.Context, uid types.UID) ([]run.Attempt, error) {
	return nil, errNotBuilt
}

// Log gives what is kept of an attempt's log, in the format of CRI; fs.ErrNotExist says that nothing is.
func (r *Reader) Log(ctx context.Context, containerID string) (io.ReadCloser, error) {
	return nil, errNotBuilt
}

// Tail gives the end of an attempt's log in the format of CRI, at least the given number of lines if there are so many,
// and not much more; nil if nothing is kept.
func (r *Reader) Tail(ctx context.Context, containerID string, lines int) ([]byte, error) {
	return nil, errNotBuilt
}

// Usual is how long runs of one owner take that succeed.
type Usual struct {
	Runs         int // how many it was made from
	Median, Most time.Duration
}

// Usual tells how long the last successful runs of owners took, at most 20 of each, by the UID of the owner. Who has none
// is left out.
func (r *Reader) Usual(ctx context.Context, owners []types.UID) (map[types.UID]Usual, error) {
	return nil, errNotBuilt
}

// Extent tells what a journal has.
type Extent struct {
	Runs, Attempts, Omissions int64
	// Oldest is the end of the oldest run that is kept; zero if there is none.
	Oldest time.Time
	// LogBytes is what logs take, DiskBytes what the whole journal does.
	LogBytes, DiskBytes int64
}

// Extent measures the journal.
func (r *Reader) Extent(ctx context.Context) (Extent, error) { return Extent{}, errNotBuilt }
