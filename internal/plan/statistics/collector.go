// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package statistics

import (
	"slices"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/run"
)

// Collector adds runs up, one after the other, in any order. It is for one goroutine. Of a run it keeps no more than
// the duration; of one that may be a try of several, how it ended, too, until Result.
type Collector struct {
	q      Query
	spans  []collectedSpan
	owners map[ownerKey]*collectedOwner
	last   int // the span of the run before: runs come in their order, mostly
	// tries are the last tries until now of scheduled times that may have several.
	tries tries
}

type collectedSpan struct {
	Span
	took []time.Duration
}

type ownerKey struct{ namespace, apiVersion, kind, name string }

type collectedOwner struct {
	Owner
	took   []time.Duration
	newest time.Time
}

// NewCollector makes one that answers a query.
func NewCollector(q Query) *Collector {
	return &Collector{q: q, spans: make([]collectedSpan, q.Spans()), owners: map[ownerKey]*collectedOwner{}, tries: newTries()}
}

// Add adds a run. One that the query does not choose is left out.
func (c *Collector) Add(r *run.Run) {
	at := c.span(r.Time())
	if at < 0 || c.q.Namespace != "" && r.Namespace != c.q.Namespace || c.q.OwnerKind != "" && r.Owner.Kind != c.q.OwnerKind {
		return
	}
	e := ended{span: int32(at), retry: int32(r.Retry), created: r.Created.UnixNano(), outcome: r.Outcome, took: -1}
	if r.Retrying || r.Outcome == run.Failed && c.q.Retrying != nil && c.q.Retrying(r) {
		e.outcome = run.Active
	}
	if measured(r) && e.outcome != run.Active {
		e.took = r.Duration(r.Ended)
	}
	if c.q.Owners && r.Owner.Name != "" {
		e.owner = c.owner(r)
		e.owner.add(r)
	}
	if !mayBeTriedAgain(r) {
		c.count(&e, r.Time())
		return
	}
	c.tries.add(r, e)
}

// count counts how a run ended, or the last try of several, which is of that time.
func (c *Collector) count(e *ended, at time.Time) {
	s := &c.spans[e.span]
	switch e.outcome {
	case run.Succeeded:
		s.Succeeded++
	case run.Failed:
		s.Failed++
	case run.Cancelled:
		s.Cancelled++
	case run.Unknown:
		s.Unknown++
	default:
		s.Active++
	}
	if e.took >= 0 && e.outcome == run.Succeeded {
		s.took = append(s.took, e.took)
	}
	if e.owner != nil {
		e.owner.count(e, at)
	}
}

// AddOmission adds scheduled times without a run; all of one omission belong to the span of its first.
func (c *Collector) AddOmission(o *run.Omission) {
	at := c.span(o.ScheduledTime)
	switch {
	case at < 0 || c.q.Namespace != "" && o.Namespace != c.q.Namespace || c.q.OwnerKind != "" && o.Owner.Kind != c.q.OwnerKind:
	case o.Missed:
		c.spans[at].Missed += max(1, o.Count)
	default:
		c.spans[at].Skipped += max(1, o.Count)
	}
}

// span gives the place of a time's span, -1 if it is in none.
func (c *Collector) span(t time.Time) int {
	b := c.q.Bounds
	if len(b) < 2 || t.Before(b[0]) || !t.Before(b[len(b)-1]) {
		return -1
	}
	if !t.Before(b[c.last]) && t.Before(b[c.last+1]) {
		return c.last
	}
	n, exact := slices.BinarySearchFunc(b, t, time.Time.Compare)
	if !exact {
		n--
	}
	for n+1 < len(b)-1 && b[n+1].Equal(b[n]) {
		n++ // an empty span has nothing
	}
	c.last = n
	return n
}

func (c *Collector) owner(r *run.Run) *collectedOwner {
	key := ownerKey{r.Namespace, r.Owner.APIVersion, r.Owner.Kind, r.Owner.Name}
	o := c.owners[key]
	if o == nil {
		o = &collectedOwner{Owner: Owner{Namespace: r.Namespace, Owner: r.Owner}}
		c.owners[key] = o
	}
	return o
}

// add adds what each try tells, also one that others followed.
func (o *collectedOwner) add(r *run.Run) {
	at := r.Time()
	if at.After(o.newest) {
		o.newest, o.Owner.Owner = at, r.Owner
	}
	o.Retries += retries(r)
	if late := r.Lateness(); late > 0 && r.Retry <= 1 && r.Trigger != run.Manual && (late > o.Latest || late == o.Latest && at.After(o.LatestAt)) {
		o.Latest, o.LatestAt = late, at
	}
}

// count counts how a run of that time ended.
func (o *collectedOwner) count(e *ended, at time.Time) {
	o.Runs++
	switch e.outcome {
	case run.Succeeded:
		o.Succeeded++
	case run.Failed:
		o.Failed++
	}
	if e.took < 0 {
		return
	}
	if e.outcome == run.Succeeded {
		o.took = append(o.took, e.took)
	}
	if e.took > o.Longest || e.took == o.Longest && at.After(o.LongestAt) {
		o.Longest, o.LongestAt = e.took, at
	}
}

// measured tells whether a run has a duration that says something of what it does.
func measured(r *run.Run) bool {
	return (r.Outcome == run.Succeeded || r.Outcome == run.Failed) && !r.Ended.IsZero() && !r.Begun().IsZero()
}

// retries is how often something was tried again with this run: it is a further one itself, or some of its Pods took
// the place of others.
func retries(r *run.Run) int {
	n := int(r.PodsFailed)
	if r.Outcome == run.Failed && n > 0 {
		n-- // nothing came after the last
	}
	if r.Retry > 1 {
		n++
	}
	return n
}

// Result gives what was added up. Nothing may be added after it.
func (c *Collector) Result() *Statistics {
	for key, e := range c.tries.last {
		c.count(&e, time.Unix(0, key.at).UTC())
	}
	c.tries = newTries()
	s := &Statistics{Spans: make([]Span, len(c.spans))}
	for n := range c.spans {
		span := &c.spans[n]
		slices.Sort(span.took)
		span.Median, span.Most95 = rank(span.took, 50), rank(span.took, 95)
		s.Spans[n] = span.Span
	}
	for _, o := range c.owners {
		slices.Sort(o.took)
		o.Median = rank(o.took, 50)
		s.Owners = append(s.Owners, o.Owner)
	}
	return s
}

// rank is the smallest duration that at least so many percent of the sorted ones do not exceed; 0 of none.
func rank(sorted []time.Duration, percent int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)*percent+99)/100-1]
}
