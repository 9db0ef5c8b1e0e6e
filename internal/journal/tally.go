// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/plan/run"
)

// OwnerIn is an owner in its namespace. Of Jobs that no schedule made the owner is the zero value.
type OwnerIn struct {
	Namespace string
	Owner     run.Owner
}

// Owners gives those of which a run, or an omission, is from q.From on and before q.Until, each once, in no order;
// without these times all that are remembered, at once. Of a query its namespace, owners, From and Until count. It
// looks at owners and not at runs, so that it is as fast where there are very many runs.
func (r *Reader) Owners(ctx context.Context, q Query) ([]OwnerIn, error) {
	all := []OwnerIn{}
	err := r.read(ctx, func(t *reading) error {
		var series, runs, omissions condition
		series.parts = []string{"TRUE"}
		q.addOwners(&series)
		runs.parts, omissions.parts = []string{"r.series = s.id"}, []string{"o.series = s.id"}
		q.addTimes(&runs, "r.time")
		q.addTimes(&omissions, "o.scheduled")
		query, args := "SELECT DISTINCT s.namespace, s.owner_api_version, s.owner_kind, s.owner_name, s.owner_uid FROM series s"+series.String(), series.values
		if !q.From.IsZero() || !q.Until.IsZero() {
			query += " AND (EXISTS (SELECT 1 FROM runs r" + runs.String() + ") OR EXISTS (SELECT 1 FROM omissions o" + omissions.String() + "))"
			args = append(append(args, runs.values...), omissions.values...)
		}
		return t.each(query, args, func(scan func(...any) error) error {
			var o OwnerIn
			var uid any
			if err := scan(&o.Namespace, &o.Owner.APIVersion, &o.Owner.Kind, &o.Owner.Name, &uid); err != nil {
				return err
			}
			o.Owner.UID = types.UID(unpack(uid))
			all = append(all, o)
			return nil
		})
	})
	return all, err
}

// Tally is how many runs of one owner have one outcome in one cell of time; of all tries of a scheduled time the last
// one.
type Tally struct {
	OwnerIn
	// Cell counts the cells from Query.From on, from 0.
	Cell    int
	Outcome run.Outcome
	Count   int
	// Newest is the greatest run.Run.Time among them. UTC.
	Newest time.Time
}

// Tally counts the chosen runs by owner, outcome and cells of time that have that width, the first of which begins at
// q.From. Without a width, or without q.From, all are in cell 0. Each scheduled time counts once, by its last try
// (Query.LastTries). q.Limit does not count. The order is none.
func (r *Reader) Tally(ctx context.Context, q Query, width time.Duration) ([]Tally, error) {
	all := []Tally{}
	err := r.read(ctx, func(t *reading) error {
		q.LastTries = true
		c := q.condition()
		cell, values := "0", []any{}
		if width > 0 && !q.From.IsZero() {
			cell, values = "(time - ?) / ?", []any{bound(q.From), int64(width)}
		}
		query := "SELECT series, " + cell + ", outcome, count(*), max(time) FROM runs" + c.String() + " GROUP BY 1, 2, 3"
		var series []any
		err := t.each(query, append(values, c.values...), func(scan func(...any) error) error {
			var one Tally
			var s, newest any
			var outcome int64
			if err := scan(&s, &one.Cell, &outcome, &one.Count, &newest); err != nil {
				return err
			}
			one.Outcome, one.Newest = outcomeOf(outcome), ofNanos(newest)
			all, series = append(all, one), append(series, s)
			return nil
		})
		if err != nil {
			return err
		}
		for i := range all {
			s, err := t.seriesOf(series[i])
			if err != nil {
				return err
			}
			all[i].Namespace, all[i].Owner = s.namespace, s.owner
		}
		return nil
	})
	return all, err
}
