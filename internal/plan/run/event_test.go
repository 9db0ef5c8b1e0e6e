// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestOmissionOfEvent(t *testing.T) {
	about := corev1.ObjectReference{APIVersion: "batch/v1", Kind: "CronJob", Namespace: "shop", Name: "a", UID: "1"}
	seen := time.Date(2026, 11, 1, 10, 0, 0, 0, time.UTC)
	at := time.Date(2026, 11, 1, 2, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		reason, message string
		want            string // reason, missed, count; "" for none
		until           time.Time
	}{
		"ours":             {"MissSchedule", "The scheduled time 2026-11-01T03:00:00+01:00 was not started, reason deadline: they were found too late", "Deadline missed 1", time.Time{}},
		"ours, several":    {"MissSchedule", "12 scheduled times from 2026-11-01T03:00:00+01:00 to 2026-11-01T14:00:00+01:00 were not started, reason outage for 10, reason edit for 2", "Outage missed 12", at.Add(11 * time.Hour)},
		"theirs":           {"MissSchedule", "Missed scheduled time to start a job: Sun, 01 Nov 2026 02:00:00 +0000", "Deadline missed 1", time.Time{}},
		"too many":         {"MissSchedule", "The scheduled time 2026-11-01T02:00:00Z was not started, reason too_many_missed: x", "", time.Time{}},
		"an overlap":       {"JobAlreadyActive", "Not starting the run of 2026-11-01T02:00:00Z: Job a-1 is not finished", "Overlap skipped 1", time.Time{}},
		"no time":          {"JobAlreadyActive", "Not starting job because prior execution is running and concurrency policy is Forbid", "", time.Time{}},
		"another event":    {"SawCompletedJob", "at 2026-11-01T02:00:00Z", "", time.Time{}},
		"a broken time":    {"MissSchedule", "Missed scheduled time to start a job: tomorrow", "", time.Time{}},
		"a number of none": {"MissSchedule", "-5 scheduled times from 2026-11-01T02:00:00Z to 2026-11-01T01:00:00Z were not started, reason outage", "Outage missed 1", time.Time{}},
	} {
		o, ok := OmissionOfEvent(&corev1.Event{InvolvedObject: about, Reason: test.reason, Message: test.message, LastTimestamp: metav1.NewTime(seen)})
		if name == "too many" { // whatever its word is: it is told
			if !ok || !o.Missed || o.Reason == "" {
				t.Errorf("%s: %+v", name, o)
			}
			continue
		}
		if !ok && test.want == "" {
			continue
		}
		word := map[bool]string{true: "missed", false: "skipped"}[o.Missed]
		if got := strings.Join([]string{o.Reason, word, "1"}, " "); ok && o.Count == 1 && got != test.want {
			t.Errorf("%s: %q", name, got)
		}
		if !ok || !o.ScheduledTime.Equal(at) || !o.Until.Equal(test.until) || !o.Seen.Equal(seen) || o.Owner != (Owner{"batch/v1", "CronJob", "a", "1"}) || o.Namespace != "shop" || o.Message == "" ||
			o.Count == 12 != (name == "ours, several") {
			t.Errorf("%s: %t %+v", name, ok, o)
		}
	}
}

func FuzzOmissionOfEvent(f *testing.F) {
	f.Add("MissSchedule", "3 scheduled times from 2026-11-01T02:00:00Z to 2026-11-01T03:00:00Z were not started, reason outage")
	f.Add("JobAlreadyActive", "Not starting the run of 2026-11-01T02:00:00Z: x")
	f.Fuzz(func(t *testing.T, reason, message string) {
		o, ok := OmissionOfEvent(&corev1.Event{Reason: reason, Message: message})
		if ok && (o.ScheduledTime.IsZero() || o.Count < 1 || !o.Until.IsZero() && !o.Until.After(o.ScheduledTime)) {
			t.Errorf("%+v", o)
		}
	})
}
