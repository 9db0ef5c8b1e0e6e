// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/statistics"
)

// Statistics adds runs and omissions up. It reads a few numbers of each run in its spans, and keeps no more of it than
// how it ended: a hundred thousand take about half a second.
func (r *Reader) Statistics(ctx context.Context, q statistics.Query) (*statistics.Statistics, error) {
	c := statistics.NewCollector(q)
	if q.Spans() == 0 {
		return c.Result(), nil
	}
	err := r.read(ctx, func(t *reading) error {
		of, err := t.allSeries(&q)
		if err != nil {
			return err
		}
		if err := t.collectRuns(c, &q, of); err != nil {
			return err
		}
		return t.collectOmissions(c, &q, of)
	})
	if err != nil {
		return nil, err
	}
	return c.Result(), nil
}

// chosen is the WHERE of what a query is about, by a column with its time.
func chosen(q *statistics.Query, column string, c *condition) {
	narrow := Query{Namespace: q.Namespace, OwnerKind: q.OwnerKind, From: q.Bounds[0], Until: q.Bounds[len(q.Bounds)-1]}
	narrow.addSeries(c)
	narrow.addTimes(c, column)
}

// collectRuns adds the runs of a query up. Its columns are as few as tell what is asked: to take them from the database
// is what takes the time.
func (t *reading) collectRuns(into *statistics.Collector, q *statistics.Query, of map[int64]seriesKey) error {
	c := condition{parts: []string{"series IS NOT NULL"}}
	chosen(q, "time", &c)
	columns := "series, scheduled, created, started, ended, outcome, completions, first, last, well, retry"
	if q.Owners {
		columns += ", failed, trigger = 'Manual' OR trigger = (SELECT id FROM words WHERE text = 'Manual')"
	}
	var series, scheduled, created, started, ended, outcome, completions, first, last, well, retry, failed, manual any
	to := []any{&series, &scheduled, &created, &started, &ended, &outcome, &completions, &first, &last, &well, &retry, &failed, &manual}
	if !q.Owners {
		to = to[:11]
	}
	return t.each("SELECT "+columns+" FROM runs"+c.String(), c.values, func(scan func(...any) error) error {
		if err := scan(to...); err != nil {
			return err
		}
		s := of[numberOf(series)]
		r := run.Run{Namespace: s.namespace, Owner: s.owner, Retry: int(numberOf(retry)), Outcome: outcomeOf(numberOf(outcome)),
			ScheduledTime: ofNanos(scheduled), Created: ofNanos(created), Started: ofNanos(started), Ended: ofNanos(ended),
			Completions: count32(completions), PodsFailed: count32(failed)}
		if numberOf(manual) != 0 {
			r.Trigger = run.Manual
		}
		r.Refine(spanOf(first, last, well))
		into.Add(&r)
		return nil
	})
}

func (t *reading) collectOmissions(into *statistics.Collector, q *statistics.Query, of map[int64]seriesKey) error {
	var c condition
	chosen(q, "scheduled", &c)
	return t.each("SELECT series, scheduled, count, missed FROM omissions"+c.String(), c.values, func(scan func(...any) error) error {
		var series, scheduled, missed any
		var o run.Omission
		if err := scan(&series, &scheduled, &o.Count, &missed); err != nil {
			return err
		}
		s := of[numberOf(series)]
		o.ScheduledTime, o.Missed, o.Namespace, o.Owner = ofNanos(scheduled), numberOf(missed) != 0, s.namespace, s.owner
		into.AddOmission(&o)
		return nil
	})
}

// allSeries gives the series that a query is about. They are read at once: runs name one after the other.
func (t *reading) allSeries(q *statistics.Query) (map[int64]seriesKey, error) {
	var c condition
	if q.Namespace != "" {
		c.add("namespace = ?", q.Namespace)
	}
	if q.OwnerKind != "" {
		c.add("owner_kind = ?", q.OwnerKind)
	}
	all := map[int64]seriesKey{}
	err := t.each("SELECT id, namespace, owner_api_version, owner_kind, owner_name, owner_uid FROM series"+c.String(), c.values, func(scan func(...any) error) error {
		var id int64
		var k seriesKey
		var uid any
		if err := scan(&id, &k.namespace, &k.owner.APIVersion, &k.owner.Kind, &k.owner.Name, &uid); err != nil {
			return err
		}
		k.owner.UID = types.UID(unpack(uid))
		all[id] = k
		return nil
	})
	return all, err
}
