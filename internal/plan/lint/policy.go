// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"slices"
	"time"

	"github.com/carillon-dev/carillon/api/v1alpha1"
)

// overlap is what becomes of a time at which a run is active still: "Allow", "Forbid", "Replace", or "Queue" of a
// Timetable; "" for what has no schedule, or one that cannot be read.
func (s *Subject) overlap() string {
	switch {
	case s.scheduled == nil || s.scheduled.Unreadable != nil:
		return ""
	case s.timetable != nil:
		if policy := s.timetable.Spec.Concurrency.Policy; policy != "" {
			return string(policy)
		}
		return string(v1alpha1.ForbidConcurrent)
	}
	if policy := s.text("spec", "concurrencyPolicy"); policy != "" {
		return policy
	}
	return "Allow"
}

// overlapPath is where that is written.
func (s *Subject) overlapPath() Path {
	if s.timetable != nil {
		return at("spec", "concurrency", "policy")
	}
	return at("spec", "concurrencyPolicy")
}

// longest is how long a run may take: activeDeadlineSeconds of its Job, or the timeout of a Timetable if that is less;
// 0 if nothing ends it.
func (s *Subject) longest() time.Duration {
	longest := time.Duration(0)
	for _, j := range s.jobs {
		if d := j.spec.ActiveDeadlineSeconds; d != nil && *d > 0 && *d < maxSeconds {
			longest = max(longest, time.Duration(*d)*time.Second)
		}
	}
	if s.timetable != nil && s.timetable.Spec.Timeout != nil {
		if d, err := time.ParseDuration(string(*s.timetable.Spec.Timeout)); err == nil && d > 0 && (longest == 0 || d < longest) {
			longest = d
		}
	}
	return longest
}

// deadlineWritten tells whether activeDeadlineSeconds stands in a Job, whatever it is.
func (s *Subject) deadlineWritten() bool {
	return slices.ContainsFunc(s.jobs, func(j jobSpec) bool { return j.spec.ActiveDeadlineSeconds != nil })
}

// maxSeconds is more than anybody means, and less than a Duration holds.
const maxSeconds = 1 << 32

// deadlineCure says how a run is ended that takes too long.
func (s *Subject) deadlineCure() string {
	if s.timetable != nil {
		return "Write spec.timeout, such as 1h: longer than a healthy run takes."
	}
	return "Write spec.jobTemplate.spec.activeDeadlineSeconds: longer than a healthy run takes."
}

// deadlinePath is where what ends a run is, or would be, written.
func (s *Subject) deadlinePath() Path {
	for _, j := range s.jobs {
		if j.spec.ActiveDeadlineSeconds != nil {
			return j.path.and("activeDeadlineSeconds")
		}
	}
	if s.timetable != nil {
		return at("spec", "timeout")
	}
	return at("spec", "jobTemplate", "spec", "activeDeadlineSeconds")
}

// endsRuns tells whether it is known what would end a run that hangs: Jobs of batch/v1 have such a limit, and a
// Timetable has one for all kinds.
func (s *Subject) endsRuns() bool { return s.timetable != nil || s.isBatchJob() }

// historyLimit is how many finished runs of a class are kept: class is "successful" or "failed".
func (s *Subject) historyLimit(class string) int64 {
	if s.timetable == nil {
		limit := map[string]int64{"successful": 3, "failed": 1}[class]
		if n, written := s.number("spec", class+"JobsHistoryLimit"); written {
			limit = n
		}
		return limit
	}
	retention := s.timetable.Spec.History.Succeeded
	if class == "failed" {
		retention = s.timetable.Spec.History.Failed
	}
	if retention.Limit == nil {
		return 3
	}
	return int64(*retention.Limit)
}

// historyPath is where that is written.
func (s *Subject) historyPath(class string) Path {
	switch {
	case s.timetable == nil:
		return at("spec", class+"JobsHistoryLimit")
	case class == "failed":
		return at("spec", "history", "failed", "limit")
	}
	return at("spec", "history", "succeeded", "limit")
}
