// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"
)

// String gives the plan as text, a line per effect, with the reason of each. It is for people and for golden files;
// nothing reads it back.
func (p Plan) String() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	if p.Skip != "" {
		line("skip: %s", p.Skip)
	}
	if p.Verdict.Outcome != Undecided {
		stored := "found now"
		if p.Verdict.Stored {
			stored = "stored"
		}
		line("verdict: %s, %s: %s (%s)", p.Verdict.Outcome, p.Verdict.Reason, p.Verdict.Message, stored)
	}
	for _, ref := range p.Cleanup {
		line("remove finalizer of %s: nobody waits for it", ref.Name)
	}
	for _, ref := range p.Claim.Adopt {
		line("adopt %s", ref.Name)
	}
	for _, ref := range p.Claim.Release {
		line("release %s", ref.Name)
	}
	for _, d := range p.Delete {
		first := ""
		if d.Unfinalize {
			first = "remove finalizer and "
		}
		line("%sdelete %s: %s", first, d.Name, d.Why)
	}
	for _, c := range p.Create {
		line("create %s", c.Pod.Name)
	}
	writeEvents(line, p.Events)
	if p.RelistPods {
		line("read the pods anew: recorded ones are missing, and they may be older than the Job")
	}
	if p.sync != nil {
		writeWake(line, p.Wake, p.sync.now)
	}
	return b.String()
}

// String gives the status plan as text, as [Plan.String] gives the plan.
func (p StatusPlan) String() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	writeEvents(line, p.Events)
	if p.Write.Status != nil {
		how := "write"
		if p.Write.Urgency == UrgencyLazy {
			how = "write later"
		}
		if p.Write.Finished {
			how = "write the end"
		}
		line("%s: %s", how, statusText(p.Write.Status))
	}
	writeEvents(line, p.Write.Events)
	for _, ref := range p.Unfinalize {
		line("remove finalizer of %s", ref.Name)
	}
	return b.String()
}

func writeEvents(line func(string, ...any), events []Event) {
	for _, n := range events {
		line("event %s %s: %s", n.Type, n.Reason, n.Message)
	}
}

func writeWake(line func(string, ...any), wake, now time.Time) {
	if !wake.IsZero() {
		line("wake in %s", wake.Sub(now))
	}
}

func statusText(s *batchv1.JobStatus) string {
	parts := []string{fmt.Sprintf("active %d, ready %d, terminating %d, succeeded %d, failed %d",
		s.Active, ptr.Deref(s.Ready, 0), ptr.Deref(s.Terminating, 0), s.Succeeded, s.Failed)}
	if s.CompletedIndexes != "" {
		parts = append(parts, "completed "+s.CompletedIndexes)
	}
	if s.FailedIndexes != nil {
		parts = append(parts, fmt.Sprintf("failed indexes %q", *s.FailedIndexes))
	}
	if u := s.UncountedTerminatedPods; u != nil && len(u.Succeeded)+len(u.Failed) > 0 {
		parts = append(parts, fmt.Sprintf("uncounted %v %v", u.Succeeded, u.Failed))
	}
	if s.StartTime == nil {
		parts = append(parts, "not started")
	}
	for _, c := range s.Conditions {
		parts = append(parts, fmt.Sprintf("%s=%s(%s)", c.Type, c.Status, c.Reason))
	}
	return strings.Join(parts, ", ")
}
