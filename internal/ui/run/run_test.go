// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/journal/crilog"
	"github.com/carillon-dev/carillon/internal/plan/run"
	runpage "github.com/carillon-dev/carillon/internal/ui/run"
	"github.com/carillon-dev/carillon/internal/ui/uitest"
)

var due = time.Date(2026, 11, 2, 2, 0, 0, 0, time.UTC)

const backupManifest = `
apiVersion: batch/v1
kind: CronJob
metadata: {name: backup, uid: owner}
spec:
  schedule: "0 2 * * *"
  timeZone: America/New_York
  jobTemplate: {spec: {template: {spec: {containers: [{name: dump, image: x, resources: {limits: {memory: 64Mi}}}], restartPolicy: Never}}}}
`

// backup is a run of the schedule, n days after the first one, which took a minute.
func backup(n int, outcome run.Outcome) run.Run {
	at := due.AddDate(0, 0, n-3)
	r := run.Run{
		UID: types.UID(fmt.Sprint("uid-", n)), APIVersion: "batch/v1", Kind: "Job", Namespace: "default", Name: fmt.Sprint("backup-", n),
		Owner:   run.Owner{APIVersion: "batch/v1", Kind: "CronJob", Name: "backup", UID: "owner"},
		Trigger: run.Schedule, ScheduledTime: at, Created: at.Add(time.Second), Started: at.Add(time.Second), Outcome: outcome,
	}
	if outcome.Ended() {
		r.Ended = at.Add(time.Minute)
	}
	return r
}

func attemptOf(r *run.Run, n int, code int32) run.Attempt {
	began := r.Started.Add(time.Duration(n-1) * 10 * time.Second)
	a := run.Attempt{
		ContainerID: fmt.Sprintf("%s-c%d", r.UID, n), RunUID: r.UID, Namespace: "default", Pod: fmt.Sprintf("%s-p%d", r.Name, n), PodUID: types.UID(fmt.Sprintf("%s-p%d", r.UID, n)),
		Container: "dump", Role: run.Main, Mains: 1, Started: began, Ended: began.Add(5 * time.Second), ExitCode: code, CPU: time.Second, MemoryPeak: 60 << 20, OutputBytes: 100,
	}
	if code != 0 {
		a.Reason = "Error"
	}
	return a
}

// cri is a log of these lines, a second apart; "!" begins one of the error stream.
func cri(lines ...string) string {
	var text []byte
	for i, line := range lines {
		plain, stderr := strings.CutPrefix(line, "!")
		text = crilog.AppendRecord(text, due.Add(time.Duration(i)*time.Second), stderr, false, []byte(plain))
	}
	return string(text)
}

func numbered(n int) (lines []string) {
	for i := range n {
		lines = append(lines, fmt.Sprintf("row %d of it", i+1))
	}
	return lines
}

// world has a run that failed twice, one before and one after it, and what it wrote.
func world() uitest.World {
	before, failed, after := backup(2, run.Succeeded), backup(3, run.Failed), backup(4, run.Succeeded)
	after.ScheduledTime, after.Created, after.Started, after.Ended = due.Add(time.Hour), due.Add(time.Hour), due.Add(time.Hour), due.Add(2*time.Hour)
	failed.Reason, failed.Message, failed.ExitCode = "BackoffLimitExceeded", "Job has reached the specified backoff limit", new(int32(3))
	failed.Created, failed.CPU, failed.MemoryPeak, failed.OutputBytes = due.Add(2*time.Minute), 30*time.Second, 60<<20, 2048
	first, second := attemptOf(&failed, 1, 3), attemptOf(&failed, 2, 3)
	return uitest.World{
		Manifests: backupManifest, Runs: []run.Run{before, failed, after}, Attempts: []run.Attempt{first, second},
		Logs:  map[string]string{first.ContainerID: cri("begin", "first attempt"), second.ContainerID: cri("begin again", "!\x1b[31mno space\x1b[0m <b>left</b>", "10%\r100%")},
		Usual: map[types.UID]journal.Usual{"owner": {Runs: 9, Median: 5 * time.Second, Most: 8 * time.Second}},
	}
}

func TestRun(t *testing.T) {
	for name, test := range map[string]struct {
		world func(w *uitest.World)
		at    string
		code  int
		want  []string
		not   []string
	}{
		"a failure": {at: "/run/default/backup-3?uid=uid-3", want: []string{
			"<h1>backup-3</h1>", "failed", "It failed. Its Pods were not tried once more: its backoffLimit allows no more failures.", "Container dump ended with exit code 3 after 5s.", "BackoffLimitExceeded",
			`href="/schedule/cronjob/default/backup"`, "Mon 2 Nov 2026 03:00:00 CET", "in its schedule’s zone: Sun 1 Nov 2026 21:00:00 EST (America/New_York)",
			"2m late", "usually 5s, so it took much longer", "30s of processor time", "60 MiB at its peak", "2.0 KiB",
			"Run before, Sun 03:00: succeeded", "Run after, 04:00: succeeded", `href="/run/default/backup-2?uid=uid-2"`, `href="/run/default/backup-4?uid=uid-4"`,
			"Tried again in a new Pod.", "No new Pod: backoffLimit allows no more failures.", "its schedule",
		}},
		"its data interval": {at: "/run/default/backup-3", want: []string{"Data interval", "Sun 1 Nov 2026 08:00:00 CET", "to <time"}, world: func(w *uitest.World) {
			w.Runs[1].ScheduledTime = time.Date(2026, 11, 2, 7, 0, 0, 0, time.UTC) // 02:00 in New York
		}},
		"output of the last attempt": {at: "/run/default/backup-3?uid=uid-3", want: []string{
			"begin again", `<span class="t-f1">no space</span> &lt;b&gt;left&lt;/b&gt;`, `title="error stream">err</span>`, `>100%<`, "Attempt 1", "Attempt 2", "All together", "3 lines", "Download",
		}, not: []string{"first attempt<", "<b>left", "10%\r", "\x1b"}},
		"output of the first attempt":  {at: "/run/default/backup-3?uid=uid-3&attempt=uid-3-c1", want: []string{"first attempt<"}, not: []string{"begin again"}},
		"all attempts":                 {at: "/run/default/backup-3?uid=uid-3&attempt=all", want: []string{"first attempt<", "begin again", `<span class="who">backup-3-p1</span>`}},
		"an attempt that is not known": {at: "/run/default/backup-3?attempt=%3Cscript%3E", want: []string{"begin again"}, not: []string{"<script>"}},
		"times":                        {at: "/run/default/backup-3?times=1", want: []string{`<span class="at">03:00:01.000</span>`, "Hide times"}},
		"what is searched for":         {at: "/run/default/backup-3?find=SPACE", want: []string{"0 lines match", "No line matches.", `value="SPACE"`}, not: []string{"<mark"}},
		"what is found":                {at: "/run/default/backup-3?find=space", want: []string{"1 line matches", `<mark class="t-f1">space</mark>`, "begin again"}},
		"a regular expression":         {at: "/run/default/backup-3?find=no.s&re=1", want: []string{"1 line matches", `<mark class="t-f1">no s</mark>`, "checked"}},
		"a wrong expression":           {at: "/run/default/backup-3?find=(&re=1", want: []string{"this is no regular expression: missing closing )", `aria-invalid="true"`, "begin again"}},
		"hostile search":               {at: "/run/default/backup-3?find=" + url.QueryEscape(`"><script>alert(1)</script>`), want: []string{"0 lines match"}, not: []string{"<script>alert"}},
		"a wrong line":                 {at: "/run/default/backup-3?line=x", code: http.StatusBadRequest, want: []string{"line in the address is a number"}},
		"a negative line":              {at: "/run/default/backup-3?line=-1", code: http.StatusBadRequest},
		"a line that is not there":     {at: "/run/default/backup-3?line=900", want: []string{"There is no line 900.", "Last lines"}},
		"no such run":                  {at: "/run/default/absent", code: http.StatusNotFound, want: []string{"No run absent is known in the namespace default.", "the journal of a test"}},
		"no such UID":                  {at: "/run/default/backup-3?uid=other", code: http.StatusNotFound, want: []string{"with this UID"}},
		"a hostile name":               {at: "/run/default/" + url.PathEscape(`<script>"'`+"\x1b"), code: http.StatusNotFound, not: []string{"<script>\""}},
		"journal is broken":            {at: "/run/default/backup-3", code: http.StatusInternalServerError, world: func(w *uitest.World) { w.Fails = errors.New("disk is on fire") }, want: []string{"disk is on fire"}},
		"output is gone":               {at: "/run/default/backup-3", world: func(w *uitest.World) { w.Logs = nil }, want: []string{"Its output is gone: output goes with its Pods"}, not: []string{"download="}},
		"nothing was written":          {at: "/run/default/backup-3", world: func(w *uitest.World) { w.Logs["uid-3-c2"] = "" }, want: []string{"It wrote nothing."}},
		"no attempt is known":          {at: "/run/default/backup-3", world: func(w *uitest.World) { w.Attempts = nil }, want: []string{"It wrote nothing: no container of it ever ran."}},
		"out of memory": {at: "/run/default/backup-3", world: func(w *uitest.World) {
			w.Attempts[1].Reason, w.Attempts[1].ExitCode = "OOMKilled", 137
		}, want: []string{"needed more memory than it may have, and was killed: its limit is now 64 MiB; it had 60 MiB at its peak (OOMKilled, exit code 137).", "Raise its memory limit", "out of memory"}},
		"killed": {at: "/run/default/backup-3", world: func(w *uitest.World) { w.Attempts[0].ExitCode, w.Attempts[1].ExitCode = 137, 137 }, want: []string{"137 is 128", "stopped"}},
		"too long": {at: "/run/default/backup-3", world: func(w *uitest.World) {
			w.Runs[1].Reason, w.Attempts = "DeadlineExceeded", w.Attempts[:1]
			w.Attempts[0].ExitCode = 143
		}, want: []string{"It took longer than it may (activeDeadlineSeconds), and was stopped.", "raise activeDeadlineSeconds"}, not: []string{"143 is"}},
		"cancelled": {at: "/run/default/backup-3", world: func(w *uitest.World) { w.Runs[1].Outcome = run.Cancelled }, want: []string{"It was stopped before it ended by itself"}},
		"unknown":   {at: "/run/default/backup-3", world: func(w *uitest.World) { w.Runs[1].Outcome = run.Unknown }, want: []string{"nobody saw how it ended"}},
		"restarted in its Pod": {at: "/run/default/backup-3", world: func(w *uitest.World) {
			w.Attempts[1].PodUID, w.Attempts[1].Pod, w.Attempts[1].Restart = w.Attempts[0].PodUID, w.Attempts[0].Pod, 1
		}, want: []string{"Restarted in the same Pod: its restartPolicy says so.", "1 restart"}},
		"tries of a Timetable": {at: "/run/default/backup-3", world: func(w *uitest.World) {
			again := w.Runs[1]
			again.UID, again.Name, again.Retry, again.Outcome = "uid-r", "backup-3-r2", 2, run.Succeeded
			w.Runs = append(w.Runs, again)
		}, want: []string{"Tries of this time", `href="/run/default/backup-3-r2?uid=uid-r"`, "this one"}},
		"several of one name": {at: "/run/default/backup-3", world: func(w *uitest.World) {
			other := w.Runs[1]
			other.UID, other.ScheduledTime, other.Created = "uid-old", due.AddDate(0, -1, 0), due.AddDate(0, -1, 0)
			w.Runs = append(w.Runs, other)
		}, want: []string{"Other runs of this name", `href="/run/default/backup-3?uid=uid-old"`}},
		"by hand": {at: "/run/default/backup-3", world: func(w *uitest.World) {
			w.Runs[1].Trigger, w.Runs[1].ScheduledTime = run.Manual, time.Time{}
		}, want: []string{"somebody, by hand"}, not: []string{"Scheduled for", "Data interval"}},
		"it runs": {at: "/run/default/backup-3", world: func(w *uitest.World) {
			w.Runs[1] = backup(3, run.Active)
			w.Attempts[1].Ended = time.Time{}
		}, want: []string{"running", "Runs for", `data-live="/events"`, "begin again"}, not: []string{"Ended</dt>"}},
		"gone": {at: "/run/default/backup-3", want: []string{"Its Job is gone; this is what is remembered of it."}, not: []string{"/act/"}},
		"many lines": {at: "/run/default/backup-3", world: func(w *uitest.World) { w.Logs["uid-3-c2"] = cri(numbered(1200)...) },
			want: []string{"lines 701 to 1,200 of 1,200", "row 1200 of it", "row 701 of it", "line=201", "First lines", "Earlier lines"}, not: []string{"row 700 of it", "Later lines"}},
		"lines in the middle": {at: "/run/default/backup-3?line=201", world: func(w *uitest.World) { w.Logs["uid-3-c2"] = cri(numbered(1200)...) },
			want: []string{"lines 201 to 700", "row 201 of it", "row 700 of it", "line=701", "Later lines", "Last lines"}, not: []string{"row 200 of it", "row 701 of it"}},
		"more than is counted": {at: "/run/default/backup-3", world: func(w *uitest.World) {
			w.Logs["uid-3-c2"], w.Attempts[1].KeptBytes = cri(numbered(1200)...), 1<<30
		}, want: []string{"the last 500 lines of 1.0 GiB", "skip=5", "row 1200 of it"}, not: []string{`id="L1200"`}},
		"many attempts": {at: "/run/default/backup-3?page=2", world: func(w *uitest.World) {
			w.Attempts = nil
			for n := range 45 {
				w.Attempts = append(w.Attempts, attemptOf(&w.Runs[1], n+1, 3))
			}
		}, want: []string{"21 to 40 of 45", "backup-3-p25", "45 attempts", "page=3"}, not: []string{"backup-3-p26<"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := world()
			if test.world != nil {
				test.world(&w)
			}
			if test.code == 0 {
				test.code = http.StatusOK
			}
			code, body := uitest.Get(t, uitest.Site(t, w, runpage.Register), test.at)
			if code != test.code {
				t.Errorf("code %d", code)
			}
			uitest.Says(t, body, test.want, test.not)
		})
	}
}

const liveManifest = `
apiVersion: batch/v1
kind: Job
metadata: {name: shards, uid: u1, creationTimestamp: "2026-11-02T10:00:00Z"}
spec: {completionMode: Indexed, completions: 5, parallelism: 2, backoffLimit: 4, activeDeadlineSeconds: 3600, template: {spec: {containers: [{name: work, image: x}]}}}
status:
  startTime: "2026-11-02T10:00:00Z"
  active: 1
  failed: 1
  succeeded: 1
  completedIndexes: "0"
  failedIndexes: "3"
---
apiVersion: v1
kind: Pod
metadata: {name: shards-1-x, uid: p1, creationTimestamp: "2026-11-02T10:00:00Z", labels: {batch.kubernetes.io/controller-uid: u1}, annotations: {batch.kubernetes.io/job-completion-index: "1"}, ownerReferences: [{apiVersion: batch/v1, kind: Job, name: shards, uid: u1, controller: true}]}
spec: {nodeName: n1, containers: [{name: work, image: x}]}
status:
  phase: Pending
  containerStatuses: [{name: work, state: {waiting: {reason: ImagePullBackOff, message: "Back-off pulling image <x>"}}}]
---
apiVersion: v1
kind: Event
metadata: {name: e1}
involvedObject: {kind: Pod, name: shards-1-x, uid: p1, namespace: default}
type: Warning
reason: Failed
message: "cannot pull <x>"
count: 4
lastTimestamp: "2026-11-02T10:59:00Z"
`

// What may not be read is said, and the rest is there.
func TestForbidden(t *testing.T) {
	s := uitest.Site(t, world(), runpage.Register)
	client, ok := s.Server.Client.(*dynamicfake.FakeDynamicClient)
	if !ok {
		t.Fatal("no fake")
	}
	client.PrependReactor("*", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Group: "batch", Resource: "jobs"}, "backup-3", errors.New("<no right>"))
	})
	code, body := uitest.Get(t, s, "/run/default/backup-3")
	if code != http.StatusOK || !strings.Contains(body, "Not allowed to read its live object") || !strings.Contains(body, "&lt;no right&gt;") || !strings.Contains(body, "begin again") || strings.Contains(body, "is gone") {
		t.Error(code, body)
	}
}

// What is only known as a live object has its Pods, indexes and events.
func TestLiveObject(t *testing.T) {
	for name, readOnly := range map[string]bool{"with acts": false, "read only": true} {
		t.Run(name, func(t *testing.T) {
			code, body := uitest.Get(t, uitest.Site(t, uitest.World{Manifests: liveManifest, ReadOnly: readOnly}, runpage.Register), "/run/default/shards")
			if code != http.StatusOK {
				t.Fatal(code, body)
			}
			uitest.Says(t, body, []string{
				"no schedule: it was made on its own", "succeeded: 0; failed: 3; there are 5, from 0 to 4", "1 running, 1 failed, 1 of 5 succeeded", "index 1", "stuck", "It does not go on: its Pod shards-1-x waits: its image cannot be pulled",
				"Waits: its image cannot be pulled (ImagePullBackOff): Back-off pulling image &lt;x&gt;.", "cannot pull &lt;x&gt;", "4 times", "It has written nothing yet: no container of it has begun.",
			}, nil)
			if acts := strings.Contains(body, `href="/act/stop?kind=job&amp;namespace=default&amp;name=shards"`); acts == readOnly {
				t.Errorf("that it can be stopped is offered: %t", acts)
			}
		})
	}
}

func TestDownload(t *testing.T) {
	for name, test := range map[string]struct {
		at, file, want string
		code           int
	}{
		"an attempt, as it was written": {at: "?uid=uid-3&attempt=uid-3-c2&download=1", file: "attachment; filename=backup-3-attempt-2-dump.log", want: "begin again\n\x1b[31mno space\x1b[0m <b>left</b>\n10%\r100%\n"},
		"plain":                         {at: "?attempt=uid-3-c2&download=1&plain=1", file: "attachment; filename=backup-3-attempt-2-dump.log", want: "begin again\nno space <b>left</b>\n100%\n"},
		"all of them": {at: "?attempt=all&download=1", file: "attachment; filename=backup-3.log",
			want: "backup-3-p1 │ begin\nbackup-3-p1 │ first attempt\nbackup-3-p2 │ begin again\nbackup-3-p2 │ \x1b[31mno space\x1b[0m <b>left</b>\nbackup-3-p2 │ 10%\r100%\n"},
		"to look at":  {at: "?attempt=uid-3-c1", want: "begin\nfirst attempt\n"},
		"no attempt":  {at: "?attempt=other&download=1", code: http.StatusNotFound},
		"no such run": {at: "?uid=other", code: http.StatusNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			w := world()
			w.Logs["uid-3-c1"] = strings.ReplaceAll(w.Logs["uid-3-c1"], "02:00", "01:00") // before those of the second
			s := uitest.Site(t, w, runpage.Register)
			answer := httptest.NewRecorder()
			s.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/run/default/backup-3/log"+test.at, nil))
			if test.code != 0 {
				if answer.Code != test.code {
					t.Errorf("code %d", answer.Code)
				}
				return
			}
			if answer.Code != http.StatusOK || answer.Body.String() != test.want {
				t.Errorf("code %d, %q", answer.Code, answer.Body)
			}
			h := answer.Header()
			if h.Get("Content-Disposition") != test.file || h.Get("Content-Type") != "text/plain; charset=utf-8" || h.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(h.Get("Content-Security-Policy"), "sandbox") {
				t.Errorf("%v", h)
			}
		})
	}
}

// A file whose output is gone is not an empty one.
func TestDownloadOfWhatIsGone(t *testing.T) {
	w := world()
	w.Logs = nil
	code, body := uitest.Get(t, uitest.Site(t, w, runpage.Register), "/run/default/backup-3/log?attempt=uid-3-c2&download=1")
	if code != http.StatusNotFound || !strings.Contains(body, "Its output is gone") {
		t.Error(code, body)
	}
}
