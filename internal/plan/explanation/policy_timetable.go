// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package explanation

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/plan/paragraph"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
	"github.com/carillon-dev/carillon/internal/plan/words"
)

// forbidWords are those of timetable.md 14.1.
const forbidWords = "Never two at once; the newest time waits and starts when the other ends; to skip it, use Queue with queueLimit: 0."

func (s *subject) timetablePolicies() []Policy {
	return []Policy{s.overlap(), s.outage(), s.timetableFailure(), s.suspend(), s.edit(), s.history()}
}

func (s *subject) overlap() Policy {
	room := s.scheduled.Policy.Room
	policy := cmp.Or(string(s.timetable.Spec.Concurrency.Policy), "Forbid")
	p := Policy{Topic: topicOverlap, Setting: "concurrency.policy: " + policy}
	atMost := "never two at once"
	if room.Limit > 1 && policy != "Allow" {
		p.Setting += fmt.Sprintf(", limit: %d", room.Limit)
		atMost = fmt.Sprintf("never more than %d at once", room.Limit)
	}
	switch {
	case policy == "Allow":
		p.Words = "Each time starts a run, whatever still runs, up to 100 at once. Above that the newest time waits."
	case room.Stops:
		p.Words = paragraph.Capital(atMost) + ": the oldest busy run of the schedule is stopped (Cancelled, which is no failure), and the new one starts when it is gone. Runs " +
			"started by hand are not stopped; the new one waits for them."
	case room.Queues && room.WaitLimit == 0:
		p.Setting += ", queueLimit: 0"
		p.Words = paragraph.Capital(atMost) + ": a time that comes while there is no room is skipped (QueueFull)."
	case room.Queues:
		p.Setting += fmt.Sprintf(", queueLimit: %d", room.WaitLimit)
		p.Words = fmt.Sprintf("%s: times wait in line, up to %d, and start in their order when there is room. One that finds the line full is skipped (QueueFull).",
			paragraph.Capital(atMost), room.WaitLimit)
	case room.Limit > 1:
		p.Words = paragraph.Capital(atMost) + "; the newest time waits and starts when one ends, an older one that waited is skipped (Superseded)."
	default:
		p.Words = forbidWords + " An older time that waited is skipped (Superseded)."
	}
	return p
}

func (s *subject) outage() Policy {
	policy := s.scheduled.Policy
	catchUp := cmp.Or(policy.CatchUp.Policy, cron.CatchUpLatest)
	p := Policy{Topic: topicOutage, Setting: "catchUp.policy: " + string(catchUp)}
	deadline, set := s.deadline()
	late := ", however late it is"
	if set {
		p.Setting += ", startingDeadline: " + string(*s.timetable.Spec.StartingDeadline)
		late = ", if it is less than " + words.Duration(deadline) + " late"
	}
	switch catchUp {
	case cron.CatchUpNone:
		p.Words = "What came due while nobody served it is lost (Missed): nothing is made up that is more than a minute late."
	case cron.CatchUpAll:
		p.Setting += fmt.Sprintf(", limit: %d", policy.CatchUp.Limit)
		p.Words = fmt.Sprintf("The times that passed while nobody served it are made up in their order, the newest %d of them%s; older ones are lost (Missed).",
			policy.CatchUp.Limit, strings.Replace(late, "it is", "they are", 1))
	default:
		p.Words = "Of the times that passed while nobody served it the latest starts, once" + late + "; the others are lost (Missed)."
	}
	return p
}

func (s *subject) timetableFailure() Policy {
	policy := s.scheduled.Policy
	kind := cmp.Or(s.timetable.Spec.Template.Kind, "Job")
	p := Policy{Topic: topicFailure, Setting: "no retry"}
	var b strings.Builder
	if kind == "Job" {
		p.Setting = s.jobSetting() + ", no retry"
		b.WriteString(s.jobFailure())
	} else {
		fmt.Fprintf(&b, "How a %s tries again is its own affair.", kind)
	}
	if policy.Timeout > 0 {
		fmt.Fprintf(&b, " An attempt that takes longer than %s (timeout) is stopped and has failed.", words.Duration(policy.Timeout))
	}
	if r := policy.Retry; r.Limit > 0 {
		p.Setting = strings.Replace(p.Setting, "no retry", fmt.Sprintf("retry.limit: %d", r.Limit), 1)
		fmt.Fprintf(&b, " A run whose attempt has failed starts anew up to %s, after %s at first and %s at most; between attempts it keeps its place, so the next time waits.",
			quantity.Count(r.Limit, "time"), words.Duration(r.Delay), words.Duration(r.MaxDelay))
		if limit, indexed := s.perIndex(); kind == "Job" && indexed && limit > 0 {
			fmt.Fprintf(&b, " Together that is up to %d Pods for each index of a run: with retry write backoffLimitPerIndex: 0.", (limit+1)*int64(r.Limit+1))
		} else if limit, _ := s.backoffLimit(); kind == "Job" && !indexed && limit > 0 {
			fmt.Fprintf(&b, " Together that is up to %d Pods for one run: with retry write backoffLimit: 0.", (limit+1)*int64(r.Limit+1))
		}
	}
	if n := policy.PauseAfterFailures; n > 0 {
		p.Setting += fmt.Sprintf(", pauseAfterFailures: %d", n)
		fmt.Fprintf(&b, " After %s in a row it pauses: nothing starts until a run succeeds, the spec changes, or somebody sets the annotation carillon.dev/resume.", quantity.Count(n, "failed run"))
	} else {
		b.WriteString(" The next time starts as ever, however many have failed (pauseAfterFailures is not set).")
	}
	p.Words = b.String()
	return p
}

func (s *subject) suspend() Policy {
	policy := s.scheduled.Policy
	p := Policy{Topic: topicSuspend, Setting: "onResume: Skip"}
	after := "The times that pass meanwhile are skipped: nothing is made up afterwards."
	if policy.CatchUpOnResume {
		p.Setting = "onResume: CatchUp"
		after = "The times that pass meanwhile are made up afterwards, as after an outage."
	}
	if s.paused() {
		after = "It is paused, because too many runs in a row have failed: nothing starts until the annotation carillon.dev/resume gets another value, " +
			"the spec changes, or a run succeeds. " + after
	}
	switch {
	case policy.Suspend:
		p.Setting = "suspend: true, " + p.Setting
		p.Words = "Nothing starts now; runs that are busy go on. " + after
	case policy.SuspendUntil != nil && policy.SuspendUntil.After(s.now):
		p.Setting = "suspendUntil: " + policy.SuspendUntil.UTC().Format(time.RFC3339) + ", " + p.Setting
		p.Words = "Nothing starts until " + s.at(*policy.SuspendUntil) + "; runs that are busy go on. " + after
	default:
		p.Words = "While it is suspended or paused nothing starts, and runs that are busy go on. " + after
	}
	return p
}

func (s *subject) edit() Policy {
	return Policy{topicEdit, "a change of the timing",
		"It counts from the moment of the change on, and never starts a run for a time before. A time that waits stays only if the new timing " +
			"names it, too. Runs that are busy go on. A change of the template is for attempts that start later."}
}

func (s *subject) history() Policy {
	policy := s.scheduled.Policy
	keep := func(r cron.Retention) string {
		text := newest(r.Limit)
		if r.MaxAge > 0 {
			text += " (for " + words.Duration(r.MaxAge) + ")"
		}
		return text
	}
	return Policy{topicHistory, fmt.Sprintf("history.succeeded.limit: %s, failed.limit: %s", limitText(policy.Succeeded.Limit), limitText(policy.Failed.Limit)),
		fmt.Sprintf("Kept: of the runs that succeeded %s, of those that failed or were cancelled %s; others are deleted. status.ledger lists %s.%s",
			keep(policy.Succeeded), keep(policy.Failed), quantity.Count(policy.Ledger, "result"), s.ttl())}
}
