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
)

// explain explains one manifest.
func explain(t *testing.T, text string) *explanation.Explanation {
	t.Helper()
	content := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &content); err != nil {
		t.Fatal(err)
	}
	all, err := workload.Read([]workload.Object{{Content: &unstructured.Unstructured{Object: content}}}, workload.Options{})
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
		"one that flows":              {timetable + "metadata: {name: a}\nspec: {timeZone: Europe/Berlin, schedules: [{cron: '0 */2 * * *'}], template: {spec: {}}}", "begins with *, so it flows with the clock"},
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
