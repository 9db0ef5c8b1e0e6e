// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lookup is where runs are looked up: in the journal of a Carillon of this machine, or in the objects that an
// API server still has. Commands and the page ask it alike.
//
//   - lookup.go      Source, which answers
//   - target.go      the flags that name one, and the choice
//   - journal.go     a journal, with what only the API server and the node know yet
//   - confined.go    a journal of which one namespace is seen
//   - lag.go         when the journal does not have what happens now, and what has it instead
//   - api.go         the objects of an API server
//   - jobs.go        which of its Jobs are listed
//   - omissions.go   what did not start, as Timetables and events tell
//   - tally.go       whose runs there are, and how many
//   - statistics.go  runs and omissions added up
//   - pods.go        attempts and logs of Pods that are still there
//   - log.go         a log of the API server in the format of CRI
//   - execution.go   what a container writes, while it does
//   - rest.go        what it wrote after a place that was read before
package lookup

import (
	"context"
	"io"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/statistics"
)

// Source is where runs are looked up: a journal, or what an API server still has. Errors are for the user. It may be
// used by several goroutines.
type Source interface {
	// Runs, Omissions, Attempts and Usual are those of journal.Reader. From an API server they are as far as objects
	// tell and events are kept.
	Runs(ctx context.Context, q journal.Query) ([]run.Run, error)
	Omissions(ctx context.Context, q journal.Query) ([]run.Omission, error)
	// Attempts gives those of a run that have ended, and those that run.
	Attempts(ctx context.Context, r *run.Run) ([]run.Attempt, error)
	Usual(ctx context.Context, owners []types.UID) (map[types.UID]journal.Usual, error)
	// Statistics adds up the runs and omissions that Runs and Omissions would give.
	Statistics(ctx context.Context, q statistics.Query) (*statistics.Statistics, error)
	// Log gives what an attempt wrote, in the format of CRI, until now; fs.ErrNotExist says that nothing is left of it.
	Log(ctx context.Context, a *run.Attempt) (io.ReadCloser, error)
	// Tail gives the end of that, at least the given number of lines if there are so many; nil if nothing is left.
	Tail(ctx context.Context, a *run.Attempt, lines int) ([]byte, error)
	// Origin says where the answers come from, in words for the user, and what limits them: "the journal of the
	// Carillon on /var/lib/carillon, since 2026-08-25", "the objects of the cluster; Jobs that were cleaned up are not
	// known". What could not be read is only known once it was asked for.
	Origin(ctx context.Context) string
	Close() error
}
