// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"slices"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/ordering"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// Omitted are scheduled times of one object for which nothing was started, for one reason.
type Omitted struct {
	Object
	// Missed: they should have been started. Otherwise they were skipped, as the spec asks.
	Missed bool
	// Reason is one word, Message says the newest of them in a sentence.
	Reason, Message string
	// Count is how many times there are, First and Last are the first and the last of them.
	Count       int64
	First, Last time.Time
	// Deleted: the CronJob or Timetable is not there any more.
	Deleted bool
}

// pauses are the reasons for times that pass while an object is suspended or paused.
var pauses = []string{"Suspended", "Paused"}

// missed groups omissions by object and reason: first those that should not have been, and of these the newest. Those
// of what is paused now are left out: the pause is told.
func missed(in *Input, paused []Paused) []Omitted {
	quiet := map[Object]bool{}
	for _, p := range paused {
		quiet[Object{Namespace: p.Namespace, Reference: p.Reference}] = true
	}
	type key struct {
		namespace, reference, reason string
		missed                       bool
	}
	groups := map[key]*Omitted{}
	var order []key
	for i := range in.Omissions {
		o := &in.Omissions[i]
		object := Object{o.Namespace, reference(o.Owner.Kind, o.Owner.Name), o.Owner.UID}
		if slices.Contains(pauses, o.Reason) && quiet[Object{Namespace: object.Namespace, Reference: object.Reference}] {
			continue
		}
		k := key{object.Namespace, object.Reference, o.Reason, o.Missed}
		last := lastOf(o)
		g := groups[k]
		if g == nil {
			g = &Omitted{Object: object, Missed: o.Missed, Reason: o.Reason, Message: o.Message, First: o.ScheduledTime, Last: last}
			groups[k] = g
			order = append(order, k)
		}
		g.Count += max(1, o.Count)
		if o.ScheduledTime.Before(g.First) {
			g.First = o.ScheduledTime
		}
		if last.After(g.Last) {
			g.Last, g.Message = last, o.Message
		}
	}
	there := map[Object]bool{}
	for _, s := range in.Schedules {
		o := objectOfSchedule(s)
		there[Object{Namespace: o.Namespace, Reference: o.Reference}] = true
	}
	all := make([]Omitted, 0, len(order))
	for _, k := range order {
		g := groups[k]
		g.Deleted = in.Served && !there[Object{Namespace: g.Namespace, Reference: g.Reference}]
		all = append(all, *g)
	}
	slices.SortStableFunc(all, func(a, b Omitted) int {
		return cmp.Or(-ordering.Bools(a.Missed, b.Missed), b.Last.Compare(a.Last), compareObjects(a.Object, b.Object), cmp.Compare(a.Reason, b.Reason))
	})
	return all
}

func lastOf(o *run.Omission) time.Time {
	if o.Until.After(o.ScheduledTime) {
		return o.Until
	}
	return o.ScheduledTime
}
