// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
)

// noted is what the annotation says.
func noted(text string) given { return func(s *scene) { s.annotation = text; s.read() } }

// generation is how often the spec was changed, plus one.
func generation(n int64) given { return func(s *scene) { s.in.Owner.Generation = n } }

// touched is what managed fields say about the last edit.
func touched(text string) given {
	return func(s *scene) { s.in.Owner.ScheduleUnchangedSince = at(text) }
}

// A change of the schedule or the time zone starts nothing for a time up to the change (decision B2). That replaces
// what the contract's handlers do with a delayed wake-up: an edit is decided on at once.
func TestEdits(t *testing.T) {
	run(t, map[string]scenario{
		"CJ-044 K,V the schedule was changed": {
			given: []given{served("*/5 * * * *", ""), schedule("0 3 * * *"), last("12:00")},
			now:   "12:01:00",
			want: `
				record timetable {"schedules":["0 3 * * *"],"since":"2026-05-04T12:01:00Z"}
				rq 14h59m0s`,
		},
		"CJ-045 K,V the time zone was changed": {
			given: []given{schedule("0 6 * * *"), served("0 6 * * *", ""), zone("Asia/Tokyo"), last("06:00")},
			now:   "12:01:00",
			want: `
				record timetable {"schedules":["0 6 * * *"],"timeZone":"Asia/Tokyo","since":"2026-05-04T12:01:00Z"}
				rq 8h59m0s`,
		},
		"CJ-046 K the new schedule cannot be read": {
			given: []given{served("*/10 * * * *", ""), schedule("61 * * * *")},
			now:   "12:10:00",
			want: `
				record timetable {"schedules":["61 * * * *"],"since":"2026-05-04T12:10:00Z"}
				say Warning UnParseableCronJobSchedule
				rq 30m0s`,
		},
		"CJ-046 V the new schedule cannot be read": {
			given: []given{served("*/10 * * * *", ""), schedule("61 * * * *")},
			now:   "12:10:00",
			want: `
				record timetable {"schedules":["61 * * * *"],"since":"2026-05-04T12:10:00Z"}
				say Warning UnParseableCronJobSchedule
				fail
				rq 30m0s`,
		},
		"CJ-047 K B6: the new schedule names no date, and nothing is scheduled": {
			given: []given{served("*/10 * * * *", ""), schedule("0 0 30 2 *")},
			now:   "12:10:00",
			want: `
				record timetable {"schedules":["0 0 30 2 *"],"since":"2026-05-04T12:10:00Z"}
				say Warning InvalidSchedule
				rq 30m0s`,
		},
		"CJ-048 K the new schedule carries a zone, which the sync over the edit reports": {
			given: []given{served("*/10 * * * *", ""), schedule("TZ=UTC 0 3 * * *")},
			now:   "12:10:00",
			want: `
				record timetable {"schedules":["TZ=UTC 0 3 * * *"],"since":"2026-05-04T12:10:00Z"}
				say Warning UnsupportedSchedule
				rq 14h50m0s`,
		},
		"CJ-056 K,V B2: a time of the new schedule before the change does not run at the old wake-up": {
			given: []given{schedule("50 11 * * *"), last("2026-05-03T23:00:00Z"), made("2026-05-01T00:00:00Z"),
				noted(`{"schedules":["50 11 * * *"],"since":"2026-05-04T12:01:00Z"}`)},
			now:  "23:00:00.1",
			want: `rq 12h49m59.9s`,
		},
		"A1a K,V daily at 23 is changed to daily at 5": {
			given: []given{served("0 23 * * *", ""), schedule("0 5 * * *"), last("2026-05-03T23:00:00Z")},
			now:   "12:00:00",
			want: `
				record timetable {"schedules":["0 5 * * *"],"since":"2026-05-04T12:00:00Z"}
				rq 17h0m0s`,
		},
		"A1a K,V and the old time comes": {
			given: []given{noted(`{"schedules":["0 5 * * *"],"since":"2026-05-04T12:00:00Z"}`), schedule("0 5 * * *"),
				last("2026-05-03T23:00:00Z")},
			now:  "23:00:00",
			want: `rq 6h0m0s`,
		},
		"A1b K,V from a minute that ran to the present one": {
			given: []given{served("33 16 * * *", ""), schedule("34 16 * * *"), last("16:33")},
			now:   "16:34:08",
			want: `
				record timetable {"schedules":["34 16 * * *"],"since":"2026-05-04T16:34:08Z"}
				rq 23h59m52s`,
		},
		"A1c K,V an unchanged spec is applied again": {
			given: []given{served("*/10 * * * *", ""), generation(7), touched("12:14"), last("12:10")},
			now:   "12:15:00",
			want:  "rq 5m0s",
		},
		"B2 K,V a time of the new schedule after the change runs, however late it is noticed": {
			given: []given{noted(`{"schedules":["0 3 * * *"]}`), touched("12:25"), generation(2), last("03:00")},
			now:   "12:34:00",
			want: `
				start tick-29631630 for 2026-05-04T12:30:00Z
				record active [tick-29631630], last scheduled 2026-05-04T12:30:00Z
				say Normal SuccessfulCreate
				rq 6m0s`,
		},
		"B2 K,V a change while nobody looked is seen by the annotation": {
			given: []given{noted(`{"schedules":["0 3 * * *"]}`), touched("12:31"), generation(2), last("03:00")},
			now:   "12:34:00",
			want: `
				record timetable {"schedules":["*/10 * * * *"],"since":"2026-05-04T12:31:00Z"}
				rq 6m0s`,
		},
		"B2 K,V a time of the old schedule that nobody got to before the change is told": {
			given: []given{noted(`{"schedules":["0 * * * *"]}`), touched("12:31"), generation(2), last("10:00"), made("09:00")},
			now:   "12:34:00",
			want: `
				record timetable {"schedules":["*/10 * * * *"],"since":"2026-05-04T12:31:00Z","missed":"2026-05-04T12:00:00Z"}
				say Warning MissSchedule
				rq 6m0s`,
		},
		"B2 K,V found after a restart: managed fields that are older than the last record date nothing": {
			given: []given{noted(`{"schedules":["0 3 * * *"]}`), touched("03:00"), generation(2), last("12:03"), made("01:00")},
			now:   "12:34:00",
			want: `
				record timetable {"schedules":["*/10 * * * *"],"since":"2026-05-04T12:34:00Z","missed":"2026-05-04T12:30:00Z"}
				say Warning MissSchedule
				rq 6m0s`,
		},
		"B2 K,V found after a restart: a time zone that is gone has no date": {
			given: []given{noted(`{"schedules":["0 6 * * *"],"timeZone":"Asia/Tokyo"}`), schedule("0 6 * * *"), touched("02:00"),
				generation(3), last("2026-05-03T21:00:00Z"), made("2026-05-01T00:00:00Z")},
			now: "12:34:00",
			want: `
				record timetable {"schedules":["0 6 * * *"],"since":"2026-05-04T12:34:00Z","missed":"2026-05-04T06:00:00Z"}
				say Warning MissSchedule
				rq 17h26m0s`,
		},
		"B2 K,V seen while we run: the manager that owned nothing but the time zone removes it": {
			given: []given{schedule("0 6 * * *"), touched("2026-05-01T00:00:00Z"), served("0 6 * * *", "America/New_York"), generation(3),
				last("2026-05-03T10:00:00Z"), made("2026-05-01T00:00:00Z"),
				noted(`{"schedules":["0 6 * * *"],"timeZone":"America/New_York"}`)},
			now: "07:00:00",
			want: `
				record timetable {"schedules":["0 6 * * *"],"since":"2026-05-04T07:00:00Z"}
				rq 23h0m0s`,
		},
		"B2 K,V a change that is seen late starts nothing for the time until then, and that is told": {
			given: []given{served("0 3 * * *", ""), touched("12:25"), generation(2), last("03:00")},
			now:   "12:34:00",
			want: `
				record timetable {"schedules":["*/10 * * * *"],"since":"2026-05-04T12:34:00Z","missed":"2026-05-04T12:30:00Z"}
				say Warning MissSchedule
				rq 6m0s`,
		},
		"B2 K,V a change that left no trace but the last time is seen by it": {
			given: []given{generation(2), last("12:03"), made("11:00")},
			now:   "12:34:00",
			want: `
				record timetable {"schedules":["*/10 * * * *"],"since":"2026-05-04T12:34:00Z","missed":"2026-05-04T12:30:00Z"}
				say Warning MissSchedule
				rq 6m0s`,
		},
		"B2 K,V what may have been a change, until the last one of any kind, starts nothing, and is told": {
			given: []given{generation(2), touched("12:31"), made("11:00")},
			now:   "12:34:00",
			want: `
				record timetable {"schedules":["*/10 * * * *"],"since":"2026-05-04T12:31:00Z","presumed":true,"missed":"2026-05-04T12:30:00Z"}
				say Warning MissSchedule
				rq 6m0s`,
		},
		"B2 K,V and leaves later times alone": {
			given: []given{generation(2), touched("12:29"), made("11:00")},
			now:   "12:34:00",
			want: `
				start tick-29631630 for 2026-05-04T12:30:00Z
				record active [tick-29631630], last scheduled 2026-05-04T12:30:00Z
				say Warning MissSchedule
				say Normal SuccessfulCreate
				rq 6m0s`,
		},
		"B2 K,V a change of something else, seen as such, loses no run": {
			given: []given{forbid, generation(3), served("*/10 * * * *", ""), touched("12:31"), last("12:20")},
			now:   "12:34:00",
			want: `
				start tick-29631630 for 2026-05-04T12:30:00Z
				record active [tick-29631630], last scheduled 2026-05-04T12:30:00Z
				say Normal SuccessfulCreate
				rq 6m0s`,
		},
		"B2 K,V never edited: the last time is taken as it is": {
			given: []given{generation(1), last("12:03"), made("11:00")},
			now:   "12:34:00",
			want: `
				start tick-29631630 for 2026-05-04T12:30:00Z
				record active [tick-29631630], last scheduled 2026-05-04T12:30:00Z
				say Warning MissSchedule
				say Normal SuccessfulCreate
				rq 6m0s`,
		},
		"B2 K,V there and back again is a change too": {
			given: []given{served("0 3 * * *", ""), noted(`{"schedules":["*/10 * * * *"]}`), last("12:30")},
			now:   "12:34:00",
			want: `
				record timetable {"schedules":["*/10 * * * *"],"since":"2026-05-04T12:34:00Z"}
				rq 6m0s`,
		},
		"B2 K,V garbage in the annotation is nothing, and said": {
			given: []given{noted(`since the beginning`), last("12:20")},
			now:   "12:34:00",
			want: `
				start tick-29631630 for 2026-05-04T12:30:00Z
				record active [tick-29631630], last scheduled 2026-05-04T12:30:00Z
				say Warning InvalidAnnotation
				say Normal SuccessfulCreate
				rq 6m0s`,
		},
		"B2 K,V a change in the far future is garbage": {
			given: []given{noted(`{"schedules":["*/10 * * * *"],"since":"2999-01-01T00:00:00Z"}`), last("12:20")},
			now:   "12:34:00",
			want: `
				start tick-29631630 for 2026-05-04T12:30:00Z
				record active [tick-29631630], last scheduled 2026-05-04T12:30:00Z
				say Normal SuccessfulCreate
				rq 6m0s`,
		},
		"B2 K,V a change that lies ahead, because the clock was set back, still counts": {
			given: []given{noted(`{"schedules":["*/10 * * * *"],"since":"2026-05-04T13:05:00Z"}`), last("12:20")},
			now:   "12:34:00",
			want:  `rq 36m0s`,
		},
		"B2 K,V @every keeps its grid across a change": {
			given: []given{served("@every 90m", ""), schedule("@every 45m"), last("11:00")},
			now:   "12:40:00",
			want: `
				record timetable {"schedules":["@every 45m"],"since":"2026-05-04T12:40:00Z"}
				rq 35m0s`,
		},
	})
}

// The first record of every kind has the timetable, so that a later process need not guess; from then on it rides on a
// status write where that is possible, and costs a CronJob that is not edited no write where it is not (B2).
func TestFirstRecordHasTheTimetable(t *testing.T) {
	for _, kind := range []string{"K", "V", "T"} {
		s := fixture(kind, "12:10:00")
		r := cron.Decide(s.in).StatusWrite
		if r == nil || r.Changed&^cron.PartTiming == 0 || !r.Changed.Has(cron.PartTiming) || annotation(t, r.Memory.Timing) != `{"schedules":["*/10 * * * *"]}` {
			t.Errorf("%s: the first start records %+v; want the timetable with it", kind, r)
		}
		s = fixture(kind, "12:20:00", last("12:10"), noted(`{"schedules":["*/10 * * * *"]}`))
		if r := cron.Decide(s.in).StatusWrite; r == nil || r.Changed&^cron.PartTiming == 0 || r.Changed.Has(cron.PartTiming) {
			t.Errorf("%s: the second start records %+v; want the status alone", kind, r)
		}
		s = fixture(kind, "12:20:00", last("12:10"), noted(`{"schedules":["*/10 * * * *"],"missed":"2026-05-04T12:05:00Z"}`))
		if r := cron.Decide(s.in).StatusWrite; r == nil || r.Changed&^cron.PartTiming == 0 || r.Changed.Has(cron.PartTiming) != traits[kind].StatusCarriesAnnotation {
			t.Errorf("%s: a miss that is past is recorded as %+v; want it forgotten where that costs nothing", kind, r)
		}
		s = fixture(kind, "12:11:00", last("12:10"), active("12:10"))
		if r := cron.Decide(s.in).StatusWrite; r != nil {
			t.Errorf("%s: a sync in which nothing happens records %+v", kind, r)
		}
	}
}

// Labels that are applied while nobody looks move the managed fields of a schedule that they do not change. The first
// record tells that nothing was edited, and the run that was due meanwhile starts.
func TestLabelsAppliedWhileNobodyLooks(t *testing.T) {
	for _, kind := range []string{"K", "V", "T"} {
		s := fixture(kind, "12:10:00", generation(2))
		s.play(t)
		s.in.Carried = cron.Memory{} // another process
		s.catchUp("12:34:00", touched("12:32"), generation(3))
		s.play(t)
		if last := s.in.Stored.LastSchedule; last == nil || !last.Equal(at("12:30")) {
			t.Errorf("%s: the run of 12:30 is lost: %v", kind, last)
		}
	}
}

// What was presumed without memory holds from then on, costs no write but that of what it passed over, and is told
// once.
func TestPresumedEditIsKept(t *testing.T) {
	for _, kind := range []string{"K", "V"} {
		fixture(kind, "12:34:00", generation(2), touched("12:31"), made("11:00")).playAll(t, []sync{{now: "12:34:00", want: `
			record timetable {"schedules":["*/10 * * * *"],"since":"2026-05-04T12:31:00Z","presumed":true,"missed":"2026-05-04T12:30:00Z"}
			say Warning MissSchedule
			rq 6m0s`,
		}, {
			now: "12:35:00", want: "rq 5m0s",
		}, {
			now: "12:36:00", given: []given{func(s *scene) { s.in.Carried = cron.Memory{} }}, want: "rq 4m0s",
		}})
	}
}

// An edit is remembered by the process even while it cannot be written down, and is written once.
func TestEditIsRememberedOnce(t *testing.T) {
	for _, kind := range []string{"K", "V"} {
		s := fixture(kind, "12:07:00", served("0 3 * * *", ""), last("12:00"), recordFails(broken))
		want := lines(`
			record timetable {"schedules":["*/10 * * * *"],"since":"2026-05-04T12:07:00Z"}
			fail
			rq 3m0s`)
		if diff := cmp.Diff(want, s.play(t)); diff != "" {
			t.Errorf("%s: first sync (-want +got):\n%s", kind, diff)
		}
		s.catchUp("12:08:00", recordFails(nil))
		want = lines(`
			record timetable {"schedules":["*/10 * * * *"],"since":"2026-05-04T12:07:00Z"}
			rq 2m0s`)
		if diff := cmp.Diff(want, s.play(t)); diff != "" {
			t.Errorf("%s: second sync (-want +got):\n%s", kind, diff)
		}
		s.catchUp("12:09:00")
		if diff := cmp.Diff("rq 1m0s", s.play(t)); diff != "" {
			t.Errorf("%s: third sync (-want +got):\n%s", kind, diff)
		}
	}
}

// Daylight saving changes neither the past nor an edit: with the guard in the zone's overlap the second 01:30 runs.
func TestEditInTheOverlap(t *testing.T) {
	s := fixture("K", "2026-11-01T06:00:00Z", served("0 1 * * *", "America/New_York"), schedule("30 1 * * *"),
		zone("America/New_York"), last("2026-10-31T05:00:00Z"))
	if got, want := cron.Decide(s.in).Wake, time.Date(2026, 11, 1, 6, 30, 0, 0, time.UTC); !got.Equal(want) {
		t.Errorf("wake %v, want %v", got, want)
	}
}

func annotation(t *testing.T, served cron.ServedTiming) string {
	t.Helper()
	text, err := adapter.TimetableAnnotation(served)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
