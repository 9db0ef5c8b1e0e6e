// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/cron"
)

func conditioned(s *scene) { s.in.Policy.Conditions = true }

// had is a condition that an earlier sync left, as "Type=Status/Reason".
func had(texts ...string) given {
	return func(s *scene) {
		for _, text := range texts {
			kind, rest, _ := strings.Cut(text, "=")
			status, reason, _ := strings.Cut(rest, "/")
			s.in.Stored.Conditions = append(s.in.Stored.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionStatus(status),
				Reason: reason, Message: "earlier", ObservedGeneration: 1, LastTransitionTime: metav1.NewTime(at("12:00"))})
		}
	}
}

func conditionsOf(s *scene) []string {
	var texts []string
	for _, c := range s.in.Stored.Conditions {
		texts = append(texts, fmt.Sprintf("%s=%s/%s", c.Type, c.Status, c.Reason))
	}
	return texts
}

// status.conditions of kind T say what its children do, then what went wrong, then the start (cronjob.md 2.3b); none is
// ever removed.
func TestConditions(t *testing.T) {
	const fresh = "Progressing=Unknown/Reconciling"
	for sentence, c := range map[string]struct {
		given []given
		now   string
		want  []string
	}{
		"nothing active": {
			given: []given{last("12:10")}, now: "12:11",
			want: []string{"Progressing=False/NoJobsActive", "Available=True/AllJobsCompleted"},
		},
		"an active child": {
			given: []given{last("12:10"), active("12:10")}, now: "12:11",
			want: []string{"Progressing=True/JobsActive", "Available=True/JobsActive"},
		},
		"a failed child": {
			given: []given{last("12:10"), has("12:10", failed)}, now: "12:11",
			want: []string{fresh, "Degraded=True/JobsFailed", "Available=False/JobsFailed"},
		},
		"a failed child beside an active one": {
			given: []given{last("12:10"), has("12:00", failed), active("12:10")}, now: "12:11",
			want: []string{fresh, "Degraded=True/JobsFailed", "Available=False/JobsFailed"},
		},
		"suspended": {
			given: []given{last("12:10"), suspended, has("12:10", failed)}, now: "12:11",
			want: []string{fresh, "Available=False/Suspended"},
		},
		"a start": {
			now:  "12:10",
			want: []string{"Progressing=True/JobCreated", "Available=True/AllJobsCompleted"},
		},
		"a create that fails": {
			given: []given{createFails(quota)}, now: "12:10",
			want: []string{"Progressing=False/NoJobsActive", "Available=True/AllJobsCompleted", "Degraded=True/JobCreationFailed"},
		},
		"a name that is taken": {
			given: []given{onServer("12:10")}, now: "12:10",
			want: []string{"Progressing=False/NoJobsActive", "Available=True/AllJobsCompleted", "Degraded=True/JobCreationFailed"},
		},
		"a schedule that cannot be read": {
			given: []given{schedule("nonsense")}, now: "12:10",
			want: []string{"Progressing=False/NoJobsActive", "Available=True/AllJobsCompleted", "Degraded=True/InvalidSchedule"},
		},
		"a date that does not exist": {
			given: []given{schedule("0 0 30 2 *")}, now: "12:10",
			want: []string{"Progressing=False/NoJobsActive", "Available=True/AllJobsCompleted", "Degraded=True/InvalidSchedule"},
		},
		"T10 more than 100 missed": {
			given: []given{schedule("* * * * *"), made("12:00")}, now: "13:41",
			want: []string{"Progressing=False/NoJobsActive", "Available=True/AllJobsCompleted", "Degraded=True/InvalidSchedule"},
		},
		"T13 a time that was too late": {
			given: []given{deadline(60), last("12:00")}, now: "12:15",
			want: []string{"Progressing=False/NoJobsActive", "Available=True/AllJobsCompleted", "Degraded=True/MissedSchedule"},
		},
		"children that cannot be read": {
			given: []given{last("12:10"), listed("12:10"), getFails("tick-1777896600", broken)}, now: "12:11",
			want: []string{"Progressing=False/NoJobsActive", "Available=True/AllJobsCompleted", "Degraded=True/ReconciliationError"},
		},
		"Degraded stays, and so does a type of somebody else": {
			given: []given{last("12:10"), active("12:10"), had("Degraded=True/JobsFailed", "Theirs=True/Whatever")}, now: "12:11",
			want: []string{"Degraded=True/JobsFailed", "Theirs=True/Whatever", "Progressing=True/JobsActive", "Available=True/JobsActive"},
		},
		"a schedule is no matter while suspended": {
			given: []given{schedule("nonsense"), suspended}, now: "12:10",
			want: []string{fresh, "Available=False/Suspended"},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := fixture("T", c.now, append([]given{conditioned}, c.given...)...)
			transcript := s.play(t)
			if diff := cmp.Diff(c.want, conditionsOf(s)); diff != "" {
				t.Errorf("(-want +got):\n%s\n%s", diff, transcript)
			}
			for _, cond := range s.in.Stored.Conditions {
				if cond.Reason == "" || cond.Message == "" || cond.LastTransitionTime.IsZero() {
					t.Errorf("the schema refuses %+v", cond)
				}
			}
			if n := strings.Count(transcript, "record "); n != 1 {
				t.Errorf("%d writes, want one:\n%s", n, transcript)
			}
			s.catchUp(s.in.Now.Format("2006-01-02T15:04:05Z"))
			s.failCreate, s.failGet = quota, map[string]error{}
			before := slices.Clone(s.in.Stored.Conditions)
			s.play(t)
			s.catchUp(s.in.Now.Format("2006-01-02T15:04:05Z"))
			if transcript := s.play(t); strings.Contains(transcript, "record ") {
				t.Errorf("what is written already is written again, %v after %v:\n%s", conditionsOf(s), before, transcript)
			}
		})
	}
}

// The time of the last transition moves with the status of a condition and not with its reason, and a new spec is told
// by observedGeneration.
func TestConditionTransitions(t *testing.T) {
	s := fixture("T", "12:11", conditioned, last("12:10"), active("12:10"),
		had("Progressing=True/JobCreated", "Available=False/Suspended"))
	s.in.Owner.Generation = 2
	s.play(t)
	got := map[string]metav1.Condition{}
	for _, c := range s.in.Stored.Conditions {
		got[c.Type] = c
	}
	if at := got["Progressing"].LastTransitionTime.Format("15:04"); at != "12:00" {
		t.Errorf("Progressing stayed True, but its transition is at %s", at)
	}
	if at := got["Available"].LastTransitionTime.Format("15:04"); at != "12:11" {
		t.Errorf("Available became True at 12:11, but its transition is at %s", at)
	}
	if g := got["Available"].ObservedGeneration; g != 2 {
		t.Errorf("observed generation %d, want 2", g)
	}
}

// Without being asked, conditions are left alone; and a long error is cut to what the API takes.
func TestConditionsAreOptional(t *testing.T) {
	s := fixture("T", "12:10")
	s.play(t)
	if len(s.in.Stored.Conditions) > 0 {
		t.Errorf("set without being asked: %v", conditionsOf(s))
	}
	s = fixture("T", "12:10", conditioned, createFails(fmt.Errorf("%s", strings.Repeat("ä", 40000))))
	s.play(t)
	for _, c := range s.in.Stored.Conditions {
		if len(c.Message) > 32768 {
			t.Errorf("a message of %d bytes", len(c.Message))
		}
	}
}

// status.active of kind T has room for ten; the eleventh child is known all the same, and blocks Forbid.
func TestActiveHasRoomForTen(t *testing.T) {
	s := fixture("T", "12:10", forbid)
	for i := range 11 {
		s.has(s.child("12:00", named(fmt.Sprintf("by-hand-%02d", i)), stamped(""), func(c *cron.Child) { c.UID = types.UID(c.Name) }))
	}
	s.play(t)
	if n := len(s.in.Stored.Active); n != 10 {
		t.Errorf("%d references, the schema takes 10", n)
	}
	if transcript := s.play(t); transcript != "rq 10m0s" {
		t.Errorf("the second sync:\n%s", transcript)
	}
	for i := range 10 {
		c := s.live[fmt.Sprintf("by-hand-%02d", i)]
		c.Phase = cron.Complete
		s.live[c.Name] = c
	}
	s.catchUp("12:11", limits(20, 20))
	if transcript := s.play(t); strings.Contains(transcript, "start ") {
		t.Errorf("the eleventh does not block:\n%s", transcript)
	}
}
