// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/status"
	"github.com/carillon-dev/carillon/internal/ui/page"
	"github.com/carillon-dev/carillon/internal/ui/uitest"
)

// onTheSite waits for what is counted, so that tests see it.
func onTheSite(s *page.Site) { register(s, time.Minute) }

func cronJob(namespace, name, schedule string) string {
	return fmt.Sprintf("---\n{apiVersion: batch/v1, kind: CronJob, metadata: {namespace: %s, name: %s, uid: %s-%s}, spec: {schedule: %q, timeZone: Europe/Berlin, jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}}}\n",
		namespace, name, namespace, name, schedule)
}

// herd are so many CronJobs at midnight in Berlin, and three others.
func herd(n int) string {
	var all strings.Builder
	for i := range n {
		all.WriteString(cronJob("tenants", fmt.Sprintf("daily-%03d", i), "0 0 * * *"))
	}
	all.WriteString(cronJob("ops", "cleanup", "*/30 * * * *") + cronJob("ops", "weekly", "7 5 * * 0") + cronJob("ops", "never", "0 0 30 2 *"))
	all.WriteString("---\n{apiVersion: batch.carillon.dev/v1alpha1, kind: Timetable, metadata: {namespace: data, name: rates}, spec: {timeZone: Europe/Berlin, schedules: [{cron: '15 * * * *'}]," +
		" template: {apiVersion: batch/v1, kind: Job, spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}}}\n")
	return all.String()
}

// aRun is a run of a CronJob, so long before the test looks.
func aRun(namespace, owner string, before time.Duration, outcome run.Outcome, took time.Duration) run.Run {
	at := uitest.Now.Add(-before)
	r := run.Run{UID: types.UID(fmt.Sprintf("%s-%s-%d-%s", namespace, owner, at.Unix(), outcome)), APIVersion: "batch/v1", Kind: "Job", Namespace: namespace,
		Name: fmt.Sprintf("%s-%d", owner, at.Unix()/60), Owner: run.Owner{APIVersion: "batch/v1", Kind: "CronJob", Name: owner, UID: types.UID(namespace + "-" + owner)},
		Trigger: run.Schedule, Retry: 1, ScheduledTime: at, Created: at, Started: at, Outcome: outcome}
	if outcome.Ended() {
		r.Ended = at.Add(took)
	}
	return r
}

func world() uitest.World {
	w := uitest.World{Manifests: herd(40)}
	for day := range 20 {
		for n := range 5 {
			w.Runs = append(w.Runs, aRun("ops", "cleanup", time.Duration(day*24+n)*time.Hour, run.Succeeded, time.Duration(10+n)*time.Second))
		}
	}
	hung := aRun("ops", "cleanup", 50*time.Hour+time.Minute, run.Failed, time.Hour)
	late := aRun("tenants", "daily-001", 74*time.Hour, run.Succeeded, time.Minute)
	late.Created = late.Created.Add(10 * time.Minute)
	late.Started, late.Ended = late.Created, late.Created.Add(time.Minute)
	retried := aRun("data", "import", 30*time.Hour, run.Succeeded, time.Minute)
	retried.PodsFailed = 3
	w.Runs = append(w.Runs, hung, late, retried)
	w.Omissions = []run.Omission{{Namespace: "ops", Owner: hung.Owner, ScheduledTime: uitest.Now.Add(-49 * time.Hour), Count: 2, Missed: true, Reason: "DeadlineExceeded", Message: "It was too late for it.", Seen: uitest.Now}}
	return w
}

func get(t *testing.T, w uitest.World, target string) string {
	t.Helper()
	code, body := uitest.Get(t, uitest.Site(t, w, onTheSite), target)
	if code != http.StatusOK {
		t.Fatalf("%s: %d\n%s", target, code, body)
	}
	return body
}

// The herd at midnight is told in the first sentence, with a way to who makes it.
func TestHerd(t *testing.T) {
	body := get(t, world(), "/fleet")
	// Midnight in Berlin is 23:00 UTC.
	uitest.Says(t, body, []string{`<a href="/fleet/minute?at=2026-11-02T23%3A00Z">41 in one minute</a>`, "40 schedules with", "Tue 00:00", "0 0 * * * (Europe/Berlin)"}, nil)
}

func TestFleet(t *testing.T) {
	tests := map[string]struct {
		world  uitest.World
		target string
		want   []string
		lacks  []string
	}{
		"all": {world(), "/fleet", []string{"at midnight", ">41<", "A minute of its own for each of 39 schedules", "1 schedule cannot start", `/schedule/cronjob/ops/never`,
			"103 runs", "1 failed", "2 missed", `/fleet/day?date=2026-10-31`, "midnight, Tue 3 Nov", "now 12:00", "the journal of a test"}, []string{"being counted", "<script>alert"}},
		"a namespace": {world(), "/fleet?namespace=ops", []string{"<option selected>ops</option>", "No two runs start in the same minute", `namespace=ops`}, []string{"daily-001"}},
		"a kind":      {world(), "/fleet?kind=timetable", []string{`value="timetable" selected`, ">24<", "No run of these schedules is known"}, []string{"daily-001", "cleanup"}},
		"rankings": {world(), "/fleet?days=7", []string{"/schedule/cronjob/ops/cleanup", "1 failed", "usually 12s", "/run/ops/cleanup-", "3 retries", "10m", "after its scheduled time", "/run/tenants/daily-001-",
			`href="/fleet?days=7#rankings" aria-current="true"`}, nil},
		"nothing at all":      {uitest.World{}, "/fleet", []string{"There is no CronJob and no Timetable yet", "No run is known yet"}, []string{"Schedules that stand out"}},
		"nothing may be read": {uitest.World{Notes: []string{"CronJobs may not be read: forbidden"}}, "/fleet", []string{"Not known: CronJobs may not be read: forbidden"}, []string{"There is no CronJob"}},
		"nothing due":         {uitest.World{Manifests: cronJob("a", "b", "7 5 * * 0")}, "/fleet", []string{"Nothing starts in the next 24 hours"}, nil},
		"no such schedule":    {world(), "/fleet?namespace=nowhere", []string{"There is no such schedule", "<option selected>nowhere</option>"}, nil},
		"a hostile question":  {world(), "/fleet?namespace=%3Cscript%3Ealert(1)%3C/script%3E%22%00%1b[31m", []string{"&lt;script&gt;alert(1)"}, []string{"<script>alert"}},
		"nothing can be read": {uitest.World{Manifests: herd(1), Fails: errors.New(`the "disk" <b>burns</b>`)}, "/fleet", []string{"What starts in the next 24 hours cannot be shown: the &#34;disk&#34; &lt;b&gt;burns&lt;/b&gt;",
			"The runs of the past year cannot be shown", "Schedules that stand out cannot be shown"}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			body := get(t, test.world, test.target)
			uitest.Says(t, body, test.want, test.lacks)
		})
	}
}

func TestMinute(t *testing.T) {
	tests := map[string]struct {
		target string
		want   []string
	}{
		"the herd":      {"/fleet/minute?at=2026-11-02T23:00Z", []string{"What starts at 00:00 on Tue 3 Nov", "41 runs of 41 schedules", "/schedule/cronjob/tenants/daily-000", "/act/edit?kind=cronjob", "/simulate?schedule=", "The minutes around it"}},
		"in RFC 3339":   {"/fleet/minute?at=2026-11-03T00:00:20%2B01:00", []string{"What starts at 00:00 on Tue 3 Nov"}},
		"a quiet one":   {"/fleet/minute?at=2026-11-02T23:03Z", []string{"Nothing starts in the minute"}},
		"over":          {"/fleet/minute?at=2026-11-02T09:00Z", []string{"This minute is over", "/fleet/day?date=2026-11-02"}},
		"far away":      {"/fleet/minute?at=2036-11-02T09:00Z", []string{"Starts are counted for the next 24 hours"}},
		"too far down":  {"/fleet/minute?at=2026-11-02T23:00Z&page=1000000", []string{"What starts at 00:00"}},
		"a namespace":   {"/fleet/minute?at=2026-11-02T23:00Z&namespace=ops", []string{"/schedule/cronjob/ops/cleanup"}},
		"another group": {"/fleet/minute?at=2026-11-02T23:15Z&kind=timetable", []string{"/schedule/timetable/data/rates"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			uitest.Says(t, get(t, world(), test.target), test.want, nil)
		})
	}
	t.Run("read only", func(t *testing.T) {
		w := world()
		w.ReadOnly = true
		if body := get(t, w, "/fleet/minute?at=2026-11-02T23:00Z"); strings.Contains(body, "/act/") {
			t.Error("it offers an act")
		}
	})
	t.Run("pages", func(t *testing.T) {
		w := world()
		w.Manifests = herd(120)
		uitest.Says(t, get(t, w, "/fleet/minute?at=2026-11-02T23:00Z&page=2"), []string{"51 to 100 of 121", "page=1", "page=3", "daily-060"}, nil)
	})
}

func TestDay(t *testing.T) {
	tests := map[string]struct {
		target string
		want   []string
	}{
		"today":           {"/fleet/day", []string{"Monday, 2 November 2026", "/run/ops/cleanup-", "date=2026-11-01"}},
		"one with misses": {"/fleet/day?date=2026-10-31", []string{"Saturday, 31 October 2026", "Times that had no run", "/timeline?date=2026-10-31&amp;zoom=1d", "It was too late for it.", "/why/cronjob/ops/cleanup?at=2026-10-31T10%3A00%3A00Z", "2 times", "BackoffLimit"}},
		"an hour":         {"/fleet/day?date=2026-10-31&hour=9", []string{"from 09:00 on", "All hours", "/run/ops/cleanup-"}},
		"an outcome":      {"/fleet/day?date=2026-10-31&outcome=failed", []string{`aria-current="true">Failed 1`}},
		"25 hours":        {"/fleet/day?date=2026-10-25", []string{"02:00 CEST", "02:00 CET", "hour=24"}},
		"a future one":    {"/fleet/day?date=2026-11-30", []string{"This day has not come yet"}},
		"an empty one":    {"/fleet/day?date=2020-02-29", []string{"No such run"}},
		"too far down":    {"/fleet/day?date=2026-10-31&page=1000", []string{"No such run"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := world()
			for i := range w.Runs {
				if w.Runs[i].Outcome == run.Failed {
					w.Runs[i].Reason = "BackoffLimitExceeded"
				}
			}
			uitest.Says(t, get(t, w, test.target), test.want, nil)
		})
	}
}

// A day begins when its clock says so, also where that leaves out midnight.
func TestDayWithoutMidnight(t *testing.T) {
	zone, err := time.LoadLocation("America/Santiago")
	if err != nil {
		t.Fatal(err)
	}
	d, err := dayChoiceOf(url.Values{"date": {"2026-09-06"}}, uitest.Now, zone)
	if err != nil || d.day.Format(time.RFC3339) != "2026-09-06T01:00:00-03:00" || len(hoursOf(d.day)) != 24 {
		t.Errorf("it begins at %s and has %d hours, %v", d.day.Format(time.RFC3339), len(hoursOf(d.day))-1, err)
	}
	if got := d.url(choice{}, 3, run.Failed, 2); got != "/fleet/day?date=2026-09-06&hour=3&outcome=failed&page=2" {
		t.Error(got)
	}
	days := calendarDays(time.Date(2026, 9, 8, 0, 0, 0, 0, time.UTC), zone)
	for n, day := range days[:len(days)-1] {
		if next := days[n+1]; next.Format(dateFormat) != day.Add(30*time.Hour).Format(dateFormat) {
			t.Errorf("after %s comes %s", day, next)
		}
	}
}

// What is typed wrong is told with its cure.
func TestBadInput(t *testing.T) {
	s := uitest.Site(t, world(), onTheSite)
	for target, want := range map[string]string{
		"/fleet?kind=job": "It is cronjob or timetable",
		"/fleet?days=0":   "7, 30 or 90 days",
		"/fleet?namespace=" + strings.Repeat("a", 254): "No namespace has a name as long as that",
		"/fleet/starts.json?kind=x":                    "It is cronjob or timetable",
		"/fleet/minute":                                "2027-03-01T00:00Z",
		"/fleet/minute?at=midnight":                    "2027-03-01T00:00Z",
		"/fleet/minute?at=2026-11-02T23:00Z&page=0":    "from 1 on",
		"/fleet/minute?at=2026-11-02T23:00Z&page=-1":   "from 1 on",
		"/fleet/minute?at=2026-11-02T23:00Z&kind=%22":  "It is cronjob or timetable",
		"/fleet/day?date=yesterday":                    "2027-03-01",
		"/fleet/day?date=0001-01-01":                   "2027-03-01",
		"/fleet/day?hour=24":                           "0 to 23",
		"/fleet/day?hour=x":                            "0 to 23",
		"/fleet/day?date=2026-10-25&hour=25":           "0 to 24",
		"/fleet/day?outcome=%3Cb%3E":                   "no outcome",
		"/fleet/day?page=x":                            "from 1 on",
		"/fleet/day?kind=x":                            "It is cronjob or timetable",
	} {
		t.Run(target[:min(60, len(target))], func(t *testing.T) {
			code, body := uitest.Get(t, s, target)
			if code != http.StatusBadRequest || !strings.Contains(body, want) || strings.Contains(body, "<b>") {
				t.Errorf("%d: %s", code, body)
			}
		})
	}
}

// The script draws the numbers of the forecast.
func TestNumbers(t *testing.T) {
	var got struct {
		From            int64
		Starts, Running []int64
	}
	if err := json.Unmarshal([]byte(get(t, world(), "/fleet/starts.json")), &got); err != nil {
		t.Fatal(err)
	}
	if got.From != uitest.Now.Unix() || len(got.Starts) != 1440 || len(got.Running) != 1440 || got.Starts[12*60] != 41 {
		t.Errorf("got %d, %d, %d", got.From, len(got.Starts), got.Starts[12*60])
	}
}

// A page that is not there yet says so, and is read again, with scripts and without.
func TestCounting(t *testing.T) {
	s := uitest.Site(t, world(), func(s *page.Site) { register(s, -1) })
	for _, target := range []string{"/fleet", "/fleet/minute?at=2026-11-02T23:00Z", "/fleet/day?date=2026-10-31"} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, target, nil))
		// It may have been there all the same: a wait of nothing is a choice between two that are ready.
		if counted := strings.Contains(w.Body.String(), "being counted"); w.Code != http.StatusOK || counted != (w.Header().Get("Refresh") != "") {
			t.Errorf("%s: %d, counted %t, read again %q", target, w.Code, counted, w.Header().Get("Refresh"))
		}
	}
}

// Without an API server it says what is not known, and shows what is.
func TestJournalAlone(t *testing.T) {
	w := world()
	w.Manifests = ""
	s := uitest.Site(t, w, func(s *page.Site) {
		s.Server = nil
		onTheSite(s)
	})
	code, body := uitest.Get(t, s, "/fleet")
	if code != http.StatusOK {
		t.Fatal(code)
	}
	uitest.Says(t, body, []string{"What will start is not known: there is no API server here", "103 runs", "Failing most"}, nil)
}

// What may not be read is said, and counted as none nowhere.
func TestUnread(t *testing.T) {
	body := get(t, uitest.World{Notes: []string{"Jobs may not be read"}, Unread: status.Unread{Runs: "Jobs may not be read", Schedules: "CronJobs may not be read"}}, "/fleet")
	uitest.Says(t, body, []string{"<span>Jobs may not be read</span>", "Not known: Jobs may not be read", "Not known: CronJobs may not be read"}, nil)
	if strings.Contains(body, "There is no CronJob") || strings.Contains(body, "No run is known yet") {
		t.Errorf("it says that there is none:\n%s", body)
	}
}
