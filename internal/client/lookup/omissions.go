// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/client/cluster"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// cronJobKind is what all kinds of CronJob are called.
const cronJobKind = "CronJob"

// Omissions implements Source.
func (s *apiSource) Omissions(ctx context.Context, q journal.Query) ([]run.Omission, error) {
	if q.Name != "" || q.UID != "" || len(q.Outcomes) > 0 {
		return nil, nil // an omission has none of these
	}
	tables, err := s.timetables(ctx, s.scopeOf(&q))
	if err != nil {
		return nil, err
	}
	var found []run.Omission
	for _, t := range tables {
		if typed := t.Timetable(); typed != nil {
			found = append(found, run.OmissionsOf(typed, s.now())...)
		}
	}
	if q.OwnerKind == "" || q.OwnerKind == cronJobKind {
		told, err := s.toldByEvents(ctx, &q)
		if err != nil {
			return nil, err
		}
		found = append(found, told...)
	}
	found = slices.DeleteFunc(found, func(o run.Omission) bool { return !Omits(&q, &o) })
	slices.SortFunc(found, func(a, b run.Omission) int {
		return cmp.Or(b.ScheduledTime.Compare(a.ScheduledTime), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Owner.Name, b.Owner.Name))
	})
	if q.Limit > 0 && len(found) > q.Limit {
		found = found[:q.Limit]
	}
	return found, nil
}

// Omits tells whether a question is about an omission.
func Omits(q *journal.Query, o *run.Omission) bool {
	return (q.Namespace == "" || o.Namespace == q.Namespace) &&
		(q.OwnerKind == "" || o.Owner.Kind == q.OwnerKind) &&
		(q.OwnerName == "" || o.Owner.Name == q.OwnerName) &&
		(q.OwnerUID == "" || o.Owner.UID == q.OwnerUID) &&
		(len(q.OwnerUIDs) == 0 || slices.Contains(q.OwnerUIDs, o.Owner.UID)) &&
		Between(o.ScheduledTime, q) &&
		(q.EndedFrom.IsZero() || !o.Seen.Before(q.EndedFrom))
}

// toldByEvents are what events about CronJobs tell, each scheduled time once.
func (s *apiSource) toldByEvents(ctx context.Context, q *journal.Query) ([]run.Omission, error) {
	missed, err := s.events(ctx, q, run.EventMissed)
	if err != nil {
		return nil, err
	}
	overlaps, err := s.events(ctx, q, run.EventOverlap)
	if err != nil {
		return nil, err
	}
	if len(overlaps) > 0 {
		runs, err := s.read(ctx, s.scopeOf(q))
		if err != nil {
			return nil, err
		}
		overlaps = notStarted(overlaps, runs)
	}
	type named struct {
		owner types.UID
		at    time.Time
	}
	known := map[named]bool{}
	return slices.DeleteFunc(append(missed, overlaps...), func(o run.Omission) bool {
		k := named{o.Owner.UID, o.ScheduledTime}
		defer func() { known[k] = true }()
		return known[k]
	}), nil
}

// notStarted leaves the times that found an earlier run active and were not started later on: no run has them, and one
// of a later time is there.
func notStarted(overlaps []run.Omission, runs []run.Run) []run.Omission {
	started := map[types.UID]map[time.Time]bool{}
	latest := map[types.UID]time.Time{}
	for i := range runs {
		owner, at := runs[i].Owner.UID, runs[i].ScheduledTime
		if started[owner] == nil {
			started[owner] = map[time.Time]bool{}
		}
		started[owner][at] = true
		if at.After(latest[owner]) {
			latest[owner] = at
		}
	}
	return slices.DeleteFunc(overlaps, func(o run.Omission) bool {
		return started[o.Owner.UID][o.ScheduledTime] || !latest[o.Owner.UID].After(o.ScheduledTime)
	})
}

// events reads the events about CronJobs that have a reason, as far as they tell of scheduled times.
func (s *apiSource) events(ctx context.Context, q *journal.Query, reason string) ([]run.Omission, error) {
	selector := fields.Set{"involvedObject.kind": cronJobKind, "reason": reason}
	if q.OwnerName != "" {
		selector["involvedObject.name"] = q.OwnerName
	}
	var found []run.Omission
	for options := (metav1.ListOptions{Limit: cluster.PageSize, FieldSelector: selector.AsSelector().String()}); ; {
		page, err := s.client.CoreV1().Events(q.Namespace).List(ctx, options)
		if apierrors.IsForbidden(err) {
			s.leftOut("events", err)
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("list events: %w", err)
		}
		for i := range page.Items {
			if o, ok := run.OmissionOfEvent(&page.Items[i]); ok {
				found = append(found, o)
			}
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return found, nil
		}
		if len(found) >= s.most {
			s.limit("of events only " + quantity.Grouped(len(found)) + " were read")
			return found, nil
		}
	}
}
