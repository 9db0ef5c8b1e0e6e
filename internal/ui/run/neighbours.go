// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"time"

	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// neighbours finds the runs of the same scheduled time, and those before and after it.
func (h *handlers) neighbours(ctx context.Context, k *known) error {
	r := &k.run
	of := journal.Query{Namespace: r.Namespace, OwnerKind: r.Owner.Kind, OwnerName: r.Owner.Name, OwnerUID: r.Owner.UID}
	at := r.Time()
	if due := k.due(); !due.IsZero() {
		q := of
		q.From, q.Until = due, due.Add(1)
		same, err := h.site.Source.Runs(ctx, q)
		if err != nil {
			return err
		}
		for _, group := range run.Times(same) {
			for i := range group {
				if group[i].UID == r.UID || r.ScheduledTime.IsZero() && group[i].ScheduledTime.Equal(due) {
					k.tries = group
					break
				}
			}
		}
		if k.schedule != nil {
			k.tries = k.schedule.MarkRetrying(k.tries)
		}
		k.fault("its repetitions by hand", h.repetitions(ctx, k))
	}
	q := of
	q.Until, q.Limit = at, 1
	before, err := h.site.Source.Runs(ctx, q)
	if err != nil {
		return err
	}
	if len(before) > 0 {
		k.previous = &before[0]
	}
	k.next, err = h.firstAfter(ctx, of, at, h.site.Clock())
	return err
}

// firstAfter is the first run after a time. A source gives the newest ones first, so it is looked for in spans that
// grow.
func (h *handlers) firstAfter(ctx context.Context, of journal.Query, at, now time.Time) (*run.Run, error) {
	from := at.Add(1)
	for length := time.Minute; ; length *= 2 {
		q := of
		q.From, q.Until = from, from.Add(length)
		if last := q.Until.After(now); last {
			q.Until = time.Time{}
		}
		found, err := h.site.Source.Runs(ctx, q)
		if err != nil {
			return nil, err
		}
		if len(found) > 0 {
			return &found[len(found)-1], nil
		}
		if q.Until.IsZero() {
			return nil, nil
		}
		from = q.Until
	}
}
