// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planted_test

import "testing"

// The simulated worlds of Timetables in internal/controller/scheduled are to find each of these; the first seven are
// those that timetable.md section 12 asks for.
func TestTimetables(t *testing.T) {
	t.Parallel()
	simulate(t, simulation{dir: "internal/controller/scheduled", bugs: "internal/cron", test: "TestSimulationOfTimetables", histories: "1500"}, map[string]bug{
		"Forbid ignores a run between attempts": {
			file: "observed.go", old: "\t\t\tfound = append(found, ref.child(in))\n", new: "\t\t\tif ref.RetryAt == nil {\n\t\t\t\tfound = append(found, ref.child(in))\n\t\t\t}\n",
			breaks: "a time starts beside a run that is to be repeated",
		},
		"cursor written before its waiting times": {
			file: "decide.go", old: "s.status.Waiting = s.outcomes.waiting", new: "s.status.Waiting = s.memory.Waiting",
			breaks: "a time that has begun to wait is forgotten",
		},
		"catching up counts again after a crash": {
			file: "due.go", old: "\tproved := provedBetween(in, s.children, s.timing.base, in.Now)\n", new: "\tvar proved []time.Time\n",
			breaks: "what a crashed process started is not known to have been decided",
		},
		"Replace starts before the object is gone": {
			file: "room.go", old: "in.Policy.Room.StartsBesideStopped || s.room() > 0 {", new: "true {",
			breaks: "a time starts beside the run that is stopped for it",
		},
		"an edit keeps a time that the new timing lacks": {
			file: "due.go", old: "case times != nil && (!names(times, w.Time) || s.isTakenOut(w.Time)):", new: "case times == nil && paused && !paused:",
			breaks: "a time starts that nobody asks for any more",
		},
		"cursor moves past a create that failed": {
			file: "decided.go", old: "\t\to.waiting = append(o.waiting, WaitingTime{", new: "\t\t_ = append(o.waiting, WaitingTime{",
			breaks: "a time that the server refused is lost without a result",
		},
		"a resume clears failures": {
			file: "../kind/timetable/memory.go", old: "int32(r.Last.Failures), int32(r.Last.Replaced)", new: "int32(r.Last.Failures-m.Pause().Base), int32(r.Last.Replaced)",
			breaks: "a Timetable of which nothing has succeeded looks well",
		},

		"a time turned away is started while its record is on its way": {
			file: "start.go", old: "\thasResultElsewhere,\n", new: "",
			breaks: "a time is said to be missed whose run goes on",
		},
		"an edit takes out what has been started": {
			file: "pasttimes.go", old: " && !names(all, t) && !slices.ContainsFunc(kept, t.Equal) {", new: " && !names(all, t) {",
			breaks: "a time has two results if an edit comes between its start and its record",
		},
		"more runs than the limit": {
			file: "room.go", old: "return s.in.Policy.Room.Limit - len(s.inTheWay())", new: "return s.in.Policy.Room.Limit + 1 - len(s.inTheWay())",
			breaks: "one run more is active than may be",
		},
		"attempts come early": {
			file: "attempts.go", old: "if run.RetryAt.After(in.Now) {", new: "if run.RetryAt.After(in.Now.Add(9 * time.Second)) {",
			breaks: "a run is repeated before its delay is over",
		},
		"attempt made twice": {
			file: "attempts.go", old: "\tnext := nextAttempt(in, all, run.Time, run.Attempt)\n", new: "\tvar next *Child\n",
			breaks: "an attempt that a crashed process started is not known",
		},
		"deadline ignored": {
			file: "pasttimes.go", old: "cut := earliest(time.Time{}, s.in.Policy.Deadline, now)", new: "cut := earliest(time.Time{}, nil, now)",
			breaks: "a time starts that is too late for its deadline",
		},
		"suspended is started": {
			file: "decide.go", old: "s.ready.mayStart && s.status.Pause().Cause == \"\" &&", new: "s.ready.mayStart &&",
			breaks: "what waits starts while the Timetable is suspended",
		},
		"a queue without an end": {
			file: "wait.go", old: "places = min(places+mayStart, len(others))", new: "places = len(others)",
			breaks: "more times wait than the user wants to have made up for",
		},
		"failures do not pause": {
			file: "pause.go", old: "case limit > 0 && last.Failures-p.Base >= limit:", new: "case limit > 0 && limit < 0:",
			breaks: "what fails all the time is started all the time",
		},
		"timeout ignored": {
			file: "attempts.go", old: "if in.Policy.Timeout <= 0 || in.Owner.Deleting {", new: "if in.Policy.Timeout >= 0 {",
			breaks: "what hangs keeps all later times from starting",
		},
		"timeout of what was just started ignored": {
			file: "attempts.go", old: "if created != nil && !created.Child.OwnDeadline && !known(s.children, run.UID) {", new: "if created != nil && i > 0 && i < 0 {",
			breaks: "what hangs is stopped when something else happens, perhaps a day later",
		},
		"excluded times not counted": {
			file: "decided.go", old: "\to.enter(Skipped, NotStartedExcluded, passedIn(orNone(in.Policy.Timing.Excluded), base, p.until, others))\n", new: "\t_ = others\n",
			breaks: "a time has no result",
		},
		"jitter ignored": {
			file: "pasttimes.go", old: "PlannedStart(time.Time) time.Time }); ok && !t.IsZero() {", new: "PlannedStart(time.Time) time.Time }); ok && t.IsZero() && !ok {",
			breaks: "a time starts before its planned start",
		},
		"judged by an outcome that is about another kind": {
			file: "../kind/timetable/child.go", old: "\t\tis = recordedOutcome(owner, obj)\n", new: "\t\tis = outcome.Outcome{}\n",
			breaks: "what has ended long ago takes up room since the template's kind was changed",
		},
		"cache of children not waited for": {
			file: "../controller/scheduled/childwatch.go", old: "\t\t\treturn n.kinds, nil, false\n", new: "\t\t\treturn n.kinds, nil, true\n",
			breaks: "a new leader starts beside a run that no cache of it shows yet",
		},
		"prune before record": {
			file:   "plan.go",
			old:    "\tcase p.StatusWrite != nil:\n\t\treturn StepWriteStatus\n\tcase len(p.Prune) > 0:\n\t\treturn StepPrune\n",
			new:    "\tcase len(p.Prune) > 0:\n\t\treturn StepPrune\n\tcase p.StatusWrite != nil:\n\t\treturn StepWriteStatus\n",
			breaks: "a crash between the two forgets how a run ended",
		},
	})
}
