// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"context"
	"time"

	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// counter is a source that counts faster than it answers.
type counter interface {
	Owners(ctx context.Context, q journal.Query) ([]journal.OwnerIn, error)
	Tally(ctx context.Context, q journal.Query, width time.Duration) ([]journal.Tally, error)
}

// Owners is journal.Reader.Owners, of any source.
func Owners(ctx context.Context, s Source, q journal.Query) ([]journal.OwnerIn, error) {
	if c, ok := s.(counter); ok {
		return c.Owners(ctx, q)
	}
	runs, err := s.Runs(ctx, q)
	if err != nil {
		return nil, err
	}
	omissions, err := s.Omissions(ctx, q)
	all, seen := []journal.OwnerIn{}, map[journal.OwnerIn]bool{}
	add := func(o journal.OwnerIn) {
		if !seen[o] {
			seen[o] = true
			all = append(all, o)
		}
	}
	for i := range runs {
		add(journal.OwnerIn{Namespace: runs[i].Namespace, Owner: runs[i].Owner})
	}
	for i := range omissions {
		add(journal.OwnerIn{Namespace: omissions[i].Namespace, Owner: omissions[i].Owner})
	}
	return all, err
}

// Tally is journal.Reader.Tally, of any source.
func Tally(ctx context.Context, s Source, q journal.Query, width time.Duration) ([]journal.Tally, error) {
	if c, ok := s.(counter); ok {
		return c.Tally(ctx, q, width)
	}
	q.Limit, q.LastTries = 0, true
	runs, err := s.Runs(ctx, q)
	return tallied(runs, q.From, width), err
}

// tallied counts runs as a journal does.
func tallied(runs []run.Run, from time.Time, width time.Duration) []journal.Tally {
	type key struct {
		owner   journal.OwnerIn
		cell    int
		outcome run.Outcome
	}
	all, index := []journal.Tally{}, map[key]int{}
	for i := range runs {
		r := &runs[i]
		k := key{owner: journal.OwnerIn{Namespace: r.Namespace, Owner: r.Owner}, outcome: r.Outcome}
		if width > 0 && !from.IsZero() {
			k.cell = int(r.Time().Sub(from) / width)
		}
		at, known := index[k]
		if !known {
			at = len(all)
			index[k] = at
			all = append(all, journal.Tally{OwnerIn: k.owner, Cell: k.cell, Outcome: k.outcome})
		}
		all[at].Count++
		if r.Time().After(all[at].Newest) {
			all[at].Newest = r.Time().UTC()
		}
	}
	return all
}

// Owners implements counter.
func (s *journalSource) Owners(ctx context.Context, q journal.Query) ([]journal.OwnerIn, error) {
	return s.reader.Owners(ctx, q)
}

// Tally implements counter. A journal that is late is not asked: what it lacks would be missing.
func (s *journalSource) Tally(ctx context.Context, q journal.Query, width time.Duration) ([]journal.Tally, error) {
	if s.isLate() {
		q.Limit, q.LastTries = 0, true
		runs, err := s.Runs(ctx, q)
		return tallied(runs, q.From, width), err
	}
	return s.reader.Tally(ctx, q, width)
}
