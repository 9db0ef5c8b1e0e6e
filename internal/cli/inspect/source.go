// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"errors"
	"io"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/cli/cluster"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// source is where runs are looked up: a journal, or what an API server still has. Errors are for the user.
type source interface {
	// Runs, Omissions, Attempts and Usual are those of journal.Reader. From an API server they are as far as objects tell
	// and events are kept.
	Runs(ctx context.Context, q journal.Query) ([]run.Run, error)
	Omissions(ctx context.Context, q journal.Query) ([]run.Omission, error)
	// Attempts gives those of a run that have ended, and those that run.
	Attempts(ctx context.Context, r *run.Run) ([]run.Attempt, error)
	Usual(ctx context.Context, owners []types.UID) (map[types.UID]journal.Usual, error)
	// Log gives what an attempt wrote, in the format of CRI, until now; fs.ErrNotExist says that nothing is left of it.
	Log(ctx context.Context, a *run.Attempt) (io.ReadCloser, error)
	// Tail gives the end of that, at least the given number of lines if there are so many.
	Tail(ctx context.Context, a *run.Attempt, lines int) ([]byte, error)
	// Origin says where the answers come from, in words for the user, and what limits them: "the journal of the Carillon
	// on /var/lib/carillon, since 2026-08-25", "the objects of the cluster; Jobs that were cleaned up are not known".
	Origin(ctx context.Context) string
	Close() error
}

// target is what the flags of a command name.
type target struct {
	cluster       cluster.Flags
	allNamespaces bool
	// journal is the directory of a journal, "" for that of the Carillon of this machine if one is meant.
	journal string
}

// open gives the source for what the flags name, and the API server; server is nil if the Carillon of this machine does
// not run: its journal can be read all the same.
func (t *target) open(ctx context.Context) (source, *cluster.Server, error) {
	return nil, nil, errors.New("inspect: not built yet")
}
