// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron_test

import (
	"testing"

	"github.com/carillon-dev/carillon/internal/cron"
)

// Scenarios that take more than one sync. The cache shows everything by the time of the next sync.
func TestSequences(t *testing.T) {
	for name, c := range map[string]struct {
		kind  string
		given []given
		syncs []sync
	}{
		"CJ-076 K a finished child is adopted once": {
			kind:  "K",
			given: []given{has("12:10", complete, finished("12:10:03"))},
			syncs: []sync{{now: "12:10:05", want: `
				record active [], last scheduled 2026-05-04T12:10:00Z, last successful 2026-05-04T12:10:03Z
				say Normal SawCompletedJob
				rq 9m55s`,
			}, {now: "12:10:06", want: `rq 9m54s`}},
		},
		"CJ-086 K a conflict after the create ends with one child, listed once": {
			kind:  "K",
			given: []given{recordFails(conflict)},
			syncs: []sync{{now: "12:10:00", want: `
				start tick-29631610 for 2026-05-04T12:10:00Z
				record active [tick-29631610], last scheduled 2026-05-04T12:10:00Z
				say Normal SuccessfulCreate
				fail
				rq 10m0s`,
			}, {now: "12:10:01", given: []given{recordFails(nil)}, want: `
				look at owner
				record active [tick-29631610], last scheduled 2026-05-04T12:10:00Z
				say Warning UnexpectedJob
				rq 9m59s`,
			}, {now: "12:10:02", want: `rq 9m58s`}},
		},
		"B4 K status writes that fail for an hour delay no start": {
			kind:  "K",
			given: []given{recordFails(broken)},
			syncs: []sync{{now: "12:10:00", want: `
				start tick-29631610 for 2026-05-04T12:10:00Z
				record active [tick-29631610], last scheduled 2026-05-04T12:10:00Z
				say Normal SuccessfulCreate
				fail
				rq 10m0s`,
			}, {now: "12:20:00", want: `
				look at owner
				start tick-29631620 for 2026-05-04T12:20:00Z
				record active [tick-29631610 tick-29631620], last scheduled 2026-05-04T12:20:00Z
				say Normal SuccessfulCreate
				fail
				rq 10m0s`,
			}},
		},
		"B1 K,V a crash past the next time leads to no overlap under Forbid": {
			kind:  "K",
			given: []given{forbid, has("12:10")},
			syncs: []sync{{now: "12:20:05", want: `
				look at owner
				record active [tick-29631610], last scheduled 2026-05-04T12:10:00Z
				say Warning UnexpectedJob
				say Normal JobAlreadyActive
				rq 9m55s`,
			}, {now: "12:21:00", given: []given{ends("tick-29631610", complete)}, want: `
				start tick-29631620 for 2026-05-04T12:20:00Z
				record active [tick-29631620], last scheduled 2026-05-04T12:20:00Z
				say Normal SawCompletedJob
				say Normal SuccessfulCreate
				rq 9m0s`,
			}},
		},
		"B3 K R3: limit 0 prunes the proof only after it was recorded": {
			kind:  "K",
			given: []given{limits(0, 0), has("12:10", complete), recordFails(broken)},
			syncs: []sync{{now: "12:10:05", want: `
				record active [], last scheduled 2026-05-04T12:10:00Z
				fail
				rq 9m55s`,
			}, {now: "12:10:06", given: []given{recordFails(nil)}, want: `
				record active [], last scheduled 2026-05-04T12:10:00Z
				prune tick-29631610
				say Normal SuccessfulDelete
				rq 9m54s`,
			}, {now: "12:10:07", want: `rq 9m53s`}},
		},
		"B3 V a sync that fails writes nothing, so it prunes no proof": {
			kind:  "V",
			given: []given{limits(0, 0), zone("Mars/Olympus"), has("12:10", complete), has("12:00", failed), last("12:00")},
			syncs: []sync{{now: "12:10:05", want: `
				prune tick-29631600
				say Warning InvalidTimeZone
				say Normal SuccessfulDelete
				fail
				rq 30m0s`,
			}},
		},
		"guarantee 6 K,V,T a clock that is behind that of the server keeps no child": {
			kind:  "K",
			given: []given{limits(0, 0), last("12:10"), has("12:10", complete, func(c *cron.Child) { c.Created = at("12:10:30") }), succeeded("12:10:40")},
			syncs: []sync{{now: "12:10:05", want: `
				prune tick-29631610
				say Normal SuccessfulDelete
				rq 9m55s`,
			}},
		},
		"CJ-096 T Q5: with both limits 0 a time runs once": {
			kind:  "T",
			given: []given{limits(0, 0)},
			syncs: []sync{{now: "12:10:00", want: `
				start tick-1777896600 for 2026-05-04T12:10:00Z
				record active [tick-1777896600], last scheduled 2026-05-04T12:10:00Z
				rq 10m0s`,
			}, {now: "12:11:00", given: []given{ends("tick-1777896600", complete)}, want: `
				record active [], last scheduled 2026-05-04T12:10:00Z
				prune tick-1777896600
				rq 9m0s`,
			}, {now: "12:11:01", want: `rq 8m59s`}},
		},
		"A18 K a clock that steps back repeats nothing": {
			kind: "K",
			syncs: []sync{{now: "12:10:00", want: `
				start tick-29631610 for 2026-05-04T12:10:00Z
				record active [tick-29631610], last scheduled 2026-05-04T12:10:00Z
				say Normal SuccessfulCreate
				rq 10m0s`,
			}, {now: "12:09:58", want: `rq 10m2s`}, {now: "12:10:00", want: `rq 10m0s`}},
		},
		"R20 K from Forbid to Replace with three unfinished children": {
			kind:  "K",
			given: []given{forbid, last("12:00"), active("11:40"), active("11:50"), active("12:00")},
			syncs: []sync{{now: "12:10:00", want: `
				say Normal JobAlreadyActive
				rq 10m0s`,
			}, {now: "12:11:00", given: []given{replace}, want: `
				look at tick-29631580
				look at tick-29631590
				look at tick-29631600
				stop tick-29631580
				stop tick-29631590
				stop tick-29631600
				start tick-29631610 for 2026-05-04T12:10:00Z
				record active [tick-29631610], last scheduled 2026-05-04T12:10:00Z
				say Normal SuccessfulDelete
				say Normal SuccessfulDelete
				say Normal SuccessfulDelete
				say Normal SuccessfulCreate
				rq 9m0s`,
			}},
		},
		"R10 K a child that is gone when it is to be replaced is an error, and none the next time": {
			kind:  "K",
			given: []given{replace, last("12:10"), active("12:10"), func(s *scene) { delete(s.live, "tick-29631610") }},
			syncs: []sync{{now: "12:20:00", want: `
				look at tick-29631610
				say Warning FailedGet
				fail
				rq 10m0s`,
			}, {now: "12:20:01", want: `
				look at tick-29631610
				start tick-29631620 for 2026-05-04T12:20:00Z
				record active [tick-29631620], last scheduled 2026-05-04T12:20:00Z
				say Normal MissingJob
				say Normal SuccessfulCreate
				rq 9m59s`,
			}},
		},
		"R23 K the CronJob itself cannot be read": {
			kind:  "K",
			given: []given{last("12:00"), limits(0, 1), has("11:50", complete), has("12:05", manual), ownerFails(broken)},
			syncs: []sync{{now: "12:10:00", want: `
				look at owner
				prune tick-29631590
				say Normal SuccessfulDelete
				fail
				rq 10m0s`,
			}},
		},
		"K23b K a holder that cannot be read, or is gone again, is retried": {
			kind:  "K",
			given: []given{onServer("12:10"), getFails("tick-29631610", broken)},
			syncs: []sync{{now: "12:10:00", want: `
				start tick-29631610 for 2026-05-04T12:10:00Z
				look at tick-29631610
				fail
				rq 10m0s`,
			}},
		},
		"K21 K a child that has finished meanwhile is not deleted by Replace": {
			kind: "K",
			given: []given{replace, last("12:10"), active("12:10"),
				onServer("12:10", complete, finished("12:19:59"))},
			syncs: []sync{{now: "12:20:00", want: `
				look at tick-29631610
				start tick-29631620 for 2026-05-04T12:20:00Z
				record active [tick-29631620], last scheduled 2026-05-04T12:20:00Z, last successful 2026-05-04T12:19:59Z
				say Normal SawCompletedJob
				say Normal SuccessfulCreate
				rq 10m0s`,
			}},
		},
		"A3 K the answer to a create got lost, and the child is found": {
			kind:  "K",
			given: []given{answerLost(broken)},
			syncs: []sync{{now: "12:10:00", want: `
				start tick-29631610 for 2026-05-04T12:10:00Z
				look at tick-29631610
				record active [tick-29631610], last scheduled 2026-05-04T12:10:00Z
				rq 10m0s`,
			}},
		},
		"A3 V the create failed for no clear reason, and there is no child": {
			kind:  "V",
			given: []given{createFails(broken)},
			syncs: []sync{{now: "12:10:00", want: `
				start tick-29631610 for 2026-05-04T12:10:00Z
				look at tick-29631610
				say Warning FailedCreate
				fail
				rq 10m0s`,
			}},
		},
		"A4 K a child of which nobody can be sure blocks Forbid": {
			kind:  "K",
			given: []given{forbid, answerLost(broken), getFails("tick-29631610", broken)},
			syncs: []sync{{now: "12:10:59", want: `
				start tick-29631610 for 2026-05-04T12:10:00Z
				look at tick-29631610
				say Warning FailedCreate
				fail
				rq 9m1s`,
			}, {now: "12:20:00", given: []given{stays}, want: `
				look at tick-29631610
				fail
				rq 10m0s`,
			}, {now: "12:20:01", given: []given{stays, getFails("tick-29631610", nil)}, want: `
				look at tick-29631610
				record active [tick-29631610], last scheduled 2026-05-04T12:10:00Z
				say Normal JobAlreadyActive
				rq 9m59s`,
			}, {now: "12:21:00", given: []given{answerLost(nil), ends("tick-29631610", complete)}, want: `
				start tick-29631620 for 2026-05-04T12:20:00Z
				record active [tick-29631620], last scheduled 2026-05-04T12:20:00Z
				say Normal SawCompletedJob
				say Normal SuccessfulCreate
				rq 9m0s`,
			}},
		},
		"A4 K a child of which nobody can be sure, and which is not there": {
			kind:  "K",
			given: []given{replace, createFails(broken), getFails("tick-29631610", broken)},
			syncs: []sync{{now: "12:10:59", want: `
				start tick-29631610 for 2026-05-04T12:10:00Z
				look at tick-29631610
				say Warning FailedCreate
				fail
				rq 9m1s`,
			}, {now: "12:20:00", given: []given{createFails(nil), getFails("tick-29631610", nil)}, want: `
				look at tick-29631610
				start tick-29631620 for 2026-05-04T12:20:00Z
				record active [tick-29631620], last scheduled 2026-05-04T12:20:00Z
				say Warning MissSchedule
				say Normal SuccessfulCreate
				rq 10m0s`,
			}},
		},
		"R14 K with a full quota the run is retried within its time, and a newer one replaces it": {
			kind:  "K",
			given: []given{createFails(quota)},
			syncs: []sync{{now: "12:10:00", want: `
				start tick-29631610 for 2026-05-04T12:10:00Z
				say Warning FailedCreate
				fail
				rq 10m0s`,
			}, {now: "12:20:30", given: []given{createFails(nil)}, want: `
				start tick-29631620 for 2026-05-04T12:20:00Z
				record active [tick-29631620], last scheduled 2026-05-04T12:20:00Z
				say Warning MissSchedule
				say Normal SuccessfulCreate
				rq 9m30s`,
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			fixture(c.kind, c.syncs[0].now, c.given...).playAll(t, c.syncs)
		})
	}
}
