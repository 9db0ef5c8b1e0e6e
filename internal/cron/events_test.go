// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron_test

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/carillon-dev/carillon/internal/cron"
)

// last note of one sync with that reason; the sync is played to its end.
func (s *scene) note(t *testing.T, reason string) cron.Event {
	t.Helper()
	var found cron.Event
	s.play(t)
	for _, n := range s.events {
		if n.Reason == reason {
			found = n
		}
	}
	if found.Reason == "" {
		t.Fatalf("no event with reason %s among %v", reason, s.events)
	}
	return found
}

// The words of an event name the object, and what can be done about it (decision Q10, cronjob.md 5.1).
func TestMessages(t *testing.T) {
	for name, c := range map[string]struct {
		kind   string
		given  []given
		now    string
		reason string
		typ    string
		says   []string
	}{
		"K SuccessfulCreate names the Job": {
			kind: "K", now: "12:10", reason: "SuccessfulCreate", typ: corev1.EventTypeNormal,
			says: []string{"Job tick-29631610", "2026-05-04T12:10:00Z"}},
		"K SawCompletedJob names the Job and its condition": {
			kind: "K", now: "12:13", given: []given{last("12:10"), active("12:10", failed)}, reason: "SawCompletedJob",
			typ: corev1.EventTypeNormal, says: []string{"tick-29631610", "Failed"}},
		"V SawCompletedJob tells the phase": {
			kind: "V", now: "12:13", given: []given{last("12:10"), active("12:10", phase("Terminated", cron.Failed))},
			reason: "SawCompletedJob", typ: corev1.EventTypeNormal, says: []string{"tick-29631610", "Terminated", "no longer active"}},
		"K MissingJob names the Job": {
			kind: "K", now: "12:13", given: []given{last("12:10"), listed("12:10")}, reason: "MissingJob",
			typ: corev1.EventTypeNormal, says: []string{"tick-29631610"}},
		"CJ-085 V StaleReference names both UIDs": {
			kind: "V", now: "12:13", given: []given{last("12:10"), listed("12:10", uid("old")), onServer("12:10", ownedBy(nil))},
			reason: "StaleReference", typ: corev1.EventTypeWarning, says: []string{"tick-29631610", "UID old", "UID tick-29631610"}},
		"K JobAlreadyActive names the policy and the Job": {
			kind: "K", now: "12:20", given: []given{forbid, last("12:10"), active("12:10")}, reason: "JobAlreadyActive",
			typ: corev1.EventTypeNormal, says: []string{"tick-29631610", "Forbid", "2026-05-04T12:20:00Z"}},
		"Q8 V ForbidConcurrent says that the Job is aborted": {
			kind: "V", now: "12:20", given: []given{forbid, last("12:10"), active("12:10", phase("Aborted", cron.Unfinished))},
			reason: "ForbidConcurrent", typ: corev1.EventTypeWarning, says: []string{"tick-29631610", "Aborted"}},
		"V ReplaceConcurrent names the Job": {
			kind: "V", now: "12:20", given: []given{replace, last("12:10"), active("12:10")}, reason: "ReplaceConcurrent",
			typ: corev1.EventTypeWarning, says: []string{"tick-29631610", "Replace"}},
		"K UnexpectedJob names the Job": {
			kind: "K", now: "12:13", given: []given{last("12:10"), has("12:05", manual)}, reason: "UnexpectedJob",
			typ: corev1.EventTypeWarning, says: []string{"by-hand", "by hand"}},
		"V OrphanedJob names the Job and its UID": {
			kind: "V", now: "12:13", given: []given{last("12:10"), has("12:05", manual)}, reason: "OrphanedJob",
			typ: corev1.EventTypeWarning, says: []string{"Job by-hand with UID by-hand"}},
		"K UnknownTimeZone quotes the zone": {
			kind: "K", now: "12:13", given: []given{zone("Mars/Olympus")}, reason: "UnknownTimeZone",
			typ: corev1.EventTypeWarning, says: []string{`"Mars/Olympus"`, "Europe/Rome"}},
		"K UnsupportedSchedule quotes the schedule and names the field to use": {
			kind: "K", now: "12:03:30", given: []given{schedule("TZ=UTC 0 6 * * *")}, reason: "UnsupportedSchedule",
			typ: corev1.EventTypeWarning, says: []string{`"TZ=UTC 0 6 * * *"`, ".spec.timeZone", "https://kubernetes.io/docs/"}},
		"B7 K UnsupportedSchedule says what becomes of seconds": {
			kind: "K", now: "12:03:30", given: []given{schedule("@every 20s")}, reason: "UnsupportedSchedule",
			typ: corev1.EventTypeWarning, says: []string{`"@every 20s"`, "1m0s"}},
		"K UnparseableSchedule quotes the schedule and the parser": {
			kind: "K", now: "12:13", given: []given{schedule("61 * * * *")}, reason: "UnparseableSchedule",
			typ: corev1.EventTypeWarning, says: []string{`"61 * * * *"`, "minute"}},
		"K InvalidSchedule quotes the schedule": {
			kind: "K", now: "12:13", given: []given{schedule("0 0 30 2 *")}, reason: "InvalidSchedule",
			typ: corev1.EventTypeWarning, says: []string{`"0 0 30 2 *"`}},
		"K TooManyMissedTimes advises": {
			kind: "K", now: "12:34", given: []given{last("2026-05-03T00:00:00Z")}, reason: "TooManyMissedTimes",
			typ: corev1.EventTypeWarning, says: []string{".spec.startingDeadlineSeconds", "clock"}},
		"K FailedGet tells the error": {
			kind: "K", now: "12:20", given: []given{replace, last("12:10"), active("12:10"), getFails("tick-29631610", broken)},
			reason: "FailedGet", typ: corev1.EventTypeWarning, says: []string{"tick-29631610", "etcd is away"}},
		"K FailedDelete tells the error": {
			kind: "K", now: "12:20", given: []given{replace, last("12:10"), active("12:10"), deleteFails("tick-29631610", broken)},
			reason: "FailedDelete", typ: corev1.EventTypeWarning, says: []string{"tick-29631610", "etcd is away"}},
		"A9 K FailedCreate names a quota that is full, and the cure": {
			kind: "K", now: "12:10", given: []given{createFails(apierrors.NewForbidden(jobs, "tick-29631610",
				errors.New("exceeded quota: small, requested: count/jobs.batch=1, used: count/jobs.batch=2, limited: count/jobs.batch=2")))},
			reason: "FailedCreate", typ: corev1.EventTypeWarning,
			says: []string{"tick-29631610", "exceeded quota: small", "raise the quota small,", "history limits"}},
		"K ManualJobActive names the Job and the policy": {
			kind: "K", now: "12:10", given: []given{replace, has("12:05", manual)}, reason: "ManualJobActive",
			typ: corev1.EventTypeNormal, says: []string{"Job by-hand", "by hand", "Replace", "2026-05-04T12:10:00Z"}},
		"K MissSchedule tells the time and the reason": {
			kind: "K", now: "12:10:30", given: []given{deadline(10)}, reason: "MissSchedule",
			typ: corev1.EventTypeWarning, says: []string{"2026-05-04T12:10:00Z", "reason deadline", ".spec.startingDeadlineSeconds"}},
		"K FailedCreate tells the error": {
			kind: "K", now: "12:10", given: []given{createFails(quota)}, reason: "FailedCreate",
			typ: corev1.EventTypeWarning, says: []string{"tick-29631610", "exceeded quota"}},
		"CJ-079 V ForeignJob names the owner, or none": {
			kind: "V", now: "12:10", given: []given{onServer("12:10", ownedBy(nil))}, reason: "ForeignJob",
			typ: corev1.EventTypeWarning, says: []string{"tick-29631610", "none"}},
		"Q1 K FailedCreate names who holds the name": {
			kind: "K", now: "12:10", given: []given{onServer("12:10", func(c *cron.Child) { c.Controller.Kind, c.Controller.Name = "Workflow", "flow" })},
			reason: "FailedCreate", typ: corev1.EventTypeWarning, says: []string{"tick-29631610", "Workflow flow"}},
		"V NamespaceTerminating names the namespace": {
			kind: "V", now: "12:10", given: []given{createFails(goingOut)}, reason: "NamespaceTerminating",
			typ: corev1.EventTypeWarning, says: []string{"batch"}},
	} {
		t.Run(name, func(t *testing.T) {
			n := fixture(c.kind, c.now, c.given...).note(t, c.reason)
			if n.Type != c.typ {
				t.Errorf("type %s, want %s", n.Type, c.typ)
			}
			for _, part := range c.says {
				if !strings.Contains(n.Message, part) {
					t.Errorf("%q does not mention %q", n.Message, part)
				}
			}
			if n.Message != strings.TrimSpace(n.Message) || strings.Contains(n.Message, "%!") {
				t.Errorf("untidy: %q", n.Message)
			}
		})
	}
}

// The same cause has the same key in every sync, so that it is published once; a new scheduled time, or a new spec, is
// a new cause (decision B6).
func TestKeys(t *testing.T) {
	for name, c := range map[string]struct {
		reason         string
		given          []given
		now, same, new string
		edit           given
	}{
		"a blocked time": {reason: "JobAlreadyActive", given: []given{forbid, last("12:10"), active("12:10")},
			now: "12:20:00", same: "12:29:59", new: "12:30:00"},
		"an outage that goes on": {reason: "TooManyMissedTimes", given: []given{forbid, last("2026-05-01T00:00:00Z"), active("2026-05-01T00:00:00Z")},
			now: "12:10:00", same: "12:20:00", edit: last("2026-05-02T00:00:00Z")},
		"a run by hand": {reason: "UnexpectedJob", given: []given{last("12:10"), has("12:05", manual)},
			now: "12:12:00", same: "12:13:00"},
	} {
		t.Run(name, func(t *testing.T) {
			key := func(now string, more ...given) string {
				return fixture("K", now, append(append([]given{}, c.given...), more...)...).note(t, c.reason).DedupKey
			}
			first := key(c.now)
			if first == "" {
				t.Fatal("no key")
			}
			if again := key(c.same); again != first {
				t.Errorf("key %q at %s, %q at %s: want the same", first, c.now, again, c.same)
			}
			if c.new != "" && key(c.new) == first {
				t.Errorf("the same key for a new time: %q", first)
			}
			if c.edit != nil && key(c.now, c.edit) == first {
				t.Errorf("the same key after the edit: %q", first)
			}
		})
	}
}
