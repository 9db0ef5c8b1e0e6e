// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind"
)

// cronJob says when the next run is due, once for each scheduled time and schedule. A CronJob that cannot be
// read has no next run; that is the controller's to tell.
func (f *Follower) cronJob(k kind.Kind, obj kind.Object) {
	owner, policy, state, err := k.Read(obj, kind.ReadOptions{Zone: time.Local})
	if err != nil {
		return
	}
	object := ObjectName(k.Info().Owner.Group, k.Info().Owner.Kind, owner.Namespace, owner.Name)
	due, zone, ok := next(owner, policy, state, f.opts.Now())
	f.mu.Lock()
	defer f.mu.Unlock()
	last, known := f.due[owner.UID]
	if known && last.Equal(due) {
		return
	}
	f.due[owner.UID] = due
	switch {
	case policy.Suspend:
		f.opts.Console.Print(console.Line{Type: console.Due, Object: object, Message: "is suspended"})
	case ok:
		f.opts.Console.Print(console.Line{Type: console.Due, Object: object, Due: &due, Message: zone})
	default:
		f.opts.Console.Print(console.Line{Type: console.Due, Object: object, Message: "has no next run; see its events: carillon kubectl describe " + resourceName(k.Info().Owner.Group, k.Info().Owner.Kind) + " " + owner.Name})
	}
}

func (f *Follower) forgetCronJob(uid types.UID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.due, uid)
}

// next is the scheduled time after now, and the time zone if the CronJob names one.
func next(owner cron.Owner, policy cron.Policy, state cron.Memory, now time.Time) (due time.Time, zone string, ok bool) {
	timing := policy.Timing
	if policy.Suspend || timing.Times == nil {
		return time.Time{}, "", false
	}
	from := now
	if timing.Every != 0 { // it goes on from the last one
		from = owner.Created
		if state.LastSchedule != nil {
			from = *state.LastSchedule
		}
		if last := timing.Times.LastBetween(from, now); !last.IsZero() {
			from = last
		}
	}
	if due = timing.Times.Next(from); due.IsZero() {
		return time.Time{}, "", false
	}
	loc := time.Local
	if timing.ZoneName != "" {
		loc = timing.Zone
	}
	return due.In(loc), timing.ZoneName, true
}
