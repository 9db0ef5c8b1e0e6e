// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"context"
	"time"

	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/statistics"
)

// Confined gives a source that knows of one namespace only, whatever it is asked: of others there is nothing. "" is
// all, and gives the source itself, as an API server is given: that is asked with the rights of the user, and only a
// journal would tell all.
func Confined(s Source, namespace string) Source {
	remembers, ok := s.(*journalSource)
	if !ok || namespace == "" {
		return s
	}
	own := *remembers
	own.reader = confined{remembers.reader, namespace}
	return &own
}

// confined is a journal of which one namespace is seen. What is asked by a UID, or by a container's ID, is of a run
// that was seen.
type confined struct {
	Remembered
	namespace string
}

// narrow makes a question one about the namespace; false: it is about another one.
func (c confined) narrow(namespace *string) bool {
	if *namespace == "" {
		*namespace = c.namespace
	}
	return *namespace == c.namespace
}

func (c confined) Runs(ctx context.Context, q journal.Query) ([]run.Run, error) {
	if !c.narrow(&q.Namespace) {
		return []run.Run{}, nil
	}
	return c.Remembered.Runs(ctx, q)
}

func (c confined) Omissions(ctx context.Context, q journal.Query) ([]run.Omission, error) {
	if !c.narrow(&q.Namespace) {
		return []run.Omission{}, nil
	}
	return c.Remembered.Omissions(ctx, q)
}

func (c confined) Statistics(ctx context.Context, q statistics.Query) (*statistics.Statistics, error) {
	if !c.narrow(&q.Namespace) {
		return Count(q, nil, nil), nil
	}
	return c.Remembered.Statistics(ctx, q)
}

func (c confined) Owners(ctx context.Context, q journal.Query) ([]journal.OwnerIn, error) {
	if !c.narrow(&q.Namespace) {
		return []journal.OwnerIn{}, nil
	}
	return c.Remembered.Owners(ctx, q)
}

func (c confined) Tally(ctx context.Context, q journal.Query, width time.Duration) ([]journal.Tally, error) {
	if !c.narrow(&q.Namespace) {
		return []journal.Tally{}, nil
	}
	return c.Remembered.Tally(ctx, q, width)
}

func (c confined) Names(ctx context.Context, namespace, kind string, most int) ([]string, error) {
	if !c.narrow(&namespace) {
		return nil, nil
	}
	return c.Remembered.Names(ctx, namespace, kind, most)
}
