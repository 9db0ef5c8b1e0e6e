// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/carillon-dev/carillon/api/v1alpha1"
)

// scenario is a row of timetable.md section 9.
type scenario struct {
	// spec are the fields in which the Timetable differs from the fixture, as YAML.
	spec string
	// given changes the world before anybody has seen the Timetable; unseen: nobody looks before the first step.
	given  []given
	unseen bool
	// steps are told one after the other.
	steps []step
}

// step is what happens at a time, and what is so afterwards. Wake-ups before it are served, and belong to it.
type step struct {
	at    string
	given []given
	// want are lines; see check.
	want string
	// asleep: nobody serves the wake-ups before it. quiet: nobody serves it itself either.
	asleep, quiet bool
}

// given is something that happens.
type given func(*world)

// play plays scenarios, whose keys begin with their ids.
func play(t *testing.T, scenarios map[string]scenario) {
	for name, s := range scenarios {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, s.spec)
			for _, g := range s.given {
				g(w)
			}
			if w.now = w.stored().CreationTimestamp.Time; !s.unseen {
				w.pass()
			}
			for i, step := range s.steps {
				to := instant(step.at)
				before, writes := []string(nil), 0
				if !step.asleep {
					w.clock(to.Add(-1))
					before, writes = w.acts, w.writes
				}
				w.now = to
				for _, g := range step.given {
					g(w)
				}
				w.acts, w.writes = nil, 0
				if !step.quiet {
					w.pass()
				}
				w.acts, w.writes = append(before, w.acts...), w.writes+writes
				for _, problem := range w.check(step.want) {
					t.Errorf("step %d at %s: %s", i+1, step.at, problem)
				}
			}
			if t.Failed() {
				t.Logf("at the end:\n%s", strings.Join(w.told(), "\n"))
			}
		})
	}
}

// check compares the world with lines:
//
//	create stop prune refused       what the step did, all of it, in order
//	say REASON                      its events, all of them, in order
//	writes N                        the status writes of the step; left out: any number
//	wake T                          the wake-up; "wake none"
//	A W                             all active runs and waiting times; "W none"
//	L                               the newest entries of the ledger; "L none"
//	anything else                   a line of the status
func (w *world) check(want string) (problems []string) {
	lines := map[string][]string{}
	for line := range strings.Lines(want) {
		if line = strings.TrimSpace(line); line != "" {
			kind, _, _ := strings.Cut(line, " ")
			if slices.Contains(actWords, kind) {
				kind = "does"
			}
			lines[kind] = append(lines[kind], line)
		}
	}
	status := w.told()
	compare := func(kind string, want, got []string) {
		if !slices.Equal(want, got) {
			problems = append(problems, fmt.Sprintf("%s: want %q, got %q", kind, want, got))
		}
	}
	does, says := split(w.acts)
	compare("does", lines["does"], does)
	compare("says", lines["say"], says)
	delete(lines, "does")
	delete(lines, "say")
	for kind, want := range lines {
		var got []string
		for _, line := range status {
			if line == kind || strings.HasPrefix(line, kind+" ") {
				got = append(got, line)
			}
		}
		switch kind {
		case "writes":
			got = []string{fmt.Sprintf("writes %d", w.writes)}
		case "L":
			got = got[:min(len(got), len(want))]
		}
		if len(got) == 0 {
			got = []string{kind + " none"}
		}
		compare(kind, want, got)
	}
	return problems
}

var actWords = []string{"create", "stop", "prune", "refused"}

// split gives what was done, and what was said.
func split(acts []string) (does, says []string) {
	for _, act := range acts {
		if strings.HasPrefix(act, "say ") {
			says = append(says, act)
		} else {
			does = append(does, act)
		}
	}
	return does, says
}

// told is the status in lines, and the wake-up.
func (w *world) told() []string {
	s := w.stored().Status
	var lines []string
	tell := func(format string, args ...any) {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf(format, args...)))
	}
	for _, c := range s.Conditions {
		tell("%s %s/%s", c.Type, c.Status, c.Reason)
	}
	for _, a := range s.Active {
		text := fmt.Sprintf("A %s %s", shortTime(a.ScheduledTime.Time), a.Trigger)
		if a.Attempt > 1 || a.RetryAt != nil {
			text += fmt.Sprintf(" attempt %d", a.Attempt)
		}
		if a.RetryAt != nil {
			text += " retry " + shortTime(a.RetryAt.Time)
		}
		if a.Stopping != "" {
			text += " stopping " + a.Stopping
		}
		tell("%s", text)
	}
	for _, x := range s.Waiting {
		text := fmt.Sprintf("W %s %s", shortTime(x.ScheduledTime.Time), x.Reason)
		if x.Since != nil && !x.Since.Equal(&x.StartsAt) {
			text += " since " + shortTime(x.Since.Time)
		}
		tell("%s", text)
	}
	for _, e := range s.Ledger {
		text := "L " + shortTime(e.ScheduledTime.Time)
		if e.Until != nil {
			text += fmt.Sprintf("…%s x%d", shortTime(e.Until.Time), e.Count)
		}
		text += " " + string(e.Result)
		if e.Reason != "" {
			text += "/" + e.Reason
		}
		if e.Attempts > 1 {
			text += fmt.Sprintf(" after %d", e.Attempts)
		}
		tell("%s", text)
		if e.Message != "" {
			tell("message of %s: %s", shortTime(e.ScheduledTime.Time), e.Message)
		}
	}
	for name, t := range map[string]*metav1.Time{"cursor": s.Cursor, "lastScheduleTime": s.LastScheduleTime, "lastSuccessfulTime": s.LastSuccessfulTime,
		"lastSuccessScheduledTime": s.LastSuccessScheduledTime, "lastFailureTime": s.LastFailureTime, "lastStartTime": s.LastStartTime, "lastMissedTime": s.LastMissedTime} {
		if t != nil {
			tell("%s %s", name, shortTime(t.Time))
		}
	}
	if len(s.Next) > 0 {
		text := "next"
		for _, n := range s.Next {
			text += " " + shortTime(n.Time.Time)
			if n.StartsAt != nil {
				text += "(" + shortTime(n.StartsAt.Time) + ")"
			}
			if len(n.Schedules) > 0 {
				text += ":" + strings.Join(n.Schedules, "+")
			}
		}
		tell("%s", text)
	}
	tell("counts %d started %d succeeded %d failed %d cancelled %d skipped %d missed",
		s.Counts.Started, s.Counts.Succeeded, s.Counts.Failed, s.Counts.Cancelled, s.Counts.Skipped, s.Counts.Missed)
	tell("failures %d", s.ConsecutiveFailures)
	if !w.plan.Wake.IsZero() {
		tell("wake %s", shortTime(w.plan.Wake))
	}
	return lines
}

// What may happen.

// ends is a Job that has ended now.
func ends(condition string) func(names ...string) given {
	return func(names ...string) given {
		return func(w *world) {
			for _, name := range names {
				child := w.child(name)
				now := w.now.UTC().Format(time.RFC3339)
				status := map[string]any{"conditions": []any{map[string]any{"type": condition, "status": "True", "lastTransitionTime": now}}}
				if condition == "Complete" {
					status["completionTime"] = now
				}
				child.Object["status"] = status
			}
		}
	}
}

var succeeds, fails = ends("Complete"), ends("Failed")

// gone is a child that is on the server no more.
func gone(name string) given {
	return func(w *world) {
		w.child(name)
		delete(w.children, long(name))
	}
}

func (w *world) child(name string) *unstructured.Unstructured {
	w.t.Helper()
	child := w.children[long(name)]
	if child == nil {
		w.t.Fatalf("there is no %s", name)
	}
	return child
}

// edited changes fields of the spec.
func edited(spec string) given {
	return func(w *world) {
		w.mergeSpec(spec)
		w.metadata()["generation"] = w.metadata()["generation"].(int64) + 1
	}
}

// applied is an apply that changes nothing but the version.
func applied(w *world) { w.admit() }

func createdAt(text string) given {
	return func(w *world) { w.metadata()["creationTimestamp"] = text }
}

func named(name string) given { return func(w *world) { w.metadata()["name"] = name } }

// erased is a status that somebody removed.
func erased(w *world) { delete(w.timetable, "status"); w.admit() }

// restarted is another process of the controller.
func restarted(w *world) { w.crash() }

// calendar is a Calendar of the namespace; without periods it is deleted.
func calendar(name string, periods ...v1alpha1.Period) given {
	return func(w *world) {
		c := &v1alpha1.Calendar{ObjectMeta: metav1.ObjectMeta{Namespace: "ops", Name: name}}
		for _, p := range periods {
			c.Spec.Periods = append(c.Spec.Periods, v1alpha1.CalendarPeriod{Period: p})
		}
		w.calendars[name] = c
	}
}

func noCalendar(name string) given { return func(w *world) { delete(w.calendars, name) } }

// strips: from now on owner references are removed from what is created.
func strips(w *world) { w.strip = true }

// lags: from now on the cache shows the children as they are now.
func lags(w *world) {
	w.shown = map[string]*unstructured.Unstructured{}
	for name, child := range w.children {
		w.shown[name] = child.DeepCopy()
	}
}

// looks asserts something that the lines do not tell.
func looks(check func(w *world, fail func(format string, args ...any))) given {
	return func(w *world) { check(w, w.t.Errorf) }
}
