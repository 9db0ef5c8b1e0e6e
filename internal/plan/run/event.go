// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/timetable"
)

// The reasons of events about CronJobs that tell of scheduled times for which nothing was started: those of ours and of
// kube-controller-manager, which has the same words.
const (
	EventMissed  = "MissSchedule"
	EventOverlap = "JobAlreadyActive"
)

// OmissionOfEvent reads what an event about a CronJob says of scheduled times; false if it says nothing of any. One
// that is found to overlap (Reason Overlap) may start later all the same: it did not if no run has its time and a later
// time has come. The event is not modified.
func OmissionOfEvent(e *corev1.Event) (Omission, bool) {
	about := e.InvolvedObject
	o := Omission{
		Namespace: about.Namespace,
		Owner:     Owner{APIVersion: about.APIVersion, Kind: about.Kind, Name: about.Name, UID: about.UID},
		Count:     1,
	}
	for _, seen := range []time.Time{e.LastTimestamp.Time, e.EventTime.Time, e.FirstTimestamp.Time, e.CreationTimestamp.Time} {
		if o.Seen.IsZero() && !seen.IsZero() {
			o.Seen = seen.UTC()
		}
	}
	switch times := timesIn(e.Message); {
	case len(times) == 0:
		return Omission{}, false
	case e.Reason == EventOverlap:
		o.Reason, o.ScheduledTime = "Overlap", times[0]
	case e.Reason == EventMissed:
		o.Missed, o.Reason, o.ScheduledTime = true, missedWord(e.Message), times[0]
		first, _, _ := strings.Cut(e.Message, " ")
		if n, err := strconv.ParseInt(first, 10, 64); err == nil && n > 1 && len(times) > 1 && times[1].After(times[0]) {
			o.Count, o.Until = n, times[1]
		}
	default:
		return Omission{}, false
	}
	o.Message = omissionTexts[o.Reason]
	return o, true
}

// theirTime comes before the time in an event of kube-controller-manager.
const theirTime = "Missed scheduled time to start a job: "

// timesIn are the times that the message of an event names.
func timesIn(message string) []time.Time {
	if text, theirs := strings.CutPrefix(message, theirTime); theirs {
		if t, err := time.Parse(time.RFC1123Z, strings.TrimSpace(text)); err == nil {
			return []time.Time{t.UTC()}
		}
	}
	var times []time.Time
	for word := range strings.FieldsSeq(message) {
		if t, err := time.Parse(time.RFC3339, strings.TrimRight(word, ".,:;")); err == nil {
			times = append(times, t.UTC())
		}
	}
	return times
}

// missedWord is why times were missed: the word after "reason" in our messages. kube-controller-manager tells of those
// that were too late alone.
func missedWord(message string) string {
	_, after, ours := strings.Cut(message, "reason ")
	if !ours {
		return "Deadline"
	}
	word := after
	if end := strings.IndexAny(after, " :,"); end >= 0 {
		word = after[:end]
	}
	reason := cron.Reason(word)
	return cmp.Or(reasonWords[reason], timetable.ReasonWord(reason))
}
