// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/plan/run"
	runpage "github.com/carillon-dev/carillon/internal/ui/run"
	"github.com/carillon-dev/carillon/internal/ui/uitest"
)

// loadManifest is a Timetable whose time is tried again; its status stands at the end.
const loadManifest = `
apiVersion: batch.carillon.dev/v1alpha1
kind: Timetable
metadata: {name: load, uid: tt, creationTimestamp: "2026-10-01T00:00:00Z"}
spec:
  schedules: [{name: main, cron: "0 * * * *"}]
  retry: {limit: 2, delay: 2m}
  template: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: x}]}}}}
`

// load is a try of the time 10:00, from 1 on.
func load(try int, outcome run.Outcome) run.Run {
	at := uitest.Now.Add(-time.Hour)
	r := run.Run{
		UID: types.UID(fmt.Sprint("load-", try)), APIVersion: "batch/v1", Kind: "Job", Namespace: "default", Name: fmt.Sprintf("load-r%d", try), Retry: try,
		Owner:   run.Owner{APIVersion: "batch.carillon.dev/v1alpha1", Kind: "Timetable", Name: "load", UID: "tt"},
		Trigger: run.Schedule, ScheduledTime: at, Created: at.Add(time.Duration(try) * 5 * time.Minute), Outcome: outcome,
	}
	r.Started = r.Created
	if outcome.Ended() {
		r.Ended = r.Created.Add(time.Minute)
	}
	if outcome == run.Failed {
		r.Reason = "BackoffLimitExceeded"
	}
	return r
}

// byHand is a Job that somebody started by hand, for the time that it names.
func byHand(name, at, fields string) string {
	return `
---
apiVersion: batch/v1
kind: Job
metadata:
  name: ` + name + `
  uid: u-` + name + `
  creationTimestamp: "2026-11-02T10:40:00Z"
  labels: {carillon.dev/trigger: manual, carillon.dev/timetable-uid: tt}
  annotations: {carillon.dev/scheduled-time: "` + at + `"}
  ownerReferences: [{apiVersion: batch.carillon.dev/v1alpha1, kind: Timetable, name: load, uid: tt, controller: true}]
spec: {backoffLimit: 0, template: {spec: {terminationGracePeriodSeconds: 45, containers: [{name: c, image: x}]}}}
` + fields
}

// What becomes of a scheduled time after a try of it has failed is said with the try.
func TestTriedAgain(t *testing.T) {
	between := loadManifest + `status: {active: [{name: load-r2, scheduledTime: "2026-11-02T10:00:00Z", trigger: Schedule, attempt: 2, startTime: "2026-11-02T10:10:00Z", retryAt: "2026-11-02T11:02:00Z"}]}`
	repeated := byHand("again", "2026-11-02T10:00:00Z", "")
	for name, test := range map[string]struct {
		manifests string
		runs      []run.Run
		at        string
		want, not []string
	}{
		"the first of three": {loadManifest, []run.Run{load(1, run.Failed), load(2, run.Failed), load(3, run.Failed)}, "load-r1",
			[]string{"Its Timetable tried this time again as load-r2 at 11:10; the last try, load-r3, failed."}, []string{"ot tried again"}},
		"the second of three": {loadManifest, []run.Run{load(1, run.Failed), load(2, run.Failed), load(3, run.Succeeded)}, "load-r2",
			[]string{"Its Timetable tried this time again as load-r3 at 11:15, which succeeded."}, []string{"load-r1 at"}},
		"the last one": {loadManifest, []run.Run{load(1, run.Failed), load(2, run.Failed)}, "load-r2", []string{"It failed."}, []string{"Its Timetable"}},
		"between two":  {between, []run.Run{load(1, run.Failed), load(2, run.Failed)}, "load-r2", []string{"failed, tried again", "Its Timetable tries this time again at 12:02."}, []string{"ot tried again"}},
		"the first, between two": {between, []run.Run{load(1, run.Failed), load(2, run.Failed)}, "load-r1",
			[]string{"as load-r2 at 11:10, which failed, and is followed by another one at 12:02."}, nil},
		"by hand": {loadManifest + repeated, []run.Run{load(1, run.Failed)}, "again",
			[]string{"Scheduled for", "Mon 2 Nov 2026 11:00:00 CET", "the time of the run that it repeats", "Data interval", "Mon 2 Nov 2026 10:00:00 CET", "Tries of this time", "load-r1", ", by hand", "somebody, by hand"}, nil},
		"of which one is by hand": {loadManifest + repeated, []run.Run{load(1, run.Failed)}, "load-r1", []string{"Tries of this time", ">again</a>", ", by hand"}, []string{"Its Timetable"}},
		"one of another time":     {loadManifest + byHand("again", "2026-11-02T09:00:00Z", ""), []run.Run{load(1, run.Failed)}, "load-r1", nil, []string{"Tries of this time"}},
		"started by hand, and repeats nothing": {loadManifest + byHand("again", "2026-11-02T10:40:00Z", ""), []run.Run{load(1, run.Failed)}, "again",
			[]string{"somebody, by hand"}, []string{"Scheduled for", "Tries of this time"}},
	} {
		t.Run(name, func(t *testing.T) {
			code, body := uitest.Get(t, uitest.Site(t, uitest.World{Manifests: test.manifests, Runs: test.runs}, runpage.Register), "/run/default/"+test.at)
			if code != http.StatusOK {
				t.Error(code)
			}
			told(t, body, test.want, test.not)
		})
	}
}

// told checks what is on a page, and what is not.
func told(t *testing.T, body string, want, not []string) {
	t.Helper()
	_, main, _ := strings.Cut(body, "<main")
	uitest.Says(t, main, want, not)
}

// What is being stopped does not look as if it went on.
func TestStopping(t *testing.T) {
	stopping := strings.Replace(byHand("again", "", "status: {active: 1, failed: 1, startTime: \"2026-11-02T10:40:00Z\"}"), "  uid: u-", "  deletionTimestamp: \"2026-11-02T10:59:50Z\"\n  finalizers: [foregroundDeletion]\n  uid: u-", 1)
	pod := `
---
apiVersion: v1
kind: Pod
metadata: {name: again-x, uid: p1, labels: {batch.kubernetes.io/controller-uid: u-again}DELETED}
spec: {terminationGracePeriodSeconds: 45, containers: [{name: c, image: x}]}
status: {phase: Running}
`
	for name, test := range map[string]struct{ manifests, want, not string }{
		"its Pod is not asked to end yet": {stopping + strings.Replace(pod, "DELETED", "", 1), "It is being stopped since 11:59:50, and killed by 12:00:35 at the latest.", "tried again"},
		"its Pod ends":                    {stopping + strings.Replace(pod, "DELETED", `, deletionTimestamp: "2026-11-02T11:00:36Z", deletionGracePeriodSeconds: 45`, 1), "It is being stopped since 11:59:50, and killed by 12:00:36 at the latest.", "New Pod"},
		"no Pod is left":                  {stopping, "It is being stopped since 11:59:50.", "tried again"},
	} {
		t.Run(name, func(t *testing.T) {
			_, body := uitest.Get(t, uitest.Site(t, uitest.World{Manifests: loadManifest + test.manifests}, runpage.Register), "/run/default/again")
			told(t, body, []string{test.want, "stopping</span>"}, []string{test.not, "/act/stop"})
		})
	}
}

// Whoever may not read the output sees all the rest.
func TestOutputForbidden(t *testing.T) {
	w := world()
	w.LogFails = apierrors.NewForbidden(schema.GroupResource{Resource: "pods/log"}, "backup-3-p2", errors.New("<no right>"))
	for name, want := range map[string]string{"": "Not allowed to read its output", "?attempt=all": "Not allowed to read its output", "?find=x": "Not allowed to read its output"} {
		code, body := uitest.Get(t, uitest.Site(t, w, runpage.Register), "/run/default/backup-3"+name)
		if code != http.StatusOK {
			t.Error(code)
		}
		told(t, body, []string{want, "&lt;no right&gt;", "Container dump ended with exit code 3", "Attempts</h2>"}, []string{"download=", "wrote nothing"})
	}
}

// Whoever may not read Pods sees what is known without them.
func TestAttemptsForbidden(t *testing.T) {
	w := world()
	w.AttemptsFail = apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("<no right>"))
	code, body := uitest.Get(t, uitest.Site(t, w, runpage.Register), "/run/default/backup-3")
	if code != http.StatusOK {
		t.Error(code)
	}
	told(t, body, []string{"Not allowed to read its attempts", "as its attempts could not be read", "Ended</dt>"}, []string{"wrote nothing", "ever ran"})
}
