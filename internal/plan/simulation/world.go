// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/plan/ordering"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// world is one object, its children and the controller on a virtual clock.
type world struct {
	options Options
	result  *Result
	traits  *cron.KindTraits
	now     time.Time

	// version is the one that the server has, and typed, owner, policy and stored are what it says; unreadable: no
	// controller can read it.
	version    *workload.Scheduled
	typed      adapter.Object
	owner      cron.Owner
	policy     cron.Policy
	stored     cron.Memory
	unreadable bool
	// chance is what the chance of this object depends on.
	chance uint64

	// carried is what the process of the controller remembers; down: there is none. wake is when it looks again by itself,
	// retryAt when it repeats a sync that failed, and failures how many did in a row; zero times are never.
	carried       cron.Memory
	down          bool
	wake, retryAt time.Time
	failures      int
	// stepwise: each step is followed by another decision, as in the controller. Otherwise one decision stands for all
	// steps that go well, which is three times as fast; a test holds the two against each other.
	stepwise bool
	// stopped: nobody wants to know any more.
	stopped bool

	// children are those on the server, by name. It is replaced and never changed: decisions hold it.
	children []cron.Child
	agenda   agenda
	mould    mould
	// runs says of which run a child is the newest attempt, and open which entry of Result.Runs is that of a scheduled
	// time that has not ended.
	runs map[types.UID]time.Time
	open map[int64]int
	// waiting are the times that wait, and hindrance and pause why nothing starts, "" if nothing keeps it.
	waiting          []Waiting
	hindrance, pause string

	// told is the latest scheduled time of which it was told that it does not start.
	told time.Time

	edits []Edit
}

func newWorld(object *workload.Scheduled, options Options) *world {
	info := object.Kind.Info()
	traits := *info.Traits
	traits.TrustStamp = true // all children are made here: names need not prove what stamps say
	span := Span{options.From, options.To}
	w := &world{
		options: options, traits: &traits, now: options.From,
		result: &Result{Object: object, Span: span},
		owner:  object.Owner, stored: object.Memory,
		chance: hashed(info.Name, object.Owner.Namespace, object.Owner.Name),
		runs:   map[types.UID]time.Time{}, open: map[int64]int{},
	}
	for _, s := range Merged(options.Outages) {
		s.From, s.To = ordering.Later(s.From, span.From), ordering.Earlier(s.To, span.To)
		if s.To.After(s.From) {
			w.result.Outages = append(w.result.Outages, s)
		}
	}
	for _, e := range options.Edits {
		if Same(e.Object, object) && span.Contains(e.At) {
			w.edits = append(w.edits, e)
		}
	}
	slices.SortStableFunc(w.edits, func(a, b Edit) int { return a.At.Compare(b.At) })
	w.begin(object)
	return w
}

// begin sets the object up: as it is, or as it would be right after somebody had created it.
func (w *world) begin(object *workload.Scheduled) {
	o := &w.owner
	if o.UID == "" {
		o.UID = types.UID(o.Namespace + "/" + o.Name)
	}
	o.Generation = max(1, o.Generation)
	if !w.options.KeepStatus || o.Created.IsZero() {
		// A scheduled time counts if it is later than the creation: so that one at From counts, the object is a bit older.
		// One that has no times but at a distance from its creation is not.
		o.Created = w.options.From.Add(-time.Second).UTC()
		if object.Policy.Timing.Every != 0 {
			o.Created = w.options.From.UTC()
		}
	}
	if !w.options.KeepStatus {
		w.stored, o.Deleting, o.Generation, o.ScheduleUnchangedSince = cron.Memory{}, false, 1, time.Time{}
		w.now = o.Created
	}
	w.serve(object)
	if w.options.KeepStatus {
		w.meetChildren()
	}
}

// run lets time go by until the end of the span.
func (w *world) run() {
	outages := w.result.Outages
	for pending := true; ; {
		if len(outages) > 0 && !w.now.Before(outages[0].From) && !w.down {
			// The process ends, and with it what it remembers.
			w.down, w.carried, w.wake, w.retryAt, w.failures = true, cron.Memory{}, time.Time{}, time.Time{}, 0
		}
		if w.down && !w.now.Before(outages[0].To) {
			w.down, outages, pending = false, outages[1:], true
		}
		for at := w.agenda.next(); !at.IsZero() && !at.After(w.now); at = w.agenda.next() {
			w.happens(w.agenda.take())
			pending = true
		}
		for len(w.edits) > 0 && !w.edits[0].At.After(w.now) {
			w.edit(w.edits[0])
			w.edits, pending = w.edits[1:], true
		}
		if !w.down && !w.unreadable && (pending || isDue(w.wake, w.now) || isDue(w.retryAt, w.now)) {
			w.sync()
		}
		pending = false

		next := first(w.wake, w.retryAt, w.agenda.next())
		if len(w.edits) > 0 {
			next = first(next, w.edits[0].At)
		}
		switch {
		case w.down:
			next = first(next, outages[0].To)
		case len(outages) > 0:
			next = first(next, outages[0].From)
		}
		if next.IsZero() || !next.Before(w.options.To) || w.stopped {
			break
		}
		w.now = ordering.Later(next, w.now)
	}
	w.result.Waiting = w.waiting
	w.result.Held, w.result.Hindrance = w.held(), w.hindrance
	w.noteExcluded()
}

func isDue(at, now time.Time) bool { return !at.IsZero() && !at.After(now) }

// first is the first of some instants, of which zero is none.
func first(instants ...time.Time) (first time.Time) {
	for _, at := range instants {
		if first.IsZero() || !at.IsZero() && at.Before(first) {
			first = at
		}
	}
	return first
}
