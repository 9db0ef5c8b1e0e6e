// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"

	"github.com/carillon-dev/carillon/internal/kind"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/ui/page"
	"github.com/carillon-dev/carillon/internal/ui/uitest"
)

const manifests = `
apiVersion: batch/v1
kind: CronJob
metadata: {name: backup, uid: u-backup, creationTimestamp: "2026-10-01T00:00:00Z"}
spec:
  schedule: "30 2 * * *"
  timeZone: America/New_York
  concurrencyPolicy: Forbid
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: app, env: [{name: TOKEN, value: "<b>secret</b>"}]}]}}}}
---
apiVersion: batch/v1
kind: CronJob
metadata:
  name: asleep
  uid: u-asleep
  managedFields:
  - {manager: kubectl-edit, operation: Update, time: "2026-11-02T09:00:00Z", fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:suspend": {}}}}
spec:
  schedule: "0 * * * *"
  suspend: true
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: app}]}}}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: broken, uid: u-broken}
spec:
  schedule: "61 * * * *"
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: app}]}}}}
---
apiVersion: batch.carillon.dev/v1alpha1
kind: Timetable
metadata: {name: report, uid: u-report, creationTimestamp: "2026-10-01T00:00:00Z"}
spec:
  timeZone: Europe/Rome
  schedules: [{name: night, cron: "30 2 * * *"}, {name: noon, cron: "0 12 * * *"}]
  exclude: [{calendar: holidays}]
  template: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: app}]}}}}
status:
  conditions: [{type: Ready, status: "True", reason: Accepted, message: "All is <well>.", lastTransitionTime: "2026-10-01T00:00:00Z"}]
  counts: {started: 40, succeeded: 38, failed: 2}
  ledger: [{scheduledTime: "2026-11-02T01:30:00Z", result: Succeeded, run: report-1}]
---
apiVersion: batch.carillon.dev/v1alpha1
kind: Calendar
metadata: {name: holidays}
spec: {periods: [{period: "2026-11-03", name: All <Souls>}]}
---
apiVersion: v1
kind: Event
metadata: {name: e1}
involvedObject: {apiVersion: batch/v1, kind: CronJob, name: backup, namespace: default, uid: u-backup}
type: Warning
reason: MissSchedule
message: "Missed <script>alert(1)</script>"
firstTimestamp: "2026-11-02T10:00:00Z"
lastTimestamp: "2026-11-02T10:30:00Z"
count: 4
`

// backup is the CronJob of that name, as an owner of runs.
var backup = run.Owner{APIVersion: "batch/v1", Kind: "CronJob", Name: "backup", UID: "u-backup"}

// runAt is a run of backup, which took so long.
func runAt(at time.Time, outcome run.Outcome, took time.Duration) run.Run {
	r := run.Run{
		UID: types.UID("uid-" + at.Format(time.RFC3339)), APIVersion: "batch/v1", Kind: "Job", Namespace: "default", Name: fmt.Sprintf("backup-%d", at.Unix()/60), Owner: backup,
		Trigger: run.Schedule, ScheduledTime: at, Created: at, Started: at, Outcome: outcome,
	}
	if outcome.Ended() {
		r.Ended = at.Add(took)
	}
	if outcome == run.Failed {
		r.Reason, r.Message, r.ExitCode = "BackoffLimitExceeded", "Job <i>has</i> reached the limit", new(int32(137))
	}
	return r
}

// runs are so many, one a day at 06:30 UTC until the day of uitest.Now.
func runs(count int) []run.Run {
	var all []run.Run
	for i := range count {
		all = append(all, runAt(time.Date(2026, 11, 2, 6, 30, 0, 0, time.UTC).AddDate(0, 0, -i), run.Succeeded, time.Duration(10+i%3)*time.Second))
	}
	return all
}

// refuses lets nobody read a resource.
func refuses(resource string) func(clienttesting.Action) error {
	return func(a clienttesting.Action) error {
		if a.GetResource().Resource != resource {
			return nil
		}
		return apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "backup", errors.New("nobody may"))
	}
}

func site(t *testing.T, w uitest.World) *page.Site {
	t.Helper()
	if w.Manifests == "" {
		w.Manifests = manifests
	}
	return uitest.Site(t, w, Register)
}

func TestPage(t *testing.T) {
	late := runAt(time.Date(2026, 10, 31, 6, 30, 0, 0, time.UTC), run.Failed, time.Minute)
	late.Created = late.ScheduledTime.Add(10 * time.Minute)
	late.Started = late.Created
	missed := run.Omission{Namespace: "default", Owner: backup, ScheduledTime: time.Date(2026, 11, 2, 7, 30, 0, 0, time.UTC), Count: 3, Missed: true, Reason: "Outage", Until: time.Date(2026, 11, 2, 9, 30, 0, 0, time.UTC)}
	for name, test := range map[string]struct {
		world      uitest.World
		target     string
		code       int
		says, lies []string
	}{
		"a schedule, its words, and its next times in two zones": {
			target: "/schedule/cronjob/default/backup",
			says: []string{"It runs", "02:30", "America/New_York", "Tue 3 Nov, 02:30", "Tue 3 Nov, 08:30", "Europe/Berlin (yours)", "in 20h30m", "concurrencyPolicy: Forbid",
				"14 Mar 2027", "No run of it is known yet.", "Nothing is masked", "&lt;b&gt;secret&lt;/b&gt;"},
			lies: []string{"<b>secret", "cannot be read"},
		},
		"acts": {
			target: "/schedule/cronjob/default/backup",
			says: []string{`href="/act/run-now?kind=cronjob&amp;namespace=default&amp;name=backup"`, `href="/act/suspend?`, `href="/act/edit?`, `href="/act/delete?`,
				`href="/why/cronjob/default/backup"`, `href="/simulate?of=cronjob%2Fdefault%2Fbackup"`, `href="/timeline?q=backup"`},
			lies: []string{"/act/resume"},
		},
		"read only": {world: uitest.World{ReadOnly: true}, target: "/schedule/cronjob/default/backup", says: []string{"Next times"}, lies: []string{"/act/"}},
		"suspended": {target: "/schedule/cronjob/default/asleep", says: []string{"suspended", "since 2h ago or before", "written by kubectl-edit", "/act/resume?", "pass without a run"}, lies: []string{"/act/suspend"}},
		"between two attempts": {world: uitest.World{Manifests: strings.Replace(manifests, "  counts: {started: 40", "  active: [{name: report-2, scheduledTime: \"2026-11-02T10:00:00Z\", trigger: Schedule, attempt: 1, startTime: \"2026-11-02T10:00:00Z\", retryAt: \"2026-11-02T11:02:00Z\"}]\n  counts: {started: 40", 1)},
			target: "/schedule/timetable/default/report", says: []string{"waits to be tried again", "report-2 has failed, and is tried again in 2m."}},
		"suspended while a time waits": {world: uitest.World{Manifests: strings.Replace(strings.Replace(manifests, "  counts: {started: 40", "  waiting: [{scheduledTime: \"2026-11-02T10:00:00Z\", trigger: Schedule, reason: Overlap, since: \"2026-11-02T10:00:00Z\"}]\n  counts: {started: 40", 1), "  timeZone: Europe/Rome", "  suspend: true\n  timeZone: Europe/Rome", 1)},
			target: "/schedule/timetable/default/report", says: []string{"and is skipped: it does not start when it is resumed"}, lies: []string{"waits to start"}},
		"cannot run":      {target: "/schedule/cronjob/default/broken", says: []string{"cannot run", "Nothing starts as it is written", "None:"}},
		"events together": {target: "/schedule/cronjob/default/backup", says: []string{"MissSchedule", "Missed &lt;script&gt;", "30m ago"}, lies: []string{"<script>alert"}},
		"a Timetable": {
			target: "/schedule/timetable/default/report",
			says: []string{"night: It runs", "noon: It runs", "It is understood, and served.", "All is &lt;well&gt;.", "40 times started", "holidays", "excluded by Calendar", "What its status remembers", "report-1",
				"All &lt;Souls&gt;"},
		},
		"runs": {
			world:  uitest.World{Runs: append([]run.Run{late}, runs(2)...), Omissions: []run.Omission{missed}},
			target: "/schedule/cronjob/default/backup",
			says: []string{"The last 3 runs: 2 succeeded, 1 failed; 3 times without a run between them", "exit code 137: killed (SIGKILL)", "10m late", "missed", "nobody looked when it was due",
				`href="/why/cronjob/default/backup?at=2026-11-02T07%3A30%3A00Z"`, "Job &lt;i&gt;has&lt;/i&gt;", "66.7 %", "had no run"},
			lies: []string{"<i>has"},
		},
		"all failed":  {world: uitest.World{Runs: []run.Run{runAt(uitest.Now.Add(-time.Hour), run.Failed, 0), late}}, target: "/schedule/cronjob/default/backup", says: []string{"2 runs in a row failed", "0 %"}},
		"what runs":   {world: uitest.World{Runs: []run.Run{runAt(uitest.Now.Add(-time.Hour), run.Active, 0)}}, target: "/schedule/cronjob/default/backup", says: []string{"running", "for 1h"}},
		"a filter":    {world: uitest.World{Runs: append([]run.Run{late}, runs(3)...)}, target: "/schedule/cronjob/default/backup?outcome=failed", says: []string{"exit code 137", `aria-current="true">Failed`}},
		"none of it":  {world: uitest.World{Runs: runs(3)}, target: "/schedule/cronjob/default/backup?outcome=failed", says: []string{"There is none of these."}},
		"no run":      {world: uitest.World{Runs: runs(3), Omissions: []run.Omission{missed}}, target: "/schedule/cronjob/default/backup?outcome=none", says: []string{"nobody looked when it was due"}},
		"a day":       {world: uitest.World{Runs: runs(40)}, target: "/schedule/cronjob/default/backup?run=2026-10-20", says: []string{"20 Oct 08:30", "Newest", "Older"}, lies: []string{">21 Oct 08:30</time></a>"}},
		"no day":      {world: uitest.World{Runs: runs(3)}, target: "/schedule/cronjob/default/backup?run=%3Cscript%3E", code: 422, says: []string{"is no day", "&lt;script&gt;", "aria-invalid"}, lies: []string{"<script>"}},
		"bad queries": {world: uitest.World{Runs: runs(3)}, target: "/schedule/cronjob/default/backup?outcome=%27%22&before=yesterday&x=1", says: []string{"06:30", "The last 3 runs"}[1:]},
		"gone, and remembered": {
			world: uitest.World{Manifests: "{}", Runs: runs(2)}, target: "/schedule/cronjob/default/backup",
			says: []string{"it was deleted", "The last 2 runs", "gone"}, lies: []string{"/act/", "Next times", "YAML"},
		},
		"an object that may not be read": {
			world:  uitest.World{Runs: runs(2), Refuses: refuses("cronjobs")},
			target: "/schedule/cronjob/default/backup", says: []string{"Not allowed: ", "The last 2 runs", "remembered"}, lies: []string{"/act/", "Next times"},
		},
		"nothing but what may not be read": {
			world: uitest.World{Refuses: refuses("cronjobs")}, target: "/schedule/cronjob/default/backup", code: 403, says: []string{"Nothing is remembered of cronjob backup"},
		},
		"events that may not be read": {
			world: uitest.World{Refuses: refuses("events")}, target: "/schedule/cronjob/default/backup", says: []string{"Some could not be read: not allowed", "Next times"},
		},
		"never heard of": {target: "/schedule/cronjob/default/bakup", code: 404, says: []string{"There is no cronjob bakup in the namespace default", "Did you mean backup?", `href="/schedule/cronjob/default/backup">backup</a>`}},
		"elsewhere":      {target: "/schedule/cronjob/shop/backup", code: 404, says: []string{"One of that name is in default.", `href="/schedule/cronjob/default/backup">default</a>`}},
		"no kind":        {target: "/schedule/pod/default/backup", code: 404, says: []string{"pod is no kind of schedule"}},
		"no group":       {target: "/schedule/cronjob/default/backup?group=x", code: 404, says: []string{"no cronjob of the API group x"}},
		"a hostile name": {target: "/schedule/cronjob/default/%3Cscript%3E%22'", code: 404, says: []string{"&lt;script&gt;"}, lies: []string{"<script>\""}},
		"a journal that cannot be read": {
			world: uitest.World{Fails: errors.New("the disk is <gone>")}, target: "/schedule/cronjob/default/backup",
			says: []string{"cannot be read: the disk is &lt;gone&gt;", "Next times"}, lies: []string{"No run of it is known yet.</p>"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			code, body := uitest.Get(t, site(t, test.world), test.target)
			if want := max(test.code, 200); code != want {
				t.Errorf("code %d, not %d", code, want)
			}
			text := strings.Join(strings.Fields(body), " ")
			uitest.Says(t, text, test.says, test.lies)
		})
	}
}

// Pages of the table show each run once, and none twice, also where tries of one time would be torn apart.
func TestPagesOfRuns(t *testing.T) {
	all := runs(70)
	for i := 20; i < 30; i++ { // tries of one time, across the end of the first page
		all[i].ScheduledTime, all[i].Retry = all[20].ScheduledTime, 30-i
	}
	s := site(t, uitest.World{Runs: all})
	seen := map[string]int{}
	target := "/schedule/cronjob/default/backup"
	for pages := 0; target != "" && pages < 10; pages++ {
		_, body := uitest.Get(t, s, target)
		_, table, _ := strings.Cut(body, `id="runs"`)
		for _, r := range all {
			if strings.Contains(table, string("uid="+strings.ReplaceAll(string(r.UID), ":", "%3A"))+`"`) {
				seen[string(r.UID)]++
			}
		}
		_, rest, more := strings.Cut(table, `rel="next" href="`)
		target = ""
		if more {
			target, _, _ = strings.Cut(rest, `#runs"`)
			target = strings.ReplaceAll(target, "&amp;", "&")
		}
	}
	if len(seen) != len(all) {
		t.Errorf("%d of %d runs were shown", len(seen), len(all))
	}
	for uid, n := range seen {
		if n != 1 {
			t.Errorf("%s was shown %d times", uid, n)
		}
	}
}

// subjectKind is the kind of backup.
var subjectKind = kind.All[0]

func TestPicture(t *testing.T) {
	entries := func(all ...run.Run) (p picture) {
		c := contentOfPage(&known{now: uitest.Now, latest: all, subject: page.Subject{Kind: subjectKind}}, time.UTC)
		return c.Picture
	}
	many := runs(200)
	if p := entries(many...); len(p.Columns) != mostColumns || p.Columns[mostColumns-1].Run.UID != many[0].UID {
		t.Errorf("%d columns, which do not end with the newest run", len(p.Columns))
	}
	outlier := runs(40)
	outlier[3].Ended = outlier[3].Started.Add(5 * time.Hour)
	p := entries(outlier...)
	if !p.Cut || p.Top > time.Minute || !p.Columns[len(p.Columns)-4].Cut {
		t.Errorf("one run that took far longer hides all others: top %s", p.Top)
	}
	for i, c := range p.Columns {
		if c.Height < leastHigh || c.Y < 0 || c.Y+c.Height > p.Height+0.01 || i > 0 && c.X <= p.Columns[i-1].X {
			t.Errorf("column %d is out of place: %+v", i, c)
		}
	}
	if p.Median <= p.Percentile95 {
		t.Errorf("the median (%.1f) is not below the 95 of 100 (%.1f)", p.Median, p.Percentile95)
	}
	if p := entries(); len(p.Columns) != 0 || p.Sentence != "" {
		t.Errorf("%+v", p)
	}
}
