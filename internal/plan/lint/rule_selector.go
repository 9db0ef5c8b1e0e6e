// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

var selector = &Rule{
	ID: "selector", Level: Error, Kinds: "CronJob, Timetable, Job",
	Summary: "a selector is written where Kubernetes makes it",
	Reason:  "The API server gives each Job labels and a selector of its own, and refuses another one; with manualSelector two Jobs may count each other's Pods.",
	Cure:    "Take selector and manualSelector out.",
	check: eachJob(func(s *Subject, j *jobSpec) []problem {
		manual := j.spec.ManualSelector != nil && *j.spec.ManualSelector
		switch {
		case j.alone && s.has("metadata", "uid"): // as a server shows it
			return nil
		case !j.alone && j.spec.Selector != nil:
			return one(j.path.and("selector"), "a template cannot have a selector: each Job gets one of its own")
		case !j.alone && manual:
			return one(j.path.and("manualSelector"), "a template cannot have manualSelector: true")
		case j.alone && j.spec.Selector != nil && !manual:
			return one(j.path.and("selector"), "a selector is refused without manualSelector: true, and is not needed")
		}
		return nil
	}),
}
