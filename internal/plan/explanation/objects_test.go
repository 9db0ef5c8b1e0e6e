// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package explanation_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/carillon-dev/carillon/internal/plan/explanation"
	"github.com/carillon-dev/carillon/internal/plan/workload"
	"github.com/carillon-dev/carillon/schedule"
)

// explain explains one manifest.
func explain(t *testing.T, text string) *explanation.Explanation {
	t.Helper()
	return explainText(t, text)
}

func explainText(t interface{ Fatal(args ...any) }, text string) *explanation.Explanation {
	var objects []workload.Object
	for document := range strings.SplitSeq(text, "\n---\n") {
		content := map[string]any{}
		if err := yaml.Unmarshal([]byte(document), &content); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, workload.Object{Content: &unstructured.Unstructured{Object: content}})
	}
	all, err := workload.Read(objects, workload.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return explanation.OfObject(all.Scheduled[0], nil, now)
}

// Objects that an API server would refuse, or that have next to nothing in them, are explained as far as that goes.
func TestStrangeObjects(t *testing.T) {
	const cronJob, timetable = "apiVersion: batch/v1\nkind: CronJob\n", "apiVersion: batch.carillon.dev/v1alpha1\nkind: Timetable\n"
	for name, c := range map[string]struct{ text, want string }{
		"a CronJob without a spec":    {cronJob, "is empty"},
		"one without a name":          {cronJob + "spec: {schedule: '17 3 * * *'}", "It runs at 03:17 every day"},
		"an unknown zone":             {cronJob + "spec: {schedule: '17 3 * * *', timeZone: Mars/Base}", "Mars/Base"},
		"an unknown zone of its own":  {timetable + "metadata: {name: a}\nspec: {schedules: [{cron: '17 3 * * *'}], timeZone: Mars/Base, template: {spec: {}}}", "Mars/Base"},
		"a zone that is empty":        {cronJob + "spec: {schedule: '17 3 * * *', timeZone: ''}", "It runs at 03:17"},
		"negative numbers":            {cronJob + "spec: {schedule: '17 3 * * *', startingDeadlineSeconds: -5, failedJobsHistoryLimit: -1, jobTemplate: {spec: {backoffLimit: -1, activeDeadlineSeconds: -1, ttlSecondsAfterFinished: -1}}}", "The Job does not try again."},
		"huge numbers":                {cronJob + "spec: {schedule: '17 3 * * *', startingDeadlineSeconds: 900000000000000, jobTemplate: {spec: {activeDeadlineSeconds: 900000000000000}}}", "deadline-beyond-interval"},
		"a Timetable without a spec":  {timetable, "schedules is empty"},
		"one of two kinds":            {timetable + "metadata: {name: a}\nspec: {schedules: [{cron: '17 3 * * *', every: 1h}], template: {spec: {}}}", "exactly one of cron, every and at"},
		"an item without anything":    {timetable + "metadata: {name: a}\nspec: {schedules: [{}], template: {spec: {}}}", "exactly one of cron, every and at"},
		"moments that are none":       {timetable + "metadata: {name: a}\nspec: {schedules: [{at: [soon]}], template: {spec: {}}}", "soon"},
		"a jitter that is none":       {timetable + "metadata: {name: a}\nspec: {schedules: [{cron: '17 3 * * *'}], jitter: much, template: {spec: {}}}", "much"},
		"an exclusion that is none":   {timetable + "metadata: {name: a}\nspec: {schedules: [{cron: '17 3 * * *'}], exclude: [{}, {period: x}], template: {spec: {}}}", "exclude"},
		"all times excluded":          {timetable + "metadata: {name: a}\nspec: {schedules: [{cron: '17 3 * * *'}], exclude: [{period: 01-01/12-31}], template: {spec: {}}}", "nothing-left"},
		"a window that is over":       {timetable + "metadata: {name: a}\nspec: {schedules: [{cron: '17 3 * * *'}], window: {notAfter: '2020-01-01T00:00:00Z'}, template: {spec: {}}}", "nothing-left"},
		"a date that does not exist":  {timetable + "metadata: {name: a}\nspec: {schedules: [{cron: '17 3 30 2 *'}], template: {spec: {}}}", "never-fires"},
		"everyWeeks without a date":   {timetable + "metadata: {name: a}\nspec: {schedules: [{cron: '17 3 * * *', everyWeeks: 2}], template: {spec: {}}}", "needs an anchor"},
		"a day of the clock excluded": {timetable + "metadata: {name: a}\nspec: {timeZone: Europe/Berlin, schedules: [{cron: '30 2 * * *'}], exclude: [{period: 03-28}], template: {spec: {}}}", "That day is left out"},
		"one that flows":              {timetable + "metadata: {name: a}\nspec: {timeZone: Europe/Berlin, schedules: [{cron: '0 */2 * * *'}], template: {spec: {}}}", "has a *, so it flows with the clock"},
		"a policy that is none":       {timetable + "metadata: {name: a}\nspec: {schedules: [{cron: '17 3 * * *'}], concurrency: {policy: Never, limit: -1}, template: {kind: Pod, apiVersion: v1, spec: {}}}", "concurrency.policy: Never"},
	} {
		t.Run(name, func(t *testing.T) {
			e := explain(t, c.text)
			if strings.Contains(name, "unknown zone") && (e.TimeZone.Matters || e.Next != nil || e.Frequency != nil) {
				t.Errorf("got %+v", e)
			}
			lines := e.Lines(width)
			if text := strings.Join(strings.Fields(strings.Join(lines, " ")), " "); !strings.Contains(text, c.want) {
				t.Errorf("%q is not said:\n%s", c.want, strings.Join(lines, "\n"))
			}
			if _, err := json.Marshal(e); err != nil {
				t.Error(err)
			}
		})
	}
}

// "@every" of an object that runs goes on from its last start, or from its creation.
func TestNextOfEvery(t *testing.T) {
	const head = "apiVersion: batch/v1\nkind: CronJob\nspec: {schedule: '@every 7h'}\n"
	for text, want := range map[string]string{
		"metadata: {name: a}": "2026-11-24T07:30:00Z",
		"metadata: {name: a, creationTimestamp: '2026-11-23T20:00:00Z'}":                                                     "2026-11-24T03:00:00Z",
		"metadata: {name: a, creationTimestamp: '2026-11-20T20:00:00Z'}\nstatus: {lastScheduleTime: '2026-11-24T00:10:00Z'}": "2026-11-24T07:10:00Z",
	} {
		e := explain(t, head+text)
		if got := e.Next.UTC().Format(time.RFC3339); got != want || e.FromNow != strings.HasSuffix(text, "{name: a}") {
			t.Errorf("%s: got %s, from now %t; want %s", text, got, e.FromNow, want)
		}
	}
}

// The policies are those of the object, not those of its kind.
// A pause that an exclusion makes inside a day is seen, also among very many times.
func TestPauseInsideADay(t *testing.T) {
	const head = "apiVersion: batch.carillon.dev/v1alpha1\nkind: Timetable\nmetadata: {name: a}\nspec: {timeZone: Europe/Berlin, template: {spec: {}}, schedules: [{cron: '* * * * *'}], "
	for exclude, want := range map[string]int64{
		"exclude: []": 60,
		"exclude: [{period: 2028-06-01T08:00/2028-06-01T20:00}]":                                              12*3600 + 60,
		"exclude: [{period: 2028-06-01T08:00/2028-06-01T09:00}, {period: 2028-06-01T09:00/2028-06-01T09:30}]": 90*60 + 60,
		"exclude: [{period: 2028-06-01T09:00/2028-06-01T09:30}, {period: 2028-06-01T08:30/2028-06-01T09:10}]": 60*60 + 60,
		"exclude: [{period: 2032-06-01T08:00/2032-06-01T20:00}], window: {notBefore: '2026-12-01T00:00:00Z'}": 60,
		"exclude: [{period: 2028-06-01T08:00/2028-06-01T20:00}], window: {notAfter: '2028-06-01T07:00:00Z'}":  60, // no pause
	} {
		if got := explain(t, head+exclude+"}\n").Frequency.LargestDistanceSeconds; got != want {
			t.Errorf("%s: got %ds, want %ds", exclude, got, want)
		}
	}
}

// What becomes of times on the days on which the clocks change, of Timetables in Europe/Berlin.
func TestClockChangesOfObjects(t *testing.T) {
	const head = "apiVersion: batch.carillon.dev/v1alpha1\nkind: Timetable\nmetadata: {name: a}\nspec: {timeZone: Europe/Berlin, template: {spec: {}}, "
	for name, c := range map[string]struct {
		spec, date, effect string
		runs               int
		words              string
	}{
		"where it moves is excluded": {"schedules: [{cron: '30 2,12 * * *'}], exclude: [{period: 2027-03-28T03:00/2027-03-28T04:00}]", "2027-03-28", "skipped", 1,
			"02:30 does not exist, and 03:00, where it would run instead, is left out. 1 run on that day instead of 2."},
		"where it comes from is excluded": {"schedules: [{cron: '30 2,12 * * *'}], exclude: [{period: 2027-03-28T02:00/2027-03-28T03:00}]", "2027-03-28", "shifted", 2,
			"02:30 does not exist: it runs at 03:00 +02:00 instead."},
		"two schedules in spring": {"schedules: [{name: a, cron: '0 2 * * *'}, {name: b, cron: '30 2,*/12 * * *'}]", "2027-03-28", "skipped", 3,
			"a: 02:00 does not exist: it runs at 03:00 +02:00 instead. b: 02:30 does not exist: skipped. 2 runs on that day instead of 3."},
		"two schedules in autumn": {"schedules: [{name: a, cron: '0 2 * * *'}, {name: b, cron: '30 2,*/12 * * *'}]", "2027-10-31", "doubled", 5,
			"a: 02:00 comes twice; it runs once, the first time (+02:00). b: 02:30 comes twice, and it runs twice: with +02:00 and again with +01:00."},
		"one that moves onto another": {"schedules: [{name: a, cron: '30 2 * * *'}, {name: b, cron: '0 3 * * *'}]", "2027-03-28", "shifted", 1,
			"a: 02:30 does not exist: what would run then falls together with 03:00, one run."},
		"a whole hour": {"schedules: [{cron: '*/10 2 * * *'}]", "2027-03-28", "shifted", 1,
			"02:00, 02:10, 02:20 and others do not exist: it runs once instead, at 03:00 +02:00."},
		"a Calendar excludes it":     {"schedules: [{cron: '30 2,12 * * *'}], exclude: [{calendar: feast}]", "2027-03-28", "none", 0, "That day is left out or outside the window."},
		"a Calendar that is missing": {"schedules: [{cron: '30 2 * * *'}], exclude: [{calendar: other}]", "2027-03-28", "shifted", 1, "02:30 does not exist: it runs at 03:00 +02:00 instead."},
		"a window that begins later": {"schedules: [{cron: '30 2 * * *'}], window: {notBefore: '2027-06-01T00:00:00Z'}", "2027-03-28", "none", 0, "That day is left out or outside the window."},
	} {
		t.Run(name, func(t *testing.T) {
			const calendar = "\n---\napiVersion: batch.carillon.dev/v1alpha1\nkind: Calendar\nmetadata: {name: feast}\nspec: {periods: [{period: 2027-03-28}]}\n"
			changes := explain(t, head+c.spec+"}"+calendar).ClockChanges
			if len(changes) != 4 {
				t.Fatalf("%d changes", len(changes))
			}
			for _, change := range changes {
				if change.Date == c.date && (change.Effect != c.effect || change.Runs != c.runs || change.Words != c.words) {
					t.Errorf("got %s, %d runs: %s", change.Effect, change.Runs, change.Words)
				}
			}
		})
	}
}

// Runs that are lost or come twice are a surprise, also where there are many; and the cure helps.
func TestClockChangeSurprise(t *testing.T) {
	berlin, err := schedule.LoadZone("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	const days = "in the next two years, some runs are skipped on 2027-03-28 and 2028-03-26, and some come twice on 2027-10-31 and 2028-10-29."
	const once, several = "or a Timetable, which runs once on each of these days.", "or a Timetable, in which one run comes in place of those that are skipped, and none comes twice."
	for text, want := range map[string][2]string{
		"30 2 * * *":      {days, once},
		"* 2 * * *":       {days, several},
		"*/10 2,3 * * *":  {days, several},
		"*/10 2 * * *":    {days, several},
		"30 2,*/12 * * *": {days, "or the zone Etc/UTC."},
		"*/15 * * * *":    {},
		"30 4 * * *":      {},
	} {
		e, err := explanation.OfExpression(text, berlin, now)
		if err != nil {
			t.Fatal(err)
		}
		var got [2]string
		for _, s := range e.Surprises {
			if s.ID == "clock-change" {
				got = [2]string{s.Message, s.Cure}
			}
		}
		if !strings.Contains(got[0], want[0]) || !strings.HasSuffix(got[1], want[1]) || (want[0] == "") != (got[0] == "") {
			t.Errorf("%q: got %q", text, got)
		}
		for _, c := range e.ClockChanges {
			if text == "*/10 2 * * *" && c.ShiftSeconds < 0 && !strings.HasSuffix(c.Words, "each runs twice, with +02:00 and again with +01:00: 12 runs on that day instead of 6.") {
				t.Errorf("%s: %s", c.Date, c.Words)
			}
		}
	}
}

// A pause is told wherever the next time is.
func TestPaused(t *testing.T) {
	const text = "apiVersion: batch.carillon.dev/v1alpha1\nkind: Timetable\nmetadata: {name: a, generation: 1}\n" +
		"spec: {schedules: [{cron: '17 3 * * *'}], pauseAfterFailures: 2, template: {spec: {}}}\n" +
		"status: {pause: {reason: Failures, since: '2026-11-23T00:00:00Z', generation: %}}\n"
	for generation, want := range map[string]bool{"1": true, "2": false} { // the spec has changed since
		e := explain(t, strings.Replace(text, "%", generation, 1))
		told := strings.Join(strings.Fields(strings.Join(e.Lines(width), " ")), " ")
		for _, part := range []string{"It is paused because too many runs have failed, so what comes while it is does not start.", "until the annotation carillon.dev/resume gets another value"} {
			if e.Paused != want || strings.Contains(told, part) != want {
				t.Errorf("generation %s: paused %t, want %t, and %q:\n%s", generation, e.Paused, want, part, told)
			}
		}
	}
}

func TestPolicies(t *testing.T) {
	const cronJob, volcano, tutorial, timetable = "{apiVersion: batch/v1, kind: CronJob, metadata: {name: a}, spec: {schedule: '17 3 * * *', timeZone: UTC%s}}",
		"{apiVersion: batch.volcano.sh/v1alpha1, kind: CronJob, metadata: {name: a}, spec: {schedule: '17 3 * * *'%s}}",
		"{apiVersion: batch.tutorial.kubebuilder.io/v1, kind: CronJob, metadata: {name: a}, spec: {schedule: '17 3 * * *'%s}}",
		"{apiVersion: batch.carillon.dev/v1alpha1, kind: Timetable, metadata: {name: a}, spec: {schedules: [{cron: '17 3 * * *'}], template: {spec: {}}%s}}"
	for _, c := range []struct{ head, spec, topic, want string }{
		{cronJob, "", "overlap", "Each time starts a run, whatever still runs."},
		{cronJob, ", concurrencyPolicy: Forbid", "overlap", "The event JobAlreadyActive tells it."},
		{volcano, ", concurrencyPolicy: Forbid", "overlap", "The event ForbidConcurrent tells it."},
		{tutorial, ", concurrencyPolicy: Forbid", "overlap", "if more come meanwhile only the newest does."},
		{cronJob, ", concurrencyPolicy: Replace", "overlap", "the new one starts at once"},
		{timetable, "", "overlap", "to skip it, use Queue with queueLimit: 0."},
		{timetable, ", concurrency: {policy: Replace, limit: 2}", "overlap", "Never more than 2 at once: the oldest busy run of the schedule is stopped"},
		{timetable, ", concurrency: {policy: Queue}", "overlap", "times wait in line, up to 10,"},
		{timetable, ", concurrency: {policy: Queue, queueLimit: 0}", "overlap", "is skipped (QueueFull)"},
		{timetable, ", concurrency: {policy: Allow}", "overlap", "up to 100 at once"},
		{cronJob, "", "outage", "however late it is"},
		{cronJob, ", startingDeadlineSeconds: 90", "outage", "less than 1 minute and 30 seconds late"},
		{cronJob, ", startingDeadlineSeconds: 0", "outage", "Nothing ever starts."},
		{tutorial, ", startingDeadlineSeconds: 90000", "outage", "If more than 100 were missed within that time, none starts"},
		{tutorial, "", "outage", "After more than 100 missed times nothing starts until there is a deadline"},
		{timetable, "", "outage", "the latest starts, once, however late it is"},
		{timetable, ", catchUp: {policy: None}", "outage", "nothing is made up"},
		{timetable, ", catchUp: {policy: All}, startingDeadline: 1h", "outage", "the newest 10 of them, if they are less than 1 hour late"},
		{cronJob, "", "failure", "up to 6 times (so 7 Pods in all)"},
		{cronJob, ", jobTemplate: {spec: {backoffLimit: 1, template: {spec: {restartPolicy: OnFailure}}}}", "failure", "started again in its Pod, up to 1 time,"},
		{cronJob, ", jobTemplate: {spec: {completionMode: Indexed, completions: 5, backoffLimitPerIndex: 2}}", "failure", "Each index is tried again up to 2 times, with growing pauses. If one still fails the others go on, and the Job fails when all have ended."},
		{cronJob, ", jobTemplate: {spec: {completionMode: Indexed, completions: 5, backoffLimitPerIndex: 0, maxFailedIndexes: 1, backoffLimit: 4}}", "failure", "No index is tried again. If one still fails the others go on, and the Job fails when all have ended, or as soon as more than 1 have failed, or after more than 4 failures of its Pods (backoffLimit)."},
		{cronJob, ", jobTemplate: {spec: {completionMode: Indexed, completions: 5}}", "failure", "up to 6 times (so 7 Pods in all)"},
		{timetable, ", retry: {limit: 3}, template: {spec: {completionMode: Indexed, completions: 5, backoffLimitPerIndex: 2}}", "failure", "up to 12 Pods for each index of a run"},
		{volcano, "", "failure", "at most 3 times"},
		{timetable, ", retry: {limit: 3, delay: 1m}, pauseAfterFailures: 1", "failure", "After 1 failed run in a row it pauses"},
		{timetable, ", timeout: 90m", "failure", "longer than 1 hour and 30 minutes (timeout)"},
		{cronJob, ", suspend: true", "suspend", "Nothing starts now."},
		{cronJob, "", "suspend", "the latest time that passed meanwhile starts at once."},
		{timetable, "", "suspend", "nothing is made up afterwards"},
		{timetable, ", onResume: CatchUp", "suspend", "are made up afterwards"},
		{timetable, ", suspendUntil: '2027-01-01T00:00:00Z'", "suspend", "Nothing starts until Fri 2027-01-01"},
		{timetable, ", suspendUntil: '2025-01-01T00:00:00Z'", "suspend", "While it is suspended or paused"},
		{cronJob, "", "edit", "never starts a run for a time before"},
		{cronJob, ", successfulJobsHistoryLimit: 0", "history", "of the Jobs that succeeded none, of those that failed the newest;"},
		{timetable, ", history: {failed: {limit: 7, maxAge: 48h}, ledger: 1}", "history", "failed or were cancelled the newest 7 (for 2 days); others are deleted. status.ledger lists 1 result."},
	} {
		e := explain(t, strings.Replace(c.head, "%s", c.spec, 1))
		found := false
		for _, p := range e.Policies {
			found = found || p.Topic == c.topic && strings.Contains(p.Words, c.want)
		}
		if !found {
			t.Errorf("%s: %q is not said of %s: %+v", c.spec, c.want, c.topic, e.Policies)
		}
	}
}
