// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planted_test

import "testing"

// The simulated world of internal/cron finds each of these.
func TestCron(t *testing.T) {
	t.Parallel()
	simulate(t, simulation{dir: "internal/cron", test: "TestWorld"}, map[string]bug{
		"no name lock": {
			file: "children.go", old: "n := t.Unix()\n", new: "n := in.Now.Unix()\n",
			breaks: "the child's name depends on the attempt, so it locks nothing",
		},
		"Forbid trusts status.active": {
			file:   "books.go",
			old:    "\tvar found []Child\n\tfor _, c := range all {\n\t\tif !c.Phase.finished() {",
			new:    "\tvar found []Child\n\tfor _, c := range all {\n\t\tif !c.Phase.finished() && listed(in.State.Active, c.UID) {",
			breaks: "a child that no status lists is no obstacle",
		},
		"prune before record": {
			file:   "plan.go",
			old:    "\tcase p.Record != nil:\n\t\treturn PhaseRecord\n\tcase len(p.Prune) > 0:\n\t\treturn PhasePrune\n",
			new:    "\tcase len(p.Prune) > 0:\n\t\treturn PhasePrune\n\tcase p.Record != nil:\n\t\treturn PhaseRecord\n",
			breaks: "a crash between the two forgets a scheduled time",
		},
		"prune what proves": {
			file: "history.go", old: "case unrecorded(in, c, in.State), c.Name == due:", new: "case c.Name == due:",
			breaks: "a failed write and a prune together forget a scheduled time",
		},
		"crashed start not remembered": {
			file: "books.go", old: "\t\t\tb.state.LastSchedule = later(b.state.LastSchedule, t)\n", new: "\t\t\t_ = t\n",
			breaks: "a child that a crashed pass started is pruned, and its scheduled time starts again",
		},
		"no edit guard": {
			file: "timing.go", old: "if !t.due.After(e.since) {", new: "if false {",
			breaks: "an edit starts runs for the time before it",
		},
		"edit forgotten by a restart": {
			file: "edit.go", old: "for _, t := range []timetable{stored, before} {", new: "for _, t := range []timetable{before} {",
			breaks: "the annotation that remembers an edit is not read",
		},
		"edit at the scheduled time": {
			file: "timing.go", old: "if !t.due.After(e.since) {", new: "if t.due.Before(e.since) {",
			breaks: "the scheduled time of the very instant of the edit starts",
		},
		"start for what is still to come": {
			file: "timing.go", old: "t.due = c.last(t.earliest, in.Now).UTC()", new: "t.due = c.last(t.earliest, in.Now.Add(5*time.Second)).UTC()",
			breaks: "a run starts early",
		},
		"wake in the past": {
			file: "history.go", old: "return in.Now.Add(pruneRetry).UTC()", new: "return in.Now.Add(-pruneRetry).UTC()",
			breaks: "the controller spins",
		},
		"wake now": {
			file: "timing.go", old: "t := c.next(baseOf(in, state), maxTime(in.Now, e.since))\n\tif !t.After(in.Now) {", new: "t := in.Now\n\tif t.IsZero() {",
			breaks: "the controller spins",
		},
		"lastScheduleTime goes back": {
			file: "books.go", old: "if t != nil && !other.After(*t) {", new: "if t != nil && other.Equal(*t) {",
			breaks: "an older child takes lastScheduleTime back",
		},
		"completed child stays active": {
			file: "books.go", old: "\t\tif !all[i].Phase.finished() {\n", new: "\t\tif all[i].Phase != Failed {\n",
			breaks: "status.active lists what has finished",
		},
		"history keeps one more": {
			file: "history.go", old: "len(finished)-int(max(0, *class.keep))", new: "len(finished)-1-int(max(0, *class.keep))",
			breaks: "more finished children are kept than the limit says",
		},
		"suspended is started": {
			file: "gates.go", old: "if in.Spec.Suspend {", new: "if in.Spec.Suspend && len(in.State.Active) > 0 {",
			breaks: "a suspended CronJob starts runs",
		},
	})
}
