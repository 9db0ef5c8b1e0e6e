// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/carillon-dev/carillon/internal/cron"
)

// removed is a child that somebody else deleted.
func removed(name string) given {
	return func(s *scene) {
		delete(s.live, name)
		s.in.Children = nil
	}
}

// What the caches and the status cannot tell, the memory of the process does; and what a create that is refused leaves
// to be cleaned up is cleaned up. Each of these was first seen in the simulated world.
func TestCarry(t *testing.T) {
	for name, c := range map[string]struct {
		kind  string
		given []given
		syncs []sync
	}{
		"guarantee 1 K a run that nobody could record starts once, although its child is gone": {
			kind:  "K",
			given: []given{recordFails(broken)},
			syncs: []sync{{now: "12:10:00", want: `
				start tick-29631610 for 2026-05-04T12:10:00Z
				record active [tick-29631610], last scheduled 2026-05-04T12:10:00Z
				say Normal SuccessfulCreate
				fail
				rq 10m0s`,
			}, {now: "12:10:05", given: []given{removed("tick-29631610"), recordFails(nil)}, want: `
				record active [], last scheduled 2026-05-04T12:10:00Z
				rq 9m55s`,
			}},
		},
		"guarantee 2 K a lost create that a look found blocks Forbid although neither status nor cache show it": {
			kind:  "K",
			given: []given{forbid, answerLost(broken), recordFails(conflict)},
			syncs: []sync{{now: "12:10:00", want: `
				start tick-29631610 for 2026-05-04T12:10:00Z
				look at tick-29631610
				record active [tick-29631610], last scheduled 2026-05-04T12:10:00Z
				fail
				rq 10m0s`,
			}, {now: "12:20:00", given: []given{stays, recordFails(nil)}, want: `
				look at tick-29631610
				record active [tick-29631610], last scheduled 2026-05-04T12:10:00Z
				say Normal JobAlreadyActive
				rq 10m0s`,
			}, {now: "12:20:01", given: []given{stays}, want: `
				look at tick-29631610
				say Normal JobAlreadyActive
				rq 9m59s`,
			}},
		},
		"guarantee 2 K a look before a create says nothing about it": {
			kind:  "K",
			given: []given{forbid, createFails(broken), getFails("tick-29631610", broken)},
			syncs: []sync{{now: "12:10:00", want: `
				start tick-29631610 for 2026-05-04T12:10:00Z
				look at tick-29631610
				say Warning FailedCreate
				fail
				rq 10m0s`,
			}, {now: "12:10:01", given: []given{createFails(nil), answerLost(broken), getFails("tick-29631610", nil)}, want: `
				look at tick-29631610
				start tick-29631610 for 2026-05-04T12:10:00Z
				look at tick-29631610
				record active [tick-29631610], last scheduled 2026-05-04T12:10:00Z
				rq 9m59s`,
			}},
		},
		"guarantee 6 V the child that uses up the quota is pruned although the quota refuses the next": {
			kind:  "V",
			given: []given{limits(0, 0), last("12:00"), active("12:00", complete, finished("12:10:03")), createFails(quota)},
			syncs: []sync{{now: "12:10:05", want: `
				start tick-29631610 for 2026-05-04T12:10:00Z
				record active [], last scheduled 2026-05-04T12:00:00Z, last successful 2026-05-04T12:10:03Z
				prune tick-29631600
				say Normal SawCompletedJob
				say Warning FailedCreate
				say Normal SuccessfulDelete
				fail
				rq 9m55s`,
			}, {now: "12:10:06", given: []given{createFails(nil)}, want: `
				start tick-29631610 for 2026-05-04T12:10:00Z
				record active [tick-29631610], last scheduled 2026-05-04T12:10:00Z, last successful 2026-05-04T12:10:03Z
				say Normal SuccessfulCreate
				rq 9m54s`,
			}},
		},
		"guarantee 6 V nothing is pruned if what it proves cannot be recorded": {
			kind: "V",
			given: []given{limits(0, 0), last("12:00"), active("12:00", complete, finished("12:10:03")), createFails(quota),
				recordFails(broken)},
			syncs: []sync{{now: "12:10:05", want: `
				start tick-29631610 for 2026-05-04T12:10:00Z
				record active [], last scheduled 2026-05-04T12:00:00Z, last successful 2026-05-04T12:10:03Z
				say Warning FailedCreate
				fail
				rq 9m55s`,
			}},
		},
		"4.3 K a run that was interrupted is listed as long as it goes on, whatever was recorded since": {
			kind:  "K",
			given: []given{last("12:10"), has("12:00"), has("12:10", complete, finished("12:10:03")), succeeded("12:10:03")},
			syncs: []sync{{now: "12:12:00", want: `
				look at owner
				record active [tick-29631600], last scheduled 2026-05-04T12:10:00Z, last successful 2026-05-04T12:10:03Z
				say Warning UnexpectedJob
				rq 8m0s`,
			}},
		},
		"B2 K an edit that is read after a sync began is as late as it is": {
			kind: "K",
			given: []given{served("*/5 * * * *", ""), has("12:05", manual), schedule("*/5 * * * *"), last("12:05"),
				liveState(schedule("*/10 * * * *"), generation(2), touched("12:10:30"), last("12:05"))},
			syncs: []sync{{now: "12:09:58", want: `
				look at owner
				rq 1ms`,
			}, {now: "12:10:31", given: []given{schedule("*/10 * * * *"), generation(2), touched("12:10:30")}, want: `
				look at owner
				record timetable {"schedules":["*/10 * * * *"],"since":"2026-05-04T12:10:31Z","missed":"2026-05-04T12:10:00Z"}
				say Warning UnexpectedJob
				say Warning MissSchedule
				rq 9m29s`,
			}},
		},
		"B2 K the very instant of an edit belongs to what was before it": {
			kind:  "K",
			given: []given{served("0 3 * * *", ""), generation(2)},
			syncs: []sync{{now: "12:10:00", want: `
				record timetable {"schedules":["*/10 * * * *"],"since":"2026-05-04T12:10:00Z"}
				rq 10m0s`,
			}},
		},
		"K23b2 K a name that was taken for a moment is tried again": {
			kind:  "K",
			given: []given{createFails(apierrors.NewAlreadyExists(jobs, "tick-29631610"))},
			syncs: []sync{{now: "12:10:00", want: `
				start tick-29631610 for 2026-05-04T12:10:00Z
				look at tick-29631610
				fail
				rq 10m0s`,
			}},
		},
		"Q6 V nonsense of others in the status is not looked into, and goes": {
			kind: "V",
			given: []given{last("12:10"), active("12:10"), func(s *scene) {
				s.in.Stored.Active = append(s.in.Stored.Active, s.in.Stored.Active[0],
					cron.ActiveRun{ObjectReference: corev1.ObjectReference{Namespace: "other", Name: "elsewhere", UID: "elsewhere"}})
			}},
			syncs: []sync{{now: "12:12:00", want: `
				record active [tick-29631610], last scheduled 2026-05-04T12:10:00Z
				say Warning StaleReference
				rq 8m0s`,
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			fixture(c.kind, c.syncs[0].now, c.given...).playAll(t, c.syncs)
		})
	}
}

// A plan that asks for looks has a wake-up all the same: a shell that gives the sync up before it can look does not let
// the next scheduled time wait for its back-off.
func TestReadWakes(t *testing.T) {
	for name, s := range map[string]*scene{
		"K at the CronJob":         fixture("K", "12:12:00", last("12:10"), has("12:10")),
		"K at an active child":     fixture("K", "12:12:00", last("12:10"), listed("12:10")),
		"K at what is replaced":    fixture("K", "12:20:00", replace, last("12:10"), active("12:10")),
		"V at an active child":     fixture("V", "12:12:00", last("12:10"), listed("12:10")),
		"T at an active child":     fixture("T", "12:12:00", last("12:10"), listed("12:10")),
		"K at an edit of long ago": fixture("K", "12:12:00", noted(`{"schedules":["*/10 * * * *"],"since":"2026-05-04T12:01:00Z"}`), listed("12:10")),
		"V at the CronJob, Forbid": fixture("V", "12:20:00", forbid, last("12:10"), has("12:10")),
	} {
		t.Run(name, func(t *testing.T) {
			plan := cron.Decide(s.in)
			want := at("12:20:00")
			if s.in.Now.Equal(want) {
				want = at("12:30:00")
			}
			if plan.NextStep() != cron.StepRead || !plan.Wake.Equal(want) {
				t.Errorf("want looks and a wake-up at %v, got:\n%s", want, plan)
			}
		})
	}
}
