// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind"
	"github.com/carillon-dev/carillon/internal/schedule"
)

// cronJob says when the next run is due, once for each scheduled time and schedule. A CronJob that cannot be
// read has no next run; that is the controller's to tell.
func (f *Follower) cronJob(k kind.Kind, obj kind.Object) {
	owner, spec, state, err := k.Read(obj)
	if err != nil {
		return
	}
	object := ObjectName(k.Info().Owner.Group, k.Info().Owner.Kind, owner.Namespace, owner.Name)
	due, zone, ok := next(owner, spec, state, f.opts.Now())
	f.mu.Lock()
	defer f.mu.Unlock()
	last, known := f.due[owner.UID]
	if known && last.Equal(due) {
		return
	}
	f.due[owner.UID] = due
	switch {
	case spec.Suspend:
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
func next(owner cron.Owner, spec cron.Spec, state cron.Status, now time.Time) (due time.Time, zone string, ok bool) {
	if spec.Suspend {
		return time.Time{}, "", false
	}
	loc := time.Local
	if spec.TimeZone != nil {
		var err error
		if loc, err = schedule.LoadZone(*spec.TimeZone); err != nil {
			return time.Time{}, "", false
		}
		zone = *spec.TimeZone
	}
	for _, text := range spec.Schedules {
		s, err := schedule.Parse(text, loc)
		if err != nil {
			return time.Time{}, "", false
		}
		from := now
		if _, every := s.Every(); every {
			anchor := owner.Created
			if state.LastSchedule != nil {
				anchor = *state.LastSchedule
			}
			if last := s.LastBetween(anchor, from); !last.IsZero() {
				anchor = last
			}
			from = anchor
		}
		if at := s.Next(from); !at.IsZero() && (due.IsZero() || at.Before(due)) {
			due = at.In(loc)
		}
	}
	return due, zone, !due.IsZero()
}
