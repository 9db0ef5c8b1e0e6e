// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import "time"

var ttlBelowHistory = &Rule{
	ID: "ttl-below-history", Level: Warning, Kinds: "CronJob, Timetable",
	Summary: "finished runs expire before the history limits say so",
	Reason:  "ttlSecondsAfterFinished removes a run whatever the history keeps: the last failure may be gone before anybody looks.",
	Cure:    "Take ttlSecondsAfterFinished out, and let the history limits decide; or raise it.",
	check: func(s *Subject) []problem {
		interval := s.starts.typical()
		if s.scheduled == nil || s.scheduled.Unreadable != nil || interval == 0 {
			return nil
		}
		kept := max(s.historyLimit("successful"), s.historyLimit("failed"))
		var found []problem
		for _, j := range s.jobs {
			ttl := j.spec.TTLSecondsAfterFinished
			if ttl == nil || *ttl == 0 || kept == 0 {
				continue
			}
			if stays := time.Duration(*ttl) * time.Second; stays < interval {
				found = append(found, one(j.path.and("ttlSecondsAfterFinished"), "a run is gone %s after its end and the next comes %s, so that a history of %d is never there", words(stays), each(interval), kept)...)
			}
		}
		return found
	},
}
