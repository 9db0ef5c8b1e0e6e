// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package now

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/status"
	"github.com/carillon-dev/carillon/internal/ui/page"
	"github.com/carillon-dev/carillon/internal/ui/uitest"
)

func cronJob(name, schedule, rest string) string {
	return `---
apiVersion: batch/v1
kind: CronJob
metadata: {name: ` + name + `, namespace: shop, uid: uid-` + name + `, creationTimestamp: "2026-11-02T10:59:00Z"}
spec: {schedule: "` + schedule + `"` + rest + `, jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: a}]}}}}}
`
}

func runOf(owner string, ended time.Duration, outcome run.Outcome) run.Run {
	at := uitest.Now.Add(-ended)
	r := run.Run{UID: "run-1", APIVersion: "batch/v1", Kind: "Job", Namespace: "shop", Name: owner + "-1", Outcome: outcome,
		Owner:         run.Owner{APIVersion: "batch/v1", Kind: "CronJob", Name: owner, UID: types.UID("uid-" + owner)},
		ScheduledTime: at.Add(-time.Minute), Created: at.Add(-time.Minute), Started: at.Add(-time.Minute)}
	if outcome.Ended() {
		r.Ended = at
	}
	return r
}

func TestPage(t *testing.T) {
	failed := runOf("report", 5*time.Minute, run.Failed)
	failed.Reason, failed.ExitCode = "BackoffLimitExceeded", new(int32(3))
	recovered := runOf("flaky", time.Hour, run.Failed)
	recovered.UID, recovered.Message = "run-2", "<script>alert(1)</script> \x1b[31mred"
	missed := run.Omission{Namespace: "shop", Owner: run.Owner{APIVersion: "batch/v1", Kind: "CronJob", Name: "sync", UID: "uid-sync"},
		ScheduledTime: uitest.Now.Add(-3 * time.Hour), Count: 1, Missed: true, Reason: "Outage", Message: "nobody looked when it was due"}

	for name, c := range map[string]struct {
		world      uitest.World
		path       string
		want, lack []string
		code       int
	}{
		"nothing yet": {
			want: []string{"Carillon is ready", "Make the first schedule", "carillon kubectl create cronjob hello", `href="/simulate"`},
			lack: []string{"Nothing failed."},
		},
		"all is well": {
			world: uitest.World{Manifests: cronJob("report", "30 * * * *", ", timeZone: Europe/Berlin")},
			want:  []string{"All is well", "0 running, 1 schedule, next in 30m", "Nothing failed.", "Nothing runs right now.", ">12:30<", "1 start in the next hour", "the journal of a test"},
			lack:  []string{"Missed or skipped", "Suspended or paused", "Cannot run"},
		},
		"a run that takes longer than others did": {
			world: uitest.World{Manifests: cronJob("slow", "30 * * * *", ""), Runs: []run.Run{runOf("slow", 20*time.Minute, run.Active)},
				Usual: map[types.UID]journal.Usual{"uid-slow": {Runs: 5, Median: time.Minute, Most: 4 * time.Minute}}},
			want: []string{"longer than usual: 4m at most so far", "21m so far; usually 1m, at most 4m", `<rect class="waiting" width="100`},
		},
		"a failure with its reason": {
			world: uitest.World{Manifests: cronJob("report", "30 * * * *", ""), Runs: []run.Run{failed}},
			want: []string{"<title>1 failing", "5m ago", "Exit code 3; its Pods failed more often than spec.backoffLimit allows.",
				`href="/schedule/cronjob/shop/report"`, `href="/run/shop/report-1?uid=run-1#output"`, `<a class="stat bad" href="#failed">`},
		},
		"what runs": {
			world: uitest.World{Manifests: cronJob("report", "30 * * * *", ""), Runs: []run.Run{runOf("report", 0, run.Active)}},
			want:  []string{"All is well", "1 running", `<span class="now-when">1m</span>`, `href="/run/shop/report-1?uid=run-1#output"`},
		},
		"hostile words": {
			world: uitest.World{Manifests: cronJob("flaky", "30 0 * * *", ""), Runs: []run.Run{recovered}},
			want:  []string{"&lt;script&gt;alert(1)"},
			lack:  []string{"<script>alert"},
		},
		"missed": {
			world: uitest.World{Manifests: cronJob("sync", "0 8 * * *", ""), Omissions: []run.Omission{missed}},
			want:  []string{"1 missed", "nobody looked when it was due", `href="/why/cronjob/shop/sync?at=2026-11-02T08%3A00%3A00Z"`, "Why 09:00 had no run"},
		},
		"suspended": {
			world: uitest.World{Manifests: cronJob("sync", "0 8 * * *", ", suspend: true")},
			want:  []string{"All is well", "Suspended or paused", `<a class="stat " href="#paused">`, "Nothing is due in the next hour."},
		},
		"cannot run": {
			world: uitest.World{Manifests: cronJob("sync", "0 0 30 2 *", "")},
			want:  []string{"1 cannot run", "names no date that exists"},
		},
		"one part alone": {
			world: uitest.World{Manifests: cronJob("report", "30 * * * *", ""), Runs: []run.Run{failed}},
			path:  "/?show=failed", want: []string{"<h1>Failed lately</h1>", `href="/run/shop/report-1?uid=run-1#output"`}, lack: []string{"Next hour", "Figures"},
		},
		"an empty part alone": {path: "/?show=missed&page=-7", want: []string{"Nothing was missed or skipped."}},
		"no such part":        {path: "/?show=%3Cb%3E", code: http.StatusNotFound, want: []string{"There is no part &#34;&lt;b&gt;&#34;"}},
		"nothing can be read": {world: uitest.World{Fails: fmt.Errorf("the journal is broken")}, code: http.StatusInternalServerError, want: []string{"the journal is broken"}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.path == "" {
				c.path = "/"
			}
			if c.code == 0 {
				c.code = http.StatusOK
			}
			code, body := uitest.Get(t, uitest.Site(t, c.world, Register), c.path)
			if code != c.code {
				t.Fatalf("it answers %d:\n%s", code, body)
			}
			uitest.Says(t, body, c.want, c.lack)
		})
	}
}

// known is a site of a status.
type known struct {
	page.Cache
	status *status.Status
}

func (k known) Status(context.Context) (*status.Status, error) { return k.status, nil }

func pageOf(t *testing.T, s *status.Status, path string) string {
	t.Helper()
	site := uitest.Site(t, uitest.World{})
	site.Cache = known{site.Cache, s}
	Register(site)
	code, body := uitest.Get(t, site, path)
	if code != http.StatusOK {
		t.Fatalf("it answers %d:\n%s", code, body)
	}
	return body
}

func left(r run.Run) run.Run {
	r.Left = true
	return r
}

func TestOutputAndHealth(t *testing.T) {
	failed := status.Failure{Object: status.Object{Namespace: "shop", Reference: "cronjob/report"}, Run: runOf("report", time.Minute, run.Failed), InARow: 4, More: true,
		Output: []string{"reading", "no <such> table"}}
	s := &status.Status{Now: uitest.Now, Since: uitest.Now.Add(-24 * time.Hour), Within: time.Hour, Failed: []status.Failure{failed}, Stopped: true,
		Health:  []status.Part{{Name: "control plane", State: status.Wrong, Text: "nothing starts", Cure: "carillon up"}, {Name: "journal", State: status.Well, Text: "12 runs"}},
		Running: []status.Running{{Object: failed.Object, Run: left(runOf("report", 0, run.Active)), Stuck: true, Waits: "its image cannot be pulled"}}}
	body := pageOf(t, s, "/")
	uitest.Says(t, body, []string{"reading\nno &lt;such&gt; table", "at least 4 times in a row", "<strong>control plane:</strong> nothing starts", "What helps: carillon up", "Journal: 12 runs",
		"No API server answers", "Not ended when Carillon stopped</h2>", "not ended when Carillon stopped</span>", "stuck: its image cannot be pulled", "text-bad"}, nil)
}

// What is not known is said.
func TestNotes(t *testing.T) {
	s := uitest.Site(t, uitest.World{Manifests: cronJob("report", "0 0 1 1 *", ""), Notes: []string{"Jobs may not be read: <no right>"}}, Register)
	code, body := uitest.Get(t, s, "/")
	if code != http.StatusOK || !strings.Contains(body, "Jobs may not be read: &lt;no right&gt;") {
		t.Errorf("%d: it does not say what is not known:\n%s", code, body)
	}
}

// The age of a run is drawn beside what is usual.
func TestRunningPage(t *testing.T) {
	r := runOf("report", 0, run.Active)
	s := &status.Status{Now: uitest.Now, Since: uitest.Now.Add(-24 * time.Hour), Within: time.Hour, Served: true, Running: []status.Running{
		{Object: status.Object{Namespace: "shop", Reference: "cronjob/report"}, Run: r, Age: 5 * time.Minute, Long: true, Usual: status.Usual{Runs: 9, Median: time.Minute, Most: 2 * time.Minute}}}}
	body := pageOf(t, s, "/")
	uitest.Says(t, body, []string{"5m so far; usually 1m, at most 2m", "longer than usual", `class="waiting"`}, nil)
}

// Of many only the first are shown, and all are on pages of their own.
func TestManyFailures(t *testing.T) {
	s := &status.Status{Now: uitest.Now, Since: uitest.Now.Add(-24 * time.Hour), Served: true, Schedules: 1000}
	for n := range 120 {
		object := status.Object{Namespace: "shop", Reference: fmt.Sprintf("cronjob/report-%03d", n)}
		s.Failed = append(s.Failed, status.Failure{Object: object, Run: runOf("report", time.Minute, run.Failed), InARow: 1})
	}
	for path, want := range map[string]struct {
		first, last, rest string
	}{
		"/":                      {"000", "004", `<a class="more" href="/?show=failed">all 120</a>`},
		"/?show=failed":          {"000", "049", "1 to 50 of 120"},
		"/?show=failed&page=3":   {"100", "119", "101 to 120 of 120"},
		"/?show=failed&page=999": {"100", "119", `href="/?page=2&amp;show=failed"`},
	} {
		t.Run(path, func(t *testing.T) {
			body := pageOf(t, s, path)
			if !strings.Contains(body, want.rest) {
				t.Errorf("it does not say %q", want.rest)
			}
			at := strings.Index(body, ">cronjob/report-")
			if to := strings.LastIndex(body, ">cronjob/report-"); at < 0 || body[at+16:at+19] != want.first || body[to+16:to+19] != want.last {
				t.Errorf("it shows others: %s to %s", body[at+16:at+19], body[to+16:to+19])
			}
		})
	}
}

func TestBars(t *testing.T) {
	usual := status.Usual{Runs: 9, Median: 2 * time.Minute, Most: 4 * time.Minute}
	for name, c := range map[string]struct {
		age               time.Duration
		bar, median, most float64
	}{
		"young":   {time.Minute, 25, 50, 100},
		"overdue": {8 * time.Minute, 100, 25, 50},
		"new":     {0, 1, 50, 100},
	} {
		t.Run(name, func(t *testing.T) {
			all := runningOf(&status.Status{Running: []status.Running{{Age: c.age, Usual: usual}}})
			if b := all[0].Bar; b == nil || b.Age != c.bar || b.Median != c.median || b.Most != c.most {
				t.Errorf("got %+v", b)
			}
		})
	}
	if all := runningOf(&status.Status{Running: []status.Running{{Age: time.Minute}}}); all[0].Bar != nil {
		t.Error("a bar without anything to compare with")
	}
}

// What is counted by the minute is all that is due, however often that is.
func TestHerd(t *testing.T) {
	now := uitest.Now.Add(30 * time.Second)
	manifests := cronJob("hourly", "0 * * * *", "") + cronJob("five", "*/5 * * * *", "") + cronJob("every", "@every 20m", "") + `---
apiVersion: batch.carillon.dev/v1alpha1
kind: Timetable
metadata: {name: seconds, namespace: shop, uid: uid-seconds, creationTimestamp: "2026-11-02T10:59:00Z"}
spec: {schedules: [{cron: "*/10 * * * * *"}], template: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: a}]}}}}}
`
	site := uitest.Site(t, uitest.World{Manifests: manifests, Now: now})
	known, err := site.Cache.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	schedules, err := site.Cache.Schedules(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h := herdOf(known, schedules)
	due := 0
	for i := range known.Due {
		due += known.Due[i].Count
	}
	if h.Total != due || len(known.Due) != 4 {
		t.Errorf("%d starts are counted, %d are due of %d", h.Total, due, len(known.Due))
	}
	if got := h.Counts[5]; got != 7 {
		t.Errorf("11:05 has %d", got)
	}
	if h.Most != 7 || !h.At.Equal(uitest.Now.Add(5*time.Minute)) {
		t.Errorf("most are %d at %v", h.Most, h.At)
	}
	if got := h.Counts[60]; got < 5 { // the herd of the full hour, 30 seconds before the end
		t.Errorf("12:00 has %d", got)
	}
}

// Where Jobs or schedules may not be read, none known does not mean none.
func TestUnread(t *testing.T) {
	for name, c := range map[string]struct {
		unread     status.Unread
		path       string
		want, lack []string
	}{
		"Jobs": {status.Unread{Runs: "Jobs may not be read: <no right>"}, "/",
			[]string{"<title>Not all can be seen", "What runs is not known, 1 schedule", "running: not known", "failing: not known", "Not known: Jobs may not be read: &lt;no right&gt;", "now-verdict wrong"},
			[]string{"All is well", "0 running", "Nothing failed.", "Nothing runs right now."}},
		"CronJobs":     {status.Unread{Schedules: "CronJobs may not be read"}, "/", []string{"<title>Not all can be seen", "due in the next hour: not known", "Not known: CronJobs may not be read"}, []string{"All is well", "Nothing is due", "Carillon is ready"}},
		"paused alone": {status.Unread{Schedules: "CronJobs may not be read"}, "/?show=paused", []string{"Not known: CronJobs may not be read"}, []string{"Nothing is suspended"}},
	} {
		t.Run(name, func(t *testing.T) {
			code, body := uitest.Get(t, uitest.Site(t, uitest.World{Manifests: cronJob("report", "0 0 1 1 *", ""), Unread: c.unread}, Register), c.path)
			if code != http.StatusOK {
				t.Fatal(code, body)
			}
			uitest.Says(t, body, c.want, c.lack)
		})
	}
}
