// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package explanation

import (
	"fmt"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/quantity"
	"github.com/carillon-dev/carillon/internal/plan/words"
)

func (s *subject) cronJobPolicies() []Policy {
	return []Policy{s.cronJobOverlap(), s.cronJobOutage(), s.failure(), s.cronJobSuspend(), s.cronJobEdit(), s.cronJobHistory()}
}

func (s *subject) cronJobOverlap() Policy {
	room := s.scheduled.Policy.Room
	switch {
	case room.Stops:
		return Policy{topicOverlap, "concurrencyPolicy: Replace",
			"A run that is still busy is deleted, and the new one starts at once, so Pods of both may be there for a moment. " +
				"Runs started by hand are never deleted: the new run starts beside them."}
	case room.Limit > 0:
		told := map[string]string{jobGroup: " The event JobAlreadyActive tells it.", volcanoGroup: " The event ForbidConcurrent tells it."}[s.group()]
		return Policy{topicOverlap, "concurrencyPolicy: Forbid",
			"Never two at once, also not beside a run started by hand. A time that comes while a run is busy waits, and starts late when " +
				"that ends" + s.ifDeadline() + "; if more come meanwhile only the newest does." + told}
	}
	return Policy{topicOverlap, "concurrencyPolicy: Allow",
		"Each time starts a run, whatever still runs. Nothing limits how many run at once: if runs take longer than the distance " +
			"of the times they pile up."}
}

func (s *subject) ifDeadline() string {
	if _, set := s.deadline(); set {
		return " (if it is not later than startingDeadlineSeconds then)"
	}
	return ""
}

func (s *subject) cronJobOutage() Policy {
	deadline, set := s.deadline()
	p := Policy{Topic: topicOutage, Setting: "no startingDeadlineSeconds"}
	many := " More than 100 missed times do no harm: a Warning tells them."
	if s.group() == tutorialGroup {
		many = " After more than 100 missed times nothing starts until there is a deadline that leaves fewer."
		if set {
			many = " If more than 100 were missed within that time, none starts: only a shorter deadline leaves fewer."
		}
	}
	switch {
	case set && len(deadlineNever(s, nil)) > 0 && deadline > 0:
		p.Setting, p.Words = fmt.Sprintf("startingDeadlineSeconds: %d", *s.scheduled.Policy.Deadline), "Nothing ever starts, because @every takes longer."
	case set && deadline == 0:
		p.Setting, p.Words = fmt.Sprintf("startingDeadlineSeconds: %d", *s.scheduled.Policy.Deadline), "Nothing ever starts."
	case set:
		p.Setting = fmt.Sprintf("startingDeadlineSeconds: %d", *s.scheduled.Policy.Deadline)
		p.Words = "While nobody serves it nothing starts. Afterwards the latest missed time starts, once, if it is less than " + words.Duration(deadline) +
			" late; all others are lost, and the Warning MissSchedule tells them." + many
	default:
		p.Words = "While nobody serves it nothing starts. Afterwards the latest missed time starts at once, however late it is; all earlier ones are " +
			"lost, and the Warning MissSchedule tells them." + many
	}
	return p
}

// failure says what becomes of a run that fails, as the Job decides it.
func (s *subject) failure() Policy {
	if s.group() == volcanoGroup {
		retries, set := numberAt(s.jobSpec(), "maxRetry")
		if !set {
			retries = 3
		}
		return Policy{topicFailure, fmt.Sprintf("maxRetry: %d", retries),
			fmt.Sprintf("Volcano restarts a Job as its policies say, at most %s. Then it has failed; the next time starts as ever.", quantity.Count(int(retries), "time"))}
	}
	return Policy{topicFailure, s.jobSetting(), s.jobFailure() + " Then the run has failed; the next time starts as ever, however many have failed."}
}

const defaultBackoffLimit = 6

// perIndex is how often an Indexed Job tries each index again; set is false for one that counts all failures together.
func (s *subject) perIndex() (limit int64, set bool) {
	if stringAt(s.jobSpec(), "completionMode") != "Indexed" {
		return 0, false
	}
	return numberAt(s.jobSpec(), "backoffLimitPerIndex")
}

// backoffLimit is how often a Job tries again.
func (s *subject) backoffLimit() (limit int64, set bool) {
	if limit, set = numberAt(s.jobSpec(), "backoffLimit"); !set {
		limit = defaultBackoffLimit
	}
	return limit, set
}

func (s *subject) jobSetting() string {
	limit, set := s.backoffLimit()
	setting := fmt.Sprintf("backoffLimit: %d", limit)
	if !set {
		setting += " (the default)"
	}
	if perIndex, indexed := s.perIndex(); indexed {
		setting = fmt.Sprintf("backoffLimitPerIndex: %d", perIndex)
		if most, limited := numberAt(s.jobSpec(), "maxFailedIndexes"); limited {
			setting += fmt.Sprintf(", maxFailedIndexes: %d", most)
		}
		if set {
			setting += fmt.Sprintf(", backoffLimit: %d", limit)
		}
	}
	if restart := stringAt(s.jobSpec(), "template", "spec", "restartPolicy"); restart != "" {
		setting += ", restartPolicy: " + restart
	}
	return setting
}

// jobFailure says how a Job of batch/v1 tries again.
func (s *subject) jobFailure() string {
	limit, _ := s.backoffLimit()
	var b strings.Builder
	_, indexed := s.perIndex()
	switch restart := stringAt(s.jobSpec(), "template", "spec", "restartPolicy"); {
	case indexed:
		b.WriteString(s.indexFailure())
	case limit <= 0:
		b.WriteString("The Job does not try again.")
	case restart == "OnFailure":
		fmt.Fprintf(&b, "A container that fails is started again in its Pod, up to %s, with growing pauses.", quantity.Count(int(limit), "time"))
	default:
		fmt.Fprintf(&b, "The Job tries again with a new Pod, up to %s (so %d Pods in all), with growing pauses.", quantity.Count(int(limit), "time"), limit+1)
	}
	if seconds, set := numberAt(s.jobSpec(), "activeDeadlineSeconds"); set && seconds > 0 {
		fmt.Fprintf(&b, " After %s (activeDeadlineSeconds) it is stopped in any case.", words.Duration(time.Duration(min(seconds, 1<<33))*time.Second))
	}
	return b.String()
}

// indexFailure says how an Indexed Job with backoffLimitPerIndex tries again.
func (s *subject) indexFailure() string {
	perIndex, _ := s.perIndex()
	text := "No index is tried again."
	if perIndex > 0 {
		text = fmt.Sprintf("Each index is tried again up to %s, with growing pauses.", quantity.Count(int(perIndex), "time"))
	}
	text += " If one still fails the others go on, and the Job fails when all have ended"
	if most, limited := numberAt(s.jobSpec(), "maxFailedIndexes"); limited {
		text += fmt.Sprintf(", or as soon as more than %d have failed", most)
	}
	if limit, set := s.backoffLimit(); set {
		text += fmt.Sprintf(", or after more than %s of its Pods (backoffLimit)", quantity.Count(int(limit), "failure"))
	}
	return text + "."
}

func (s *subject) cronJobSuspend() Policy {
	resume := "Runs that are busy go on. When it is taken back the latest time that passed meanwhile starts at once" + s.ifDeadline() + "."
	if s.scheduled.Policy.Suspend {
		return Policy{topicSuspend, "suspend: true", "Nothing starts now. " + resume}
	}
	return Policy{topicSuspend, "suspend: false", "With true nothing starts. " + resume}
}

func (s *subject) cronJobEdit() Policy {
	return Policy{topicEdit, "a change of schedule or timeZone",
		"It counts from the moment of the change on, and never starts a run for a time before. Runs that are busy go on. A change of the " +
			"template is for runs that start later."}
}

func (s *subject) cronJobHistory() Policy {
	succeeded, failed := s.scheduled.Policy.Succeeded.Limit, s.scheduled.Policy.Failed.Limit
	p := Policy{Topic: topicHistory, Setting: fmt.Sprintf("successfulJobsHistoryLimit: %s, failedJobsHistoryLimit: %s", limitText(succeeded), limitText(failed))}
	p.Words = fmt.Sprintf("Kept: of the Jobs that succeeded %s, of those that failed %s; others are deleted with their Pods and logs.", newest(succeeded), newest(failed))
	p.Words += s.ttl()
	return p
}

func (s *subject) ttl() string {
	seconds, set := numberAt(s.jobSpec(), "ttlSecondsAfterFinished")
	switch {
	case !set:
		return ""
	case seconds <= 0:
		return " ttlSecondsAfterFinished deletes each the moment it has ended."
	}
	return fmt.Sprintf(" ttlSecondsAfterFinished deletes each %s after its end, if that is sooner.", words.Duration(time.Duration(min(seconds, 1<<33))*time.Second))
}

func limitText(limit *int32) string {
	if limit == nil {
		return "none"
	}
	return fmt.Sprint(*limit)
}

// newest says how many are kept.
func newest(limit *int32) string {
	switch {
	case limit == nil:
		return "all"
	case *limit == 0:
		return "none"
	case *limit == 1:
		return "the newest"
	}
	return fmt.Sprintf("the newest %d", *limit)
}
