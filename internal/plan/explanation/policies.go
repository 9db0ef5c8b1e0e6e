// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package explanation

// The topics of policies, in their order.
const (
	topicOverlap = "overlap"
	topicOutage  = "outage"
	topicFailure = "failure"
	topicSuspend = "suspend"
	topicEdit    = "edit"
	topicHistory = "history"
)

// policies say what becomes of runs.
func (s *subject) policies() []Policy {
	switch {
	case s.scheduled != nil && s.scheduled.Unreadable != nil:
		return []Policy{}
	case s.timetable != nil:
		return s.timetablePolicies()
	case s.scheduled != nil:
		return s.cronJobPolicies()
	case s.asTimetable:
		return timetableChoices()
	}
	return cronJobChoices()
}

// cronJobChoices are what a CronJob may choose of, for a schedule without an object.
func cronJobChoices() []Policy {
	return []Policy{
		{topicOverlap, "concurrencyPolicy: Allow (the default)", "Each time starts a run, whatever still runs."},
		{topicOverlap, "concurrencyPolicy: Forbid", "Never two at once. A time that comes while a run is busy waits, and starts late when that ends; if more come meanwhile only the newest does."},
		{topicOverlap, "concurrencyPolicy: Replace", "The busy run is deleted, and the new one starts at once."},
		{topicOutage, "startingDeadlineSeconds", "After an outage the latest missed time starts, once, unless it is later than this deadline; without one however late it is."},
	}
}

// timetableChoices are the same for a schedule that only a Timetable takes.
func timetableChoices() []Policy {
	return []Policy{
		{topicOverlap, "concurrency.policy: Forbid (the default)", forbidWords},
		{topicOverlap, "concurrency.policy: Queue", "Times that come while a run is busy wait in line, up to queueLimit (10)."},
		{topicOverlap, "concurrency.policy: Replace", "The busy run is stopped, and the new one starts when it is gone."},
		{topicOverlap, "concurrency.policy: Allow", "Each time starts a run, whatever still runs, up to 100 at once."},
		{topicOutage, "catchUp.policy", "After an outage Latest (the default) starts the latest missed time, All the newest of them (10) in order, None none."},
	}
}
