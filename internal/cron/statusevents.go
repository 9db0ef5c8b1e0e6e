// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// skipped reports the times that this sync turned away as the user asked, where the kind speaks of them.
func (s *syncState) skipped() []Event {
	in, reason := s.in, s.in.Traits.Events.Skipped
	if reason == (EventReason{}) {
		return nil
	}
	var all passed
	var why Reason
	for _, o := range s.outcomes.named {
		if o.Result == Skipped && o.Reason != NotStartedSuspended {
			all, why = all.and(passed{count: o.Count, first: o.First, last: o.Last}), o.Reason
		}
	}
	if all.count == 0 {
		return nil
	}
	return []Event{reason.event("", "%d scheduled times were skipped, the last is %s, reason %s", all.count, stamp(in, all.last), why)}
}

// conditionEvents reports the conditions that have become True with the status write of this sync.
func (s *syncState) conditionEvents() (events []Event) {
	if len(s.in.Traits.ConditionEvents) == 0 || s.in.done.record == nil || s.in.done.record.err != nil {
		return nil
	}
	for _, c := range s.status.Conditions {
		was := slices.ContainsFunc(s.in.Stored.Conditions, func(b metav1.Condition) bool { return b.Type == c.Type && b.Status == metav1.ConditionTrue })
		if reason, told := s.in.Traits.ConditionEvents[c.Type]; told && c.Status == metav1.ConditionTrue && !was {
			events = append(events, reason.event("", "%s", c.Message))
		}
	}
	return events
}
