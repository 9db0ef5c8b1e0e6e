// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"context"

	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/statistics"
)

// Statistics implements Source. What the journal cannot have is not added: it would be a moment's, of days.
func (s *journalSource) Statistics(ctx context.Context, q statistics.Query) (*statistics.Statistics, error) {
	found, err := s.reader.Statistics(ctx, q)
	if err == nil && s.stopped != "" {
		for i := range found.Spans {
			one := &found.Spans[i]
			one.Left, one.Active = one.Left+one.Active, 0
		}
	}
	return found, err
}

// Statistics implements Source.
func (s *apiSource) Statistics(ctx context.Context, q statistics.Query) (*statistics.Statistics, error) {
	if q.Spans() == 0 {
		return Count(q, nil, nil), nil
	}
	// What the Pods of so many Jobs would add to their times is not worth reading them.
	runs, err := s.read(ctx, s.scopeOf(&journal.Query{Namespace: q.Namespace}))
	if err != nil {
		return nil, err
	}
	omissions, err := s.Omissions(ctx, journal.Query{Namespace: q.Namespace, OwnerKind: q.OwnerKind, From: q.Bounds[0], Until: q.Bounds[len(q.Bounds)-1]})
	if err != nil {
		return nil, err
	}
	return Count(q, runs, omissions), nil
}

// Count adds up runs and omissions that are at hand.
func Count(q statistics.Query, runs []run.Run, omissions []run.Omission) *statistics.Statistics {
	c := statistics.NewCollector(q)
	for i := range runs {
		c.Add(&runs[i])
	}
	for i := range omissions {
		c.AddOmission(&omissions[i])
	}
	return c.Result()
}
