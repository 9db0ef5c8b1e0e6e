// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/internal/plan/simulation"
	"github.com/carillon-dev/carillon/internal/plan/workload"
	"github.com/carillon-dev/carillon/internal/testkit/replay"
)

func TestMain(m *testing.M) { os.Exit(replay.Run(m, 200)) }

const (
	job = "jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: b}]}}}}"
	run = "template: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: b}]}}}}"
)

func cronJob(t testing.TB, spec string) *workload.Scheduled {
	return scheduled(t, "{apiVersion: batch/v1, kind: CronJob, metadata: {name: tick}, spec: {"+joined(spec, job)+"}}")
}

func timetable(t testing.TB, spec string) *workload.Scheduled {
	return scheduled(t, "{apiVersion: batch.carillon.dev/v1alpha1, kind: Timetable, metadata: {name: tick}, spec: {"+joined(spec, run)+"}}")
}

// joined adds a template to a spec that has none.
func joined(spec, template string) string {
	if strings.Contains(spec, "emplate:") {
		return spec
	}
	return spec + ", " + template
}

func durations(t testing.TB, text string) simulation.Durations {
	t.Helper()
	d, err := simulation.ParseDurations(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// day is when scenarios begin; at gives a time of that day.
var day = time.Date(2026, 5, 4, 0, 0, 0, 0, time.UTC)

func at(clock string) time.Time {
	t, err := time.Parse("15:04", clock)
	if err != nil {
		panic(err)
	}
	return day.Add(t.Sub(t.Truncate(24 * time.Hour)))
}

// story is a result in lines: "12:10-12:35 succeeded", "12:20>12:35-…" for one that began late, "12:30 skipped
// Overlap".
func story(result *simulation.Result) (lines []string) {
	const clock = "15:04"
	type line struct {
		at   time.Time
		text string
	}
	var all []line
	for _, r := range result.Runs {
		text := r.Scheduled.Format(clock)
		if !r.Started.Equal(r.Scheduled) {
			text += ">" + r.Started.Format(clock)
		}
		text += "-"
		if !r.Ended.IsZero() {
			text += r.Ended.Format(clock)
		}
		text += " " + r.Outcome.String()
		if r.Reason != "" {
			text += " " + simulation.ReasonWord(r.Reason)
		}
		if r.Attempts > 1 {
			text += fmt.Sprintf(" %d attempts", r.Attempts)
		}
		all = append(all, line{r.Scheduled, text})
	}
	for _, n := range result.NotStarted {
		text := n.First.Format(clock)
		if n.Count > 1 {
			text += ".." + n.Last.Format(clock)
		}
		what := " skipped "
		if n.Missed {
			what = " missed "
		}
		all = append(all, line{n.First, text + what + simulation.ReasonWord(n.Reason)})
	}
	for _, w := range result.Waiting {
		all = append(all, line{w.Scheduled, w.Scheduled.Format(clock) + " waits " + simulation.ReasonWord(w.Reason)})
	}
	if h := result.Held; h != nil {
		all = append(all, line{h.First, fmt.Sprintf("%s..%s held, %d", h.First.Format(clock), h.Last.Format(clock), h.Count)})
	}
	slices.SortStableFunc(all, func(a, b line) int { return a.at.Compare(b.at) })
	for _, l := range all {
		lines = append(lines, l.text)
	}
	return lines
}

func span(from, to string) simulation.Span { return simulation.Span{From: at(from), To: at(to)} }

// What the contracts say of overlaps, outages, deadlines, edits, pauses and attempts is what is simulated.
func TestScenarios(t *testing.T) {
	type edit struct{ at, spec string }
	tests := map[string]struct {
		cronJob, timetable string
		durations          string
		span               simulation.Span
		fail               float64
		stopping           time.Duration
		outage             simulation.Span
		edits              []edit
		want               []string
	}{
		"Allow: runs overlap": {
			cronJob: "schedule: '*/10 * * * *'", durations: "15m", span: span("12:05", "12:35"),
			want: []string{"12:10-12:25 succeeded", "12:20- running", "12:30- running"},
		},
		"a time at the very beginning counts, and one at the very end does not": {
			cronJob: "schedule: '0 * * * *'", durations: "5m", span: span("12:00", "13:00"),
			want: []string{"12:00-12:05 succeeded"},
		},
		"Forbid: the latest time starts late, and others are skipped": {
			cronJob: "schedule: '*/10 * * * *', concurrencyPolicy: Forbid", durations: "25m", span: span("12:05", "12:55"),
			want: []string{"12:10-12:35 succeeded", "12:20 skipped Overlap", "12:30>12:35- running", "12:40 skipped Overlap", "12:50 waits Overlap"},
		},
		"Forbid: a run that ends when the next one is due is not in its way": {
			cronJob: "schedule: '*/10 * * * *', concurrencyPolicy: Forbid", durations: "10m", span: span("12:05", "12:35"),
			want: []string{"12:10-12:20 succeeded", "12:20-12:30 succeeded", "12:30- running"},
		},
		"Forbid with a deadline that is over": {
			cronJob: "schedule: '*/10 * * * *', concurrencyPolicy: Forbid, startingDeadlineSeconds: 60", durations: "15m", span: span("12:05", "12:35"),
			want: []string{"12:10-12:25 succeeded", "12:20 skipped Overlap", "12:30- running"},
		},
		"Replace: each run stops the one before": {
			cronJob: "schedule: '*/10 * * * *', concurrencyPolicy: Replace", durations: "25m", stopping: time.Minute, span: span("12:05", "12:35"),
			want: []string{"12:10-12:21 replaced Replaced", "12:20-12:31 replaced Replaced", "12:30- running"},
		},
		"Replace of a Timetable waits until the one before is gone": {
			timetable: "schedules: [{cron: '*/10 * * * *'}], concurrency: {policy: Replace}", durations: "25m", stopping: time.Minute, span: span("12:05", "12:35"),
			want: []string{"12:10-12:21 replaced Replaced", "12:20>12:21-12:31 replaced Replaced", "12:30>12:31- running"},
		},
		"a queue that is full": {
			timetable: "schedules: [{cron: '*/10 * * * *'}], concurrency: {policy: Queue, queueLimit: 1}", durations: "25m", span: span("12:05", "12:55"),
			want: []string{"12:10-12:35 succeeded", "12:20>12:35- running", "12:30 skipped QueueFull", "12:40 waits Overlap", "12:50 skipped QueueFull"},
		},
		"an outage of a CronJob: the latest time starts": {
			cronJob: "schedule: '*/10 * * * *'", durations: "1m", span: span("12:05", "12:55"), outage: span("12:15", "12:45"),
			want: []string{"12:10-12:11 succeeded", "12:20..12:30 missed Outage", "12:40>12:45-12:46 succeeded", "12:50-12:51 succeeded"},
		},
		"an outage: catchUp Latest": {
			timetable: "schedules: [{cron: '*/10 * * * *'}]", durations: "1m", span: span("12:05", "12:55"), outage: span("12:15", "12:45"),
			want: []string{"12:10-12:11 succeeded", "12:20..12:30 missed Outage", "12:40>12:45-12:46 succeeded", "12:50-12:51 succeeded"},
		},
		"an outage: catchUp None": {
			timetable: "schedules: [{cron: '*/10 * * * *'}], catchUp: {policy: None}", durations: "1m", span: span("12:05", "12:55"), outage: span("12:15", "12:45"),
			want: []string{"12:10-12:11 succeeded", "12:20..12:40 missed Outage", "12:50-12:51 succeeded"},
		},
		"an outage: catchUp All, up to a limit": {
			timetable: "schedules: [{cron: '*/10 * * * *'}], catchUp: {policy: All, limit: 2}", durations: "1m", span: span("12:05", "12:55"), outage: span("12:15", "12:45"),
			want: []string{"12:10-12:11 succeeded", "12:20 missed CatchUpLimit", "12:30>12:45-12:46 succeeded", "12:40>12:46-12:47 succeeded", "12:50-12:51 succeeded"},
		},
		"an outage, and a deadline that is over": {
			cronJob: "schedule: '*/10 * * * *', startingDeadlineSeconds: 120", durations: "1m", span: span("12:05", "12:55"), outage: span("12:15", "12:45"),
			want: []string{"12:10-12:11 succeeded", "12:20..12:40 missed Deadline", "12:50-12:51 succeeded"},
		},
		"an outage leaves what runs alone": {
			timetable: "schedules: [{cron: '10 * * * *'}]", durations: "15m", span: span("12:05", "12:55"), outage: span("12:15", "12:45"),
			want: []string{"12:10-12:25 succeeded"},
		},
		"no controller until the end": {
			cronJob: "schedule: '*/10 * * * *'", durations: "1m", span: span("12:05", "12:55"), outage: span("12:15", "12:55"),
			want: []string{"12:10-12:11 succeeded", "12:20..12:50 held, 4"},
		},
		"an edit starts nothing for the past": {
			cronJob: "schedule: '0 12 * * *'", durations: "1m", span: span("12:05", "13:05"), edits: []edit{{"12:35", "schedule: '*/30 * * * *'"}},
			want: []string{"13:00-13:01 succeeded"},
		},
		"an edit of a Timetable starts nothing for the past": {
			timetable: "schedules: [{cron: '0 12 * * *'}]", durations: "1m", span: span("12:05", "13:05"), edits: []edit{{"12:35", "schedules: [{cron: '*/30 * * * *'}]"}},
			want: []string{"12:30 skipped Edited", "13:00-13:01 succeeded"},
		},
		"an edit in an outage": {
			timetable: "schedules: [{cron: '*/30 * * * *'}]", durations: "1m", span: span("12:10", "13:25"), outage: span("12:20", "12:50"),
			edits: []edit{{"12:40", "schedules: [{cron: '5/30 * * * *'}]"}},
			want:  []string{"12:30..12:35 skipped Edited", "13:05-13:06 succeeded"},
		},
		"suspended, and resumed": {
			timetable: "schedules: [{cron: '*/10 * * * *'}]", durations: "1m", span: span("12:05", "12:55"),
			edits: []edit{{"12:15", "schedules: [{cron: '*/10 * * * *'}], suspend: true"}, {"12:45", "schedules: [{cron: '*/10 * * * *'}]"}},
			want:  []string{"12:10-12:11 succeeded", "12:20..12:40 skipped Suspended", "12:50-12:51 succeeded"},
		},
		"a CronJob, suspended and resumed, starts the latest": {
			cronJob: "schedule: '*/10 * * * *'", durations: "1m", span: span("12:05", "12:55"),
			edits: []edit{{"12:15", "schedule: '*/10 * * * *', suspend: true"}, {"12:45", "schedule: '*/10 * * * *'"}},
			want:  []string{"12:10-12:11 succeeded", "12:20..12:30 skipped Suspended", "12:40>12:45-12:46 succeeded", "12:50-12:51 succeeded"},
		},
		"attempts": {
			timetable: "schedules: [{cron: '10 * * * *'}], retry: {limit: 2, delay: 5m}", durations: "1m", fail: 1, span: span("12:05", "12:55"),
			want: []string{"12:10-12:28 failed RunFailed 3 attempts"},
		},
		"a pause after failures": {
			timetable: "schedules: [{cron: '*/10 * * * *'}], pauseAfterFailures: 2", durations: "1m", fail: 1, span: span("12:05", "12:55"),
			want: []string{"12:10-12:11 failed RunFailed", "12:20-12:21 failed RunFailed", "12:30..12:50 held, 3"},
		},
		"a run that takes longer than its template allows": {
			cronJob:   "schedule: '10 * * * *', jobTemplate: {spec: {activeDeadlineSeconds: 120, template: {spec: {restartPolicy: Never, containers: [{name: a, image: b}]}}}}",
			durations: "5m", span: span("12:05", "12:55"),
			want: []string{"12:10-12:12 failed Timeout"},
		},
		"a timeout": {
			timetable: "schedules: [{cron: '10 * * * *'}], timeout: 3m", durations: "5m", span: span("12:05", "12:55"),
			want: []string{"12:10-12:13 failed Timeout"},
		},
		"Jobs that are made suspended never end": {
			cronJob:   "schedule: '10,40 * * * *', concurrencyPolicy: Forbid, jobTemplate: {spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: a, image: b}]}}}}",
			durations: "5m", span: span("12:05", "12:55"),
			want: []string{"12:10- running", "12:40 waits Overlap"},
		},
		"an edit in an outage that also suspends: what the new schedule names before the edit is not made up for": {
			timetable: "schedules: [{cron: '*/10 * * * *'}]", durations: "1m", span: span("12:55", "14:20"), outage: span("13:00", "13:30"),
			edits: []edit{{"13:12", "schedules: [{cron: '*/15 * * * *'}], suspendUntil: '2026-05-04T14:05:00Z', onResume: CatchUp, catchUp: {policy: All, limit: 5}"}},
			want:  []string{"13:00..13:30 skipped Edited", "13:45>14:05-14:06 succeeded", "14:00>14:06-14:07 succeeded", "14:15-14:16 succeeded"},
		},
		"a schedule without times": {
			timetable: "schedules: [{cron: '61 * * * *'}]", durations: "1m", span: span("12:05", "12:55"),
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			read, spec := cronJob, test.cronJob
			if spec == "" {
				read, spec = timetable, test.timetable
			}
			object := read(t, spec)
			o := simulation.Options{From: test.span.From, To: test.span.To, Outages: []simulation.Span{test.outage},
				Model: simulation.Model{Durations: durations(t, test.durations), Fail: test.fail, Stopping: test.stopping}}
			for _, e := range test.edits {
				o.Edits = append(o.Edits, simulation.Edit{At: at(e.at), Object: read(t, e.spec)})
			}
			if diff := cmp.Diff(test.want, story(simulation.Simulate(object, o))); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}

// On the day when clocks go forward a CronJob leaves out the hour that is not there, and on the day when they go back
// it starts once in the hour that comes twice.
func TestClockChanges(t *testing.T) {
	object := cronJob(t, "schedule: '30 * * * *', timeZone: Europe/Berlin")
	for _, test := range []struct {
		from time.Time
		want []string
	}{
		{time.Date(2026, 3, 29, 0, 0, 0, 0, time.UTC), []string{"01:30 +0100", "03:30 +0200", "04:30 +0200"}},
		{time.Date(2026, 10, 24, 23, 0, 0, 0, time.UTC), []string{"01:30 +0200", "02:30 +0200", "02:30 +0100"}},
	} {
		result := simulation.Simulate(object, simulation.Options{From: test.from, To: test.from.Add(3 * time.Hour)})
		var got []string
		for _, r := range result.Runs {
			got = append(got, r.Started.In(object.Policy.Timing.Zone).Format("15:04 -0700"))
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("from %s, want -, got +:\n%s", test.from, diff)
		}
	}
}

// A seed gives the same course of chance on every machine, for ever.
func TestDeterminism(t *testing.T) {
	object := timetable(t, "schedules: [{cron: '*/10 * * * *'}], retry: {limit: 1, delay: 1m}")
	o := simulation.Options{From: at("12:00"), To: at("13:00"), Model: simulation.Model{Durations: durations(t, "p50=3m,p90=8m,p99=20m"), Fail: 0.3, Seed: 42}}
	var got []string
	for _, r := range simulation.Simulate(object, o).Runs {
		got = append(got, fmt.Sprintf("%s %s %d", r.Started.Format("15:04:05"), r.Ended.Sub(r.Started), r.Attempts))
	}
	want := []string{"12:00:00 7m32s 2", "12:10:00 51s 1", "12:20:00 4m8s 1", "12:30:00 8m27s 2", "12:40:00 6m6s 2", "12:50:00 3m2s 1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

// One decision for all that follows a start gives the same as a decision for each step, as the controller makes them; a
// result is a function of its input; and each scheduled time is in it once.
func TestAnyObject(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		one := func(label string, values ...string) string { return rapid.SampledFrom(values).Draw(rt, label) }
		draw := func() *workload.Scheduled {
			if rapid.Bool().Draw(rt, "CronJob") {
				return cronJob(t, fmt.Sprintf("schedule: '%s', concurrencyPolicy: %s%s%s", one("schedule", "* * * * *", "*/7 * * * *", "@every 90s", "5 * * * *"),
					one("policy", "Allow", "Forbid", "Replace"), one("deadline", "", "", ", startingDeadlineSeconds: 90"), one("suspend", "", "", ", suspend: true")))
			}
			return timetable(t, fmt.Sprintf("schedules: [{%s}], concurrency: {policy: %s%s}, %s", one("schedule", "cron: '* * * * *'", "cron: '*/7 * * * *'", "every: 90s"),
				one("policy", "Allow", "Forbid", "Queue", "Replace"), one("limit", "", ", limit: 2"), one("more", "timeout: 3m", "retry: {limit: 2, delay: 45s}", "jitter: 30s",
					"startingDeadline: 2m", "pauseAfterFailures: 2", "onResume: CatchUp", "catchUp: {policy: None}", "suspend: true")))
		}
		object := draw()
		o := simulation.Options{From: day, To: day.Add(3 * time.Hour), Model: simulation.Model{
			Durations: durations(t, one("durations", "20s", "1m", "5m", "p50=1m,p99=20m")), Fail: rapid.SampledFrom([]float64{0, 0.2, 1}).Draw(rt, "fail"),
			Stopping: time.Duration(rapid.IntRange(0, 90).Draw(rt, "stopping")) * time.Second, Seed: rapid.Uint64Range(0, 99).Draw(rt, "seed")}}
		for range rapid.IntRange(0, 2).Draw(rt, "outages") {
			from := day.Add(time.Duration(rapid.IntRange(-1000, 9000).Draw(rt, "outage")) * time.Second)
			o.Outages = append(o.Outages, simulation.Span{From: from, To: from.Add(time.Duration(rapid.IntRange(-5, 4000).Draw(rt, "lasts")) * time.Second)})
		}
		for range rapid.IntRange(0, 2).Draw(rt, "edits") {
			o.Edits = append(o.Edits, simulation.Edit{At: day.Add(time.Duration(rapid.IntRange(0, 10800).Draw(rt, "edited")) * time.Second), Object: draw()})
		}
		result := simulation.Simulate(object, o)
		if diff := cmp.Diff(story(simulation.SimulateStepwise(object, o)), story(result)); diff != "" {
			rt.Fatalf("step by step (-) another thing happens than at once (+):\n%s", diff)
		}
		if diff := cmp.Diff(story(simulation.Simulate(object, o)), story(result)); diff != "" {
			rt.Fatalf("again (-) another thing happens (+):\n%s", diff)
		}
		seen := map[int64]bool{}
		for _, r := range result.Runs {
			if seen[r.Scheduled.Unix()] {
				rt.Fatalf("%s ran twice", r.Scheduled)
			}
			if seen[r.Scheduled.Unix()] = true; r.Started.Before(r.Scheduled) || !r.Ended.IsZero() && r.Ended.Before(r.Started) {
				rt.Fatalf("the run of %s began at %s and ended at %s", r.Scheduled, r.Started, r.Ended)
			}
			for _, out := range result.Outages {
				if out.Contains(r.Started) {
					rt.Fatalf("the run of %s began in an outage", r.Scheduled)
				}
			}
		}
		s := result.Summarize()
		if s.Started != len(result.Runs) || s.Started != s.Succeeded+s.Failed+s.Replaced+s.Running {
			rt.Fatalf("the numbers do not add up: %+v", s)
		}
	})
}

// An edit, an outage or another seed of one object leaves the fates of other runs as they were.
func TestChanceIsOfEachRun(t *testing.T) {
	object := cronJob(t, "schedule: '*/10 * * * *'")
	o := simulation.Options{From: day, To: day.Add(24 * time.Hour), Model: simulation.Model{Durations: durations(t, "p50=1m,p99=9m"), Fail: 0.5}}
	before := map[time.Time]simulation.Run{}
	for _, r := range simulation.Simulate(object, o).Runs {
		before[r.Scheduled] = r
	}
	o.Outages = []simulation.Span{{From: at("03:00"), To: at("04:25")}}
	o.Edits = []simulation.Edit{{At: at("06:05"), Object: cronJob(t, "schedule: '*/20 * * * *'")}}
	same, failed := 0, 0
	for _, r := range simulation.Simulate(object, o).Runs {
		if was := before[r.Scheduled]; r.Outcome != was.Outcome || r.Ended.Sub(r.Started) != was.Ended.Sub(was.Started) {
			t.Errorf("%s: %s after %s, and before %s after %s", r.Scheduled, r.Outcome, r.Ended.Sub(r.Started), was.Outcome, was.Ended.Sub(was.Started))
		}
		if same++; r.Outcome == simulation.Failed {
			failed++
		}
	}
	if same < 70 || failed < 20 || failed > 60 {
		t.Errorf("%d runs, %d failed", same, failed)
	}
}

// With its status an object goes on where it is: what runs takes room, and what passed unseen counts.
func TestFromStatus(t *testing.T) {
	object := scheduled(t, `{apiVersion: batch/v1, kind: CronJob, metadata: {name: tick, uid: u1, creationTimestamp: "2026-05-01T00:00:00Z"},
		spec: {schedule: "*/10 * * * *", concurrencyPolicy: Forbid, `+job+`},
		status: {lastScheduleTime: "2026-05-04T11:40:00Z", active: [{apiVersion: batch/v1, kind: Job, name: tick-29631580, uid: j1}]}}`)
	o := simulation.Options{From: at("12:05"), To: at("12:35"), KeepStatus: true, Model: simulation.Model{Durations: durations(t, "30m")}}
	want := []string{"11:40-12:10 succeeded", "12:00 skipped Overlap", "12:10- running", "12:20 skipped Overlap", "12:30 waits Overlap"}
	if diff := cmp.Diff(want, story(simulation.Simulate(object, o))); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	o.KeepStatus = false
	want = []string{"12:10- running", "12:20 skipped Overlap", "12:30 waits Overlap"}
	if diff := cmp.Diff(want, story(simulation.Simulate(object, o))); diff != "" {
		t.Errorf("without its status, want -, got +:\n%s", diff)
	}
}

// A decision that looks at many children takes long, so that it is asked more often whether anybody still waits.
func TestStops(t *testing.T) {
	asked := 0
	got := simulation.Simulate(cronJob(t, "schedule: '* * * * *'"), simulation.Options{From: day, To: day.AddDate(0, 0, 7),
		Model:    simulation.Model{Durations: durations(t, "720h")},
		Progress: func(*workload.Scheduled, time.Time) bool { asked++; return false }})
	if asked != 1 || len(got.Runs) > 100 {
		t.Errorf("it was asked %d times and went on to %d runs", asked, len(got.Runs))
	}
}

// What the last version suffers from is told, and only that.
func TestHindrance(t *testing.T) {
	const good, bad = "schedules: [{cron: '0 * * * *'}]", "schedules: [{cron: '61 * * * *'}]"
	tests := map[string]struct {
		first string
		edits []string
		want  bool
	}{
		"good": {good, nil, false}, "bad": {bad, nil, true}, "good, then bad": {good, []string{bad}, true}, "bad, then good": {bad, []string{good}, false},
		"bad for a while": {good, []string{bad, good}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o := simulation.Options{From: at("09:00"), To: at("12:00"), Model: simulation.Model{Durations: durations(t, "5m")}}
			for i, spec := range test.edits {
				o.Edits = append(o.Edits, simulation.Edit{At: at("10:10").Add(time.Duration(i) * time.Hour), Object: timetable(t, spec)})
			}
			if got := simulation.Simulate(timetable(t, test.first), o); (got.Hindrance != "") != test.want {
				t.Errorf("at the end it is hindered by %q", got.Hindrance)
			}
		})
	}
}

// A limit is called as its field is.
func TestLimit(t *testing.T) {
	const limited = "template: {spec: {activeDeadlineSeconds: 120, template: {spec: {restartPolicy: Never, containers: [{name: a, image: b}]}}}}"
	tests := map[string]struct {
		spec, field string
		limit       time.Duration
	}{
		"a timeout":          {"schedules: [{cron: '0 * * * *'}], timeout: 3m", "timeout", 3 * time.Minute},
		"that of a template": {"schedules: [{cron: '0 * * * *'}], " + limited, "activeDeadlineSeconds", 2 * time.Minute},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := simulation.Simulate(timetable(t, test.spec), simulation.Options{From: at("09:00"), To: at("12:00"), Model: simulation.Model{Durations: durations(t, "5m")}})
			if got.Limit != test.limit || got.LimitField != test.field {
				t.Errorf("it is %s of %s", got.Limit, got.LimitField)
			}
		})
	}
}

func TestMerged(t *testing.T) {
	got := simulation.Merged([]simulation.Span{span("12:00", "12:10"), span("11:00", "11:10"), span("12:10", "12:20"), span("12:15", "12:16"), span("13:00", "13:00"), span("15:00", "14:00")})
	if diff := cmp.Diff([]simulation.Span{span("11:00", "11:10"), span("12:00", "12:20")}, got); diff != "" {
		t.Error(diff)
	}
}

func TestSummarize(t *testing.T) {
	result := simulation.Simulate(cronJob(t, "schedule: '*/10 * * * *', concurrencyPolicy: Forbid"),
		simulation.Options{From: at("12:00"), To: at("13:00"), Model: simulation.Model{Durations: durations(t, "25m")}})
	s := result.Summarize()
	if s.Started != 3 || s.Skipped != 3 || s.Late != 1 || s.LongestWait != 5*time.Minute || !s.WaitedAt.Equal(at("12:20")) || s.MostAtOnce != 1 || s.Busy != time.Hour ||
		s.Reasons[0].Count != 3 {
		t.Errorf("%+v\n%s", s, strings.Join(story(result), "\n"))
	}
}
