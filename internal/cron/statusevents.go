// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// skipped reports the times that this sync turned away as the user asked, where the kind speaks of them: not
// of those that he took out, or paused, himself.
func (s *syncState) skipped() []Event {
	in, reason := s.in, s.in.Traits.Events.Skipped
	if reason == (EventReason{}) || s.resultsUnwritten() {
		return nil
	}
	var all passed
	var why Reason
	for _, o := range s.outcomes.named {
		switch o.Reason {
		case NotStartedSuspended, NotStartedPaused, NotStartedExcluded:
			continue
		}
		if o.Result == Skipped {
			all, why = all.and(passed{count: o.Count, first: o.First, last: o.Last}), o.Reason
		}
	}
	if all.count == 0 {
		return nil
	}
	what := fmt.Sprintf("The scheduled time %s was skipped", stamp(in, all.last))
	if all.count > 1 {
		what = fmt.Sprintf("%d scheduled times were skipped, the last is %s", all.count, stamp(in, all.last))
	}
	return []Event{reason.event("", "%s, reason %s", what, in.Traits.reasonWord(why))}
}

// resultsUnwritten tells whether the status was to hold what became of scheduled times, and could not be written: the sync
// that writes it reports them (timetable.md 8).
func (s *syncState) resultsUnwritten() bool {
	return s.in.Traits.Durable.Has(PartResults) && s.in.done.record != nil && s.in.done.record.err != nil
}

// started reports the runs that have begun, where the status holds what becomes of them: those that an earlier sync could
// not record (adopted), or those of this one.
func (s *syncState) started(adopted bool) (events []Event) {
	if !s.in.Traits.Durable.Has(PartResults) || s.resultsUnwritten() {
		return nil
	}
	for _, o := range s.outcomes.named {
		if o.Result == Started && slices.ContainsFunc(s.proved, o.First.Equal) == adopted {
			events = append(events, created(s.in, childName(s.in, o.First), o.First))
		}
	}
	return events
}

// missed reports the times that this sync missed.
func (s *syncState) missed() []Event {
	if len(s.outcomes.reported) == 0 || s.resultsUnwritten() {
		return nil
	}
	return []Event{notStarted(s.in, s.outcomes.reported)}
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

// runEvents reports how runs have ended, and which attempts are repeated, where the kind speaks of that.
func (s *syncState) runEvents() (events []Event) {
	in, reasons := s.in, &s.in.Traits.Events
	if s.resultsUnwritten() {
		return nil
	}
	for _, o := range s.observed.ended {
		var reason EventReason
		switch o.Result {
		case Succeeded:
			reason = reasons.RunSucceeded
		case RunFailed:
			reason = reasons.RunFailed
		case Cancelled:
			reason = reasons.RunCancelled
		}
		if reason == (EventReason{}) {
			continue
		}
		text := fmt.Sprintf("The run %s of %s has ended: %s", o.Run, stamp(in, o.First), o.Result)
		if o.Reason != "" {
			text += ", reason " + in.Traits.reasonWord(o.Reason)
		}
		if o.Attempts > 1 {
			text += fmt.Sprintf(", after %d attempts", o.Attempts)
		}
		events = append(events, reason.event(dedupKey("ended", o.Run, o.Attempts, o.First), "%s", text))
	}
	for _, run := range s.status.Active {
		if run.RetryAt != nil && reasons.RunRetrying != (EventReason{}) {
			events = append(events, reasons.RunRetrying.event(dedupKey("retrying", run.Name), "Attempt %d of the run of %s has failed, the next one starts at %s",
				run.Attempt, stamp(in, run.Time), stamp(in, *run.RetryAt)))
		}
	}
	return events
}
