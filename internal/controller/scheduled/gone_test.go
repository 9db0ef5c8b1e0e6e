// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/testkit/make"
)

// A Job that is deleted as soon as it has ended (ttlSecondsAfterFinished 0, or by hand) counts as one that was there
// when the sync looked, if the watch showed its end; of an end that nobody showed nothing is known (B13).
func TestFinishedAndGone(t *testing.T) {
	owner := tick().Obj()
	running := child(owner, "12:10:00").Started(at("12:10:00")).ResourceVersion("10")
	complete := running.Complete(at("12:11:00")).ResourceVersion("11")
	failed := running.Failed(at("12:11:00"), "DeadlineExceeded").ResourceVersion("11")
	active := tick().LastSchedule(at("12:10:00")).Active(running.Obj())
	older := func(clockTimes ...string) (jobs []client.Object) {
		for _, c := range clockTimes {
			jobs = append(jobs, child(owner, c).Started(at(c)).Complete(at(c).Add(time.Minute)).Obj())
		}
		return jobs
	}
	ended := func(end make.JobBuilder) func(*world) {
		return func(w *world) { w.updateJob(running, end); w.deleteJob(end) }
	}
	for name, test := range map[string]struct {
		owner  make.CronJobBuilder
		kept   []client.Object // what else is there
		shown  func(*world)    // what the watches show before the sync
		fault  error           // of the first record
		calls  []string
		events []string
		last   string
		active []string
		want   string // lastSuccessfulTime
		runs   map[string]int
	}{
		"CJ-123 ended and deleted before a sync": {
			owner: active, shown: ended(complete),
			calls: []string{"record"}, events: []string{"SawCompletedJob: Complete"}, last: "12:10:00", want: "12:11:00",
		},
		"CJ-123 the last state comes with the deletion": {
			owner: active, shown: func(w *world) { w.deleteJob(complete) },
			calls: []string{"record"}, events: []string{"SawCompletedJob: Complete"}, last: "12:10:00", want: "12:11:00",
		},
		"CJ-123 the cache has it no more, and its deletion is not told yet": {
			owner: active, shown: func(w *world) { w.updateJob(running, complete) },
			calls: []string{"record"}, events: []string{"SawCompletedJob: Complete"}, last: "12:10:00", want: "12:11:00",
		},
		"CJ-123 failed and deleted": {
			owner: active.LastSuccessful(at("12:01:00")), shown: ended(failed),
			calls: []string{"record"}, events: []string{"SawCompletedJob: Failed"}, last: "12:10:00", want: "12:01:00",
		},
		"CJ-123 the success is not the latest (CJ-102)": {
			owner: active.LastSuccessful(at("12:11:30")), shown: ended(complete),
			calls: []string{"record"}, events: []string{"SawCompletedJob: Complete"}, last: "12:10:00", want: "12:11:30",
		},
		"CJ-123 a run by hand": {
			owner: tick().LastSchedule(at("12:10:00")), shown: func(w *world) {
				w.deleteJob(make.Job("batch", "by-hand").Of(owner).UID("by-hand").Started(at("12:09:00")).Complete(at("12:11:00")))
			},
			calls: []string{"record"}, last: "12:10:00", want: "12:11:00",
		},
		"CJ-124 a tombstone with the end": {
			owner: active, shown: func(w *world) { w.buryJob(complete) },
			calls: []string{"record"}, events: []string{"SawCompletedJob: Complete"}, last: "12:10:00", want: "12:11:00",
		},
		"CJ-125 a tombstone without the end": {
			owner: active, shown: func(w *world) { w.buryJob(running) },
			calls: []string{"get tick-29631610", "record"}, events: []string{"MissingJob"}, last: "12:10:00",
		},
		"CJ-125 deleted while it ran": {
			owner: active, shown: func(w *world) { w.deleteJob(running) },
			calls: []string{"get tick-29631610", "record"}, events: []string{"MissingJob"}, last: "12:10:00",
		},
		"CJ-126 deleted while the controller was down": {
			owner: active, shown: func(w *world) { ended(complete)(w); w.restart() },
			calls: []string{"get tick-29631610", "record"}, events: []string{"MissingJob"}, last: "12:10:00",
		},
		"CJ-127 it takes no place in the history": {
			owner: active.History(2, 1), kept: older("11:40:00", "11:50:00"), shown: ended(complete),
			calls: []string{"record"}, events: []string{"SawCompletedJob: Complete"}, last: "12:10:00", want: "12:11:00",
		},
		"CJ-127 limit 0": {
			owner: active.History(0, 0), shown: ended(complete),
			calls: []string{"record"}, events: []string{"SawCompletedJob: Complete"}, last: "12:10:00", want: "12:11:00",
		},
		"CJ-128 the record fails at first": {
			owner: active, shown: ended(complete), fault: broken,
			calls: []string{"record", "record"}, events: []string{"SawCompletedJob: Complete"}, last: "12:10:00", want: "12:11:00",
		},
		"CJ-129 another process had made it and recorded nothing": {
			owner: tick(), shown: ended(complete),
			calls: []string{"record"}, events: []string{"SawCompletedJob: Complete"}, last: "12:10:00", want: "12:11:00",
		},
		"B13 what proves no scheduled time takes no name": {
			owner: tick(), shown: func(w *world) {
				w.deleteJob(make.Job("batch", "tick-29631610").Of(owner).UID("by-hand").Started(at("12:09:00")).Complete(at("12:11:00")))
			},
			calls: []string{"get tick", "create tick-29631610", "record"}, events: []string{"SuccessfulCreate"},
			last: "12:10:00", active: []string{"tick-29631610"}, want: "12:11:00", runs: map[string]int{"started": 1},
		},
		"of a CronJob that had the name before": {
			owner: tick().LastSchedule(at("12:10:00")), shown: func(w *world) {
				w.deleteJob(child(tick().UID("cj-0").Obj(), "12:10:00").Complete(at("12:11:00")))
			},
			last: "12:10:00",
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := read(t, "carillon_cronjob_runs_total")
			w := newWorld(t, append([]client.Object{test.owner.Obj()}, test.kept...)...)
			test.shown(w)
			if test.fault != nil {
				w.fail("record", fault{err: test.fault})
			}
			for _, clockTime := range []string{"12:12:00", "12:12:01", "12:12:02"} { // one of them has nothing to do
				w.sync(clockTime)
				w.see()
			}
			w.wantCalls(test.calls...)
			w.wantEvents(test.events...)
			w.wantStatus(test.last, test.active...)
			var cj batchv1.CronJob
			w.load("tick", &cj)
			got := ""
			if s := cj.Status.LastSuccessfulTime; s != nil {
				got = s.UTC().Format("15:04:05")
			}
			if got != test.want {
				t.Errorf("lastSuccessfulTime is %q, want %q", got, test.want)
			}
			// What became of the scheduled time was counted when it started.
			if diff := cmp.Diff(test.runs, runsSince(t, w.info.Name, before), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("runs counted (-want +got):\n%s", diff)
			}
			if left := w.tracked.goneChildren(tickKey, "cj-1", func(cron.Child) bool { return true }); len(left) != 0 {
				t.Errorf("%d are remembered although all is recorded", len(left))
			}
		})
	}
}

// buryJob shows that the Job is gone as a list does: with the state that the cache had, which may not be its last.
func (w *world) buryJob(b make.JobBuilder) {
	w.childHandlers(w.child).Delete(w.Context(), deleteEvent{Object: b.Obj(), DeleteStateUnknown: true}, w.queued)
}
