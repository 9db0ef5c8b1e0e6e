// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planted_test

import "testing"

// The simulation of the controller finds each of these in the decisions.
func TestCron(t *testing.T) {
	t.Parallel()
	simulate(t, simulation{dir: "internal/controller/scheduled", bugs: "internal/cron", test: "TestSimulation", histories: "2000"}, map[string]bug{
		"no name lock": {
			file: "children.go", old: "n := t.Unix()\n", new: "n := in.Now.Unix()\n",
			breaks: "the child's name depends on the attempt, so it locks nothing",
		},
		"Forbid trusts status.active": {
			file:   "observed.go",
			old:    "\tvar found []Child\n\tfor _, c := range all {\n\t\tif !c.Phase.finished() {",
			new:    "\tvar found []Child\n\tfor _, c := range all {\n\t\tif !c.Phase.finished() && listed(in.Stored.Active, c.UID) {",
			breaks: "a child that no status lists is no obstacle",
		},
		"prune before record": {
			file:   "plan.go",
			old:    "\tcase p.StatusWrite != nil:\n\t\treturn StepWriteStatus\n\tcase len(p.Prune) > 0:\n\t\treturn StepPrune\n",
			new:    "\tcase len(p.Prune) > 0:\n\t\treturn StepPrune\n\tcase p.StatusWrite != nil:\n\t\treturn StepWriteStatus\n",
			breaks: "a crash between the two forgets a scheduled time",
		},
		"prune what proves": {
			file: "history.go", old: "case timeUnrecorded(s.in, c, stored), s.isDue(c.Name):", new: "case s.isDue(c.Name):",
			breaks: "a failed write and a prune together forget a scheduled time",
		},
		"crashed start not remembered": {
			file: "observed.go", old: "\t\t\to.status.LastSchedule = later(o.status.LastSchedule, t)\n", new: "\t\t\t_ = t\n",
			breaks: "a child that a crashed sync started is pruned, and its scheduled time starts again",
		},
		"no edit guard": {
			file: "timing.go", old: "if !t.due.After(e.since) {", new: "if false {",
			breaks: "an edit starts runs for the time before it",
		},
		"edit forgotten by a restart": {
			file: "edit.go", old: "for _, t := range []ServedTiming{e.stored, before} {", new: "for _, t := range []ServedTiming{before} {",
			breaks: "the annotation that remembers an edit is not read",
		},
		"start for what is still to come": {
			file: "timing.go", old: "t.due = times.LastBetween(t.earliest, in.Now).UTC()", new: "t.due = times.LastBetween(t.earliest, in.Now.Add(5*time.Second)).UTC()",
			breaks: "a run starts early",
		},
		"wake in the past": {
			file: "history.go", old: "return in.Now.Add(pruneRetry).UTC()", new: "return in.Now.Add(-pruneRetry).UTC()",
			breaks: "the controller spins",
		},
		"wake now": {
			file: "timing.go", old: "t := nextTime(times, baseOf(in, status), maxTime(in.Now, e.since))\n\tif !t.After(in.Now) {", new: "t := in.Now\n\tif t.IsZero() {",
			breaks: "the controller spins",
		},
		"lastScheduleTime goes back": {
			file: "observed.go", old: "if t != nil && !other.After(*t) {", new: "if t != nil && other.Equal(*t) {",
			breaks: "an older child takes lastScheduleTime back",
		},
		"completed child stays active": {
			file: "observed.go", old: "\t\tif !all[i].Phase.finished() {\n", new: "\t\tif all[i].Phase != Failed {\n",
			breaks: "status.active lists what has finished",
		},
		"history keeps one more": {
			file: "history.go", old: "len(finished) - int(max(0, *class.keep.Limit))", new: "len(finished) - 1 - int(max(0, *class.keep.Limit))",
			breaks: "more finished children are kept than the limit says",
		},
		"suspended is started": {
			file: "startchecks.go", old: "if in.Policy.Suspend {", new: "if in.Policy.Suspend && len(in.Stored.Active) > 0 {",
			breaks: "a suspended CronJob starts runs",
		},
		"deadline ignored": {
			file: "timing.go", old: "if deadline == nil || *deadline", new: "if true || deadline == nil || *deadline",
			breaks: "a run starts that is too late for its deadline",
		},
		"start before the stop succeeded": {
			file: "room.go", old: "\tif d.err != nil {\n\t\treturn &d\n\t}\n\treturn s.asksFor(t, &d)\n", new: "\treturn s.asksFor(t, &d)\n",
			breaks: "Replace starts although a stop failed",
		},
		"prunes what runs": {
			file: "history.go", old: "; c.Phase == class.phase && !c.Gone && !c.Deleting && isNewest(in, all, *c) {", new: "; (c.Phase == class.phase || class.phase == Failed && !c.Phase.finished()) && !c.Gone {",
			breaks: "a child is deleted while it runs",
		},
		"served time forgotten": {
			file: "memory.go", old: "served != nil {", new: "served != nil && served.IsZero() {",
			breaks: "a run starts again when its child was deleted before any status write succeeded",
		},
		"stale children trusted": {
			file: "livereads.go", old: "if known(all, ref.UID) || !inNamespace(in, ref) {", new: "if true {",
			breaks: "a running child leaves status.active because the cache does not show it yet",
		},
		"no catch-up": {
			file: "timing.go", old: "t.due = times.LastBetween(t.earliest, in.Now).UTC()", new: "t.due = times.LastBetween(maxTime(t.earliest, in.Now.Add(-time.Minute)), in.Now).UTC()",
			breaks: "a time is lost while nobody looked, although its deadline has not passed",
		},
		"refused create not repeated": {
			file:   "start.go",
			old:    "\td.misconfigured = refusedBy(refused.Err)\n",
			new:    "\td.misconfigured, d.err = refusedBy(refused.Err), nil\n",
			breaks: "a time is lost because its create failed once",
		},
		"recorded before it started": {
			file:   "plan.go",
			old:    "\tcase len(p.Starts) > 0:\n\t\treturn StepStart\n",
			new:    "\tcase p.StatusWrite != nil:\n\t\treturn StepWriteStatus\n\tcase len(p.Starts) > 0:\n\t\treturn StepStart\n",
			breaks: "a crash between the two loses a time",
		},
		"wakes late": {
			file: "timing.go", old: "t := nextTime(times, baseOf(in, status), maxTime(in.Now, e.since))", new: "t := nextTime(times, baseOf(in, status), maxTime(in.Now.Add(2*time.Minute), e.since))",
			breaks: "a time passes without a sync",
		},
		"start for what was served": {
			file: "timing.go", old: "t.earliest = earliest(t.base, ", new: "t.earliest = earliest(t.base.Add(-time.Hour), ",
			breaks: "a run starts for a time before the CronJob was created, or again after the clock was set back",
		},
		"start not recorded": {
			file: "start.go", old: "d.result, d.active, d.served = startCreated, &c, true", new: "d.result, d.active = startCreated, &c",
			breaks: "lastScheduleTime is written one sync late",
		},
		"deleted again and again": {
			file: "history.go", old: "!c.Gone && !c.Deleting && isNewest", new: "!c.Gone && isNewest",
			breaks: "a child on its way out is deleted in every sync",
		},
		"success forgotten": {
			file: "history.go", old: "\t\treturn successUnrecorded(s.in, c, stored)\n", new: "\t\treturn false\n",
			breaks: "a child is pruned before its success is recorded",
		},
		"Replace deletes manual runs": {
			file: "room.go", old: "return scheduledRuns(s.in, active)", new: "return active",
			breaks: "a run that somebody started by hand is deleted by the schedule",
		},
		"suspended manual run blocks Forbid": {
			file: "manual.go", old: "return c.Suspended && manual(in, c) })", new: "return false })",
			breaks: "a Job that runs nothing holds up every run",
		},
		"miss not told": {
			file: "statusevents.go", old: "if len(s.outcomes.reported) == 0 || s", new: "if len(s.outcomes.reported) < 100 || s",
			breaks: "a scheduled time is lost in silence",
		},
		"miss told again after a restart": {
			file: "outcomes.go", old: "\t\tfrom = maxTime(from, o.missedUpto)\n", new: "",
			breaks: "what was told before is told by the next process",
		},
		"what a crashed process started told as missed": {
			file: "outcomes.go", old: "passedIn(times, from, base, provedBetween(in, s.children, from, base))", new: "passedIn(times, from, base, nil)",
			breaks: "runs that did start are told as missed",
		},
		"collected misses lost": {
			file: "missed.go", old: "\to.unreported = append(slices.Clip(o.unreported), missed{reason: reason, passed: p})\n", new: "\tif o.reportedAt == nil {\n\t\to.unreported = append(slices.Clip(o.unreported), missed{reason: reason, passed: p})\n\t}\n",
			breaks: "only the first of many misses is told",
		},
	})
}

// Each of these takes more coincidences than 2,000 worlds have; the tables of scenarios and sequences of internal/cron
// find it.
func TestCronTables(t *testing.T) {
	t.Parallel()
	simulate(t, simulation{dir: "internal/cron", test: "Test.*", fixed: true, histories: "2000"}, map[string]bug{
		"edit at the scheduled time": {
			file: "timing.go", old: "if !t.due.After(e.since) {", new: "if t.due.Before(e.since) {",
			breaks: "the scheduled time of the very instant of the edit starts",
		},
		"Replace without stop": {
			file: "start.go", old: "\tpolicyReplaces,\n", new: "",
			breaks: "Replace starts beside what it should have stopped",
		},
		"adopts any UID": {
			file: "children.go", old: "ref.UID == \"\" || ref.UID != in.Owner.UID || ", new: "ref.UID == \"\" || ",
			breaks: "the children of a former CronJob of the same name count as ours",
		},
		"lost answer taken for a refusal": {
			file: "start.go", old: "\tcase !asked:\n\t\treturn &startDecision{result: startFailed, reads:", new: "\tcase !asked:\n\t\treturn s.createFailed(t, failedCreate(in, start, created.Err))\n\tcase false:\n\t\treturn &startDecision{result: startFailed, reads:",
			breaks: "a child is said to have failed that runs",
		},
		"unclear answers taken for refusals": {
			file: "createresult.go", old: "code >= 400 && code < 500 && code != statusRequestTimeout", new: "code >= 0 && statusRequestTimeout > 0",
			breaks: "a create that may have succeeded is forgotten, and the next run starts beside it",
		},
		"unconfirmed creates forgotten": {
			file: "start.go", old: "\tearlierCreateIsUnconfirmed,\n", new: "",
			breaks: "a run starts beside one whose create was not answered",
		},
		"an unconfirmed create ends with the read": {
			file: "unconfirmed.go", old: "return read.child == nil || !ours(in, *read.child)", new: "return true || !ours(in, *read.child)",
			breaks: "a child that only a live read showed is forgotten before a cache shows it",
		},
		"stale status trusted": {
			file: "livereads.go", old: "if in.Traits.ActiveRebuilt || in.read.owner {", new: "if true {",
			breaks: "a cache of the CronJob that stands still keeps the status from being written",
		},
		"other namespaces looked into": {
			file: "livereads.go", old: "if known(all, ref.UID) || !inNamespace(in, ref) {", new: "if known(all, ref.UID) {",
			breaks: "nonsense in the status makes the controller read what is not its own",
		},
		"duplicate references": {
			file: "observed.go", old: "if (ref.RetryAt != nil || !listed(o.status.Active, ref.UID)) && o.keeps(in, all, ref) {", new: "if o.keeps(in, all, ref) {",
			breaks: "nonsense in the status stays there",
		},
		"running child never listed": {
			file: "children.go", old: "return timeUnrecorded(in, c, &in.Stored) || started && !c.Phase.finished() && !c.Deleting", new: "return started && timeUnrecorded(in, c, &in.Stored)",
			breaks: "a run whose start was interrupted stays out of the status when a later time was recorded first",
		},
		"forbidden time dropped": {
			file: "room.go", old: "startDecision{result: startForbidden, events: []Event{forbidden(s.in", new: "startDecision{result: startForbidden, served: true, events: []Event{forbidden(s.in",
			breaks: "a time that Forbid held up does not start late",
		},
		"failed sync keeps no timer": {
			file: "decide.go", old: "if s.ready.mayStart && s.start.result != startTooManyMissed {", new: "if s.ready.mayStart && s.start.result != startTooManyMissed && p.Err == nil {",
			breaks: "the next time waits for the back-off of a sync that failed",
		},
		"reading keeps no timer": {
			file: "decide.go", old: "Carried: s.in.Carried, Wake: s.wakeAnyhow(), Misconfigured", new: "Carried: s.in.Carried, Misconfigured",
			breaks: "the next time waits for the back-off of a sync that could not begin",
		},
		"name holder gone again": {
			file:   "start.go",
			old:    "\t\td.err = fmt.Errorf(\"%s %s existed when it was to be created and is gone now; trying again\", in.Traits.ChildKind, name)\n",
			new:    "",
			breaks: "a time is lost because its name was taken for a moment",
		},
		"quota never freed": {
			file: "record.go", old: "if !written && s.start.err != nil && len(", new: "if false && !written && s.start.err != nil && len(",
			breaks: "the finished child that uses up a quota is kept because the quota lets nothing start",
		},
		"edit read late": {
			file: "decide.go", old: "if in.read.edited {", new: "if false {",
			breaks: "a sync that was held up dates an edit before it was made",
		},
		"edit dated by what is left of managed fields": {
			file: "edit.go", old: "if unchangedSince.After(recorded) && !zoneGone {", new: "if !unchangedSince.IsZero() && (zoneGone || !zoneGone) {",
			breaks: "an edit whose manager has vanished starts a run for a past time",
		},
		"edit seen while running dated by managed fields": {
			file: "edit.go", old: "\t\te.since = maxTime(e.since, in.Now)\n\t\te.after = e.since\n", new: "\t\te.since = maxTime(e.since, unchangedSince)\n\t\te.after = e.since\n",
			breaks: "an edit whose manager has vanished starts a run for a past time",
		},
		"first record without the timetable": {
			file: "record.go", old: "changed != 0 && (first || in.Traits.StatusCarriesAnnotation && !t.equal(&e.stored))", new: "changed != 0 && (first || true) && in.Traits.StatusCarriesAnnotation && !t.equal(&e.stored)",
			breaks: "a later process takes a change of labels for an edit, and a run is lost",
		},
		"miss not recorded": {
			file: "edit.go", old: "if t.Missed != nil && (e.stored.Missed == nil || t.Missed.After(*e.stored.Missed)) {", new: "if false {",
			breaks: "what was told before is told by the next process",
		},
		"misses of a crashed process forgotten": {
			file: "outcomes.go", old: "\t\t\to.enter(Missed, NotStartedOutage, passedIn(times, from, base, provedBetween(in, s.children, from, base)))\n", new: "",
			breaks: "what a process had passed over when it died is never told",
		},
		"an edit passes times over in silence": {
			file: "outcomes.go", old: "if e.fresh || e.now.Presumed && o.cursor == nil {", new: "if false {",
			breaks: "a scheduled time that an edit took with it is lost in silence",
		},
		"Replace starts before what it stops is gone": {
			file: "room.go", old: "in.Policy.Room.StartsBesideStopped || s.room() > 0 {", new: "true {",
			breaks: "a Timetable's Replace starts beside the run that it stops",
		},
		"cursor moves past a create that failed": {
			file: "decided.go", old: "\t\to.waiting = append(o.waiting, WaitingTime{", new: "\t\t_ = append(o.waiting, WaitingTime{",
			breaks: "a time that waits is forgotten, and has no outcome",
		},
		"catching up counts again after a crash": {
			file: "due.go", old: "\tproved := provedBetween(in, s.children, s.timing.base, in.Now)\n", new: "\tvar proved []time.Time\n",
			breaks: "times that a crashed process started are chosen again, and so others are not",
		},
		"more runs than the limit": {
			file: "room.go", old: "return s.in.Policy.Room.Limit - len(s.inTheWay())", new: "return s.in.Policy.Room.Limit + 1 - len(s.inTheWay())",
			breaks: "one run more is active than may be",
		},
		"the queue turns away the wrong one": {
			file: "wait.go", old: "others[places:])\n\t\tothers = others[:places]", new: "others[:len(others)-places])\n\t\tothers = others[len(others)-places:]",
			breaks: "a time that was promised a place loses it",
		},
		"attempt made twice": {
			file: "attempts.go", old: "\tnext := nextAttempt(in, all, run.Time, run.Attempt)\n", new: "\tvar next *Child\n",
			breaks: "an attempt that a crashed process started is not known, and comes again",
		},
		"a run between attempts takes no room": {
			file: "observed.go", old: "found = append(found, ref.child(in))", new: "if ref.RetryAt == nil {\n\t\t\t\tfound = append(found, ref.child(in))\n\t\t\t}",
			breaks: "Forbid starts beside a run that is to be repeated",
		},
	})
}
