// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package act_test

import (
	"errors"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/ui/act"
	"github.com/carillon-dev/carillon/internal/ui/page"
	"github.com/carillon-dev/carillon/internal/ui/uitest"
)

// cronJob is one that is due each full hour; its fields stand at the end.
func cronJob(fields string) string {
	return `
apiVersion: batch/v1
kind: CronJob
metadata: {name: backup, uid: c1, resourceVersion: "7", creationTimestamp: "2026-10-01T00:00:00Z"}
spec:
  schedule: 0 * * * *
  timeZone: Etc/UTC
  jobTemplate:
    metadata: {labels: {team: billing}}
    spec:
      template:
        spec:
          restartPolicy: Never
          containers:
          - name: main
            image: busybox
            command: [/bin/backup]
            args: [--all]
            env: [{name: LEVEL, value: full}, {name: PASSWORD, valueFrom: {secretKeyRef: {name: db, key: password}}}]
` + fields + "\n---\n"
}

func timetable(fields string) string {
	return `
apiVersion: batch.carillon.dev/v1alpha1
kind: Timetable
metadata: {name: load, uid: t1, resourceVersion: "7", generation: 1, creationTimestamp: "2026-10-01T00:00:00Z"}
spec:
  schedules: [{name: main, cron: "0 * * * *"}]
  parameters: [{name: table, default: orders, pattern: "^[a-z_]{1,40}$"}]
  template: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: busybox, args: [$(carillon.parameters.table)]}]}}}}
` + fields + "\n---\n"
}

// job is one of the CronJob backup.
func job(name, status string) string {
	return `
apiVersion: batch/v1
kind: Job
metadata:
  name: ` + name + `
  uid: u-` + name + `
  resourceVersion: "3"
  creationTimestamp: "2026-11-02T10:00:00Z"
  labels: {team: billing, batch.kubernetes.io/job-name: ` + name + `}
  annotations: {batch.kubernetes.io/cronjob-scheduled-timestamp: "2026-11-02T10:00:00Z", note: kept}
  ownerReferences: [{apiVersion: batch/v1, kind: CronJob, name: backup, uid: c1, controller: true}]
spec:
  selector: {matchLabels: {batch.kubernetes.io/controller-uid: x}}
  template:
    metadata: {labels: {batch.kubernetes.io/controller-uid: x, batch.kubernetes.io/job-name: ` + name + `, app: backup}}
    spec: {restartPolicy: Never, containers: [{name: main, image: busybox, env: [{name: LEVEL, value: full}]}]}
status: ` + status + "\n---\n"
}

func pod(name, of, phase string) string {
	return `
apiVersion: v1
kind: Pod
metadata: {name: ` + name + `, labels: {batch.kubernetes.io/job-name: ` + of + `}}
spec: {terminationGracePeriodSeconds: 45, containers: []}
status: {phase: ` + phase + "}\n---\n"
}

const (
	active = `{active: 1, startTime: "2026-11-02T10:00:01Z"}`
	failed = `{failed: 1, startTime: "2026-11-02T10:00:01Z", conditions: [{type: Failed, status: "True", reason: BackoffLimitExceeded, lastTransitionTime: "2026-11-02T10:05:00Z"}]}`
)

// activeRun is what is known of a run that goes on.
func activeRun(name string) run.Run {
	now := uitest.Now
	return run.Run{UID: "u-1", APIVersion: "batch/v1", Kind: "Job", Namespace: "default", Name: name, Outcome: run.Active, Started: now.Add(-600e9), Created: now.Add(-600e9),
		ScheduledTime: now.Add(-3600e9), Owner: run.Owner{APIVersion: "batch/v1", Kind: "CronJob", Name: "backup", UID: "c1"}}
}

func site(t *testing.T, w uitest.World) *page.Site { return uitest.Site(t, w, act.Register) }

var tags = regexp.MustCompile(`<[^>]*>`)

// text is what a viewer reads.
func text(body string) string {
	return strings.Join(strings.Fields(html.UnescapeString(tags.ReplaceAllString(body, " "))), " ")
}

var hidden = regexp.MustCompile(`<input type="hidden" name="([a-z]+)" value="([^"]*)">`)

// form is what the page would send if the viewer changed nothing.
func form(body string, pairs ...string) url.Values {
	values := url.Values{}
	for _, m := range hidden.FindAllStringSubmatch(body, -1) {
		values.Set(m[1], html.UnescapeString(m[2]))
	}
	for i := 0; i < len(pairs); i += 2 {
		values.Set(pairs[i], pairs[i+1])
	}
	return values
}

func live(t *testing.T, s *page.Site, kind, name string) *unstructured.Unstructured {
	t.Helper()
	gvk := schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: kind}
	if kind == "Timetable" {
		gvk = schema.GroupVersionKind{Group: "batch.carillon.dev", Version: "v1alpha1", Kind: kind}
	}
	resource, err := s.Server.Resource(gvk, "default")
	if err != nil {
		t.Fatal(err)
	}
	o, err := resource.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		return nil
	}
	return o
}

func jobs(t *testing.T, s *page.Site) []unstructured.Unstructured {
	t.Helper()
	resource, err := s.Server.Resource(schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}, "default")
	if err != nil {
		t.Fatal(err)
	}
	list, err := resource.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

func wants(t *testing.T, body string, parts ...string) {
	t.Helper()
	read := text(body)
	for _, part := range parts {
		if missing, not := strings.CutPrefix(part, "!"); not == strings.Contains(read, missing) {
			t.Errorf("%q: %v in\n%s", missing, not, read)
		}
	}
}

// retryWaits is the status of a Timetable between two attempts, timeWaits that of one with a time that waits.
const (
	retryWaits = `status: {active: [{name: load-1, scheduledTime: "2026-11-02T10:00:00Z", trigger: Schedule, attempt: 1, startTime: "2026-11-02T10:00:00Z", retryAt: "2026-11-02T11:02:00Z"}]}`
	timeWaits  = `status: {waiting: [{scheduledTime: "2026-11-02T10:30:00Z", trigger: Schedule, reason: Overlap, since: "2026-11-02T10:30:00Z"}]}`
)

// Before something is done the page says what will happen, and what will not.
func TestSentences(t *testing.T) {
	memory := `{lastScheduleTime: "2026-11-02T10:00:00Z"}`
	applied := strings.Replace(cronJob(""), "metadata: {name: backup", `metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: '{"spec":{"suspend":false}}'}, name: backup`, 1)
	argo := strings.Replace(cronJob(""), "metadata: {name: backup", `metadata: {annotations: {argocd.argoproj.io/tracking-id: x}, name: backup`, 1)
	tests := map[string]struct {
		world  uitest.World
		target string
		want   []string
	}{
		"suspend": {
			uitest.World{Manifests: cronJob(""), Runs: []run.Run{activeRun("backup-1")}}, page.ActURL("suspend", "batch/v1", "CronJob", "default", "backup"),
			[]string{"24 times in the next 24 hours will not start, the first at 13:00", "the latest time that passed starts at once, however late", "The run that is active goes on: backup-1 (since 10m)",
				"Nothing is deleted", "Suspend it", `carillon kubectl -n default patch cronjob backup --type merge -p '{"spec":{"suspend":true}}'`, "!sets this back"},
		},
		"suspend with a deadline": {
			uitest.World{Manifests: cronJob("  startingDeadlineSeconds: 600")}, page.ActURL("suspend", "batch/v1", "CronJob", "default", "backup"),
			[]string{"if it is less than 10 minutes late then (startingDeadlineSeconds)", "No run is active now"},
		},
		"suspend what is suspended": {
			uitest.World{Manifests: cronJob("  suspend: true")}, page.ActURL("suspend", "batch/v1", "CronJob", "default", "backup"), []string{"It is suspended already", "Resume it", "!Suspend it"},
		},
		"suspend what kubectl applies": {
			uitest.World{Manifests: applied}, page.ActURL("suspend", "batch/v1", "CronJob", "default", "backup"), []string{"kubectl apply", "sets this back"},
		},
		"suspend what Argo CD applies": {
			uitest.World{Manifests: argo}, page.ActURL("suspend", "batch/v1", "CronJob", "default", "backup"), []string{"Argo CD applies this object"},
		},
		"suspend a Timetable": {
			uitest.World{Manifests: timetable("")}, page.ActURL("suspend", "batch.carillon.dev/v1alpha1", "Timetable", "default", "load"), []string{"nothing is made up: the times that passed count as skipped", "Until", "Europe/Berlin"},
		},
		"resume": {
			uitest.World{Manifests: cronJob("  suspend: true\nstatus: " + memory)}, page.ActURL("resume", "batch/v1", "CronJob", "default", "backup"),
			[]string{"The time of 12:00, which has passed, starts at once.", "The next time is 13:00."},
		},
		"resume too late": {
			uitest.World{Manifests: cronJob("  suspend: true\n  startingDeadlineSeconds: 60\nstatus: " + memory), Now: uitest.Now.Add(600e9)}, page.ActURL("resume", "batch/v1", "CronJob", "default", "backup"),
			[]string{"No time that has passed starts.", "The next time is 13:00."},
		},
		"resume what is not suspended": {
			uitest.World{Manifests: cronJob("")}, page.ActURL("resume", "batch/v1", "CronJob", "default", "backup"), []string{"neither suspended nor paused"},
		},
		"stop": {
			uitest.World{Manifests: cronJob("") + job("backup-1", active) + pod("backup-1-a", "backup-1", "Running")}, page.ActURL("stop", "batch/v1", "Job", "default", "backup-1"),
			[]string{"Its Pod backup-1-a ends: its containers get SIGTERM, and SIGKILL after 45 seconds", "The Job is deleted with them", "counts as cancelled", "its next time is 13:00", "Suspend it instead"},
		},
		"stop what fails by that": {
			uitest.World{Manifests: cronJob("") + strings.Replace(job("backup-1", active), "spec:", "spec:\n  backoffLimit: 0", 1) + pod("backup-1-a", "backup-1", "Running")}, page.ActURL("stop", "batch/v1", "Job", "default", "backup-1"),
			[]string{"It counts as cancelled, which is neither a success nor a failure.", "!counts as failed"},
		},
		"stop what has ended": {
			uitest.World{Manifests: cronJob("") + job("backup-1", failed)}, page.ActURL("stop", "batch/v1", "Job", "default", "backup-1"), []string{"It has ended already: Failed (BackoffLimitExceeded) at 11:05", "!Stop it"},
		},
		"delete a schedule": {
			uitest.World{Manifests: cronJob("") + job("backup-1", failed) + job("backup-2", active)}, page.ActURL("delete", "batch/v1", "CronJob", "default", "backup"),
			[]string{"Its next time would have been 13:00", "2 Jobs that it has started go with it, and their Pods. One is active, and is stopped.", "They stay", "Its manifest", "schedule: 0 * * * *"},
		},
		"delete a run": {
			uitest.World{Manifests: cronJob("") + job("backup-1", failed) + pod("backup-1-a", "backup-1", "Failed")}, page.ActURL("delete", "batch/v1", "Job", "default", "backup-1"),
			[]string{"Its one Pod, which has ended, goes with it", "That it failed is not undone"},
		},
		"delete a run that goes on": {
			uitest.World{Manifests: cronJob("") + job("backup-1", active)}, page.ActURL("delete", "batch/v1", "Job", "default", "backup-1"), []string{"It has not ended: to delete it is to stop it."},
		},
		"run now beside another one": {
			uitest.World{Manifests: cronJob("  concurrencyPolicy: Forbid"), Runs: []run.Run{activeRun("backup-1")}}, page.ActURL("run-now", "batch/v1", "CronJob", "default", "backup"),
			[]string{"It starts beside what is active: backup-1 (since 10m). The policy Forbid holds scheduled times back, not a run by hand", "that waits until this Job has ended; a later time takes its place.",
				"Environment of container main", "LEVEL", "PASSWORD comes from Secret db, password", "args[0]", "for this run alone"},
		},
		"run now what is suspended": {
			uitest.World{Manifests: cronJob("  suspend: true")}, page.ActURL("run-now", "batch/v1", "CronJob", "default", "backup"), []string{"The schedule stays suspended.", "it runs alone"},
		},
		"run a Timetable now": {
			uitest.World{Manifests: timetable("")}, page.ActURL("run-now", "batch.carillon.dev/v1alpha1", "Timetable", "default", "load"),
			[]string{"Parameters", "table", `Scheduled runs have "orders". It must match ^[a-z_]{1,40}$.`, "one attempt"},
		},
		"run a Timetable that makes nothing": {
			uitest.World{Manifests: strings.Replace(timetable(""), "carillon.parameters.table", "carillon.other", 1)}, page.ActURL("run-now", "batch.carillon.dev/v1alpha1", "Timetable", "default", "load"),
			[]string{"No run of it can be made", "unknown variable other", "Mend it"},
		},
		"retry": {
			uitest.World{Manifests: cronJob("") + job("backup-1", failed)}, page.ActURL("retry", "batch/v1", "Job", "default", "backup-1"),
			[]string{"starts now and does what backup-1 did", "backup-1 stays as it is: Failed (BackoffLimitExceeded) at 11:05.", "LEVEL"},
		},
		"retry what goes on": {
			uitest.World{Manifests: cronJob("") + job("backup-1", active)}, page.ActURL("retry", "batch/v1", "Job", "default", "backup-1"), []string{"It has not ended", "Stop it"},
		},
		"suspend a Job": {
			uitest.World{Manifests: cronJob("  concurrencyPolicy: Forbid") + job("backup-1", active) + pod("backup-1-a", "backup-1", "Running")}, page.ActURL("suspend", "batch/v1", "Job", "default", "backup-1"),
			[]string{"Its Pod backup-1-a ends", "The Job stays", "while it is suspended cronjob/backup waits"},
		},
		"run now before a retry": {
			uitest.World{Manifests: timetable(retryWaits)}, page.ActURL("run-now", "batch.carillon.dev/v1alpha1", "Timetable", "default", "load"),
			[]string{"load-1 has failed and waits to be tried again at 12:02: this starts beside it.", "!runs alone"},
		},
		"suspend before a retry": {
			uitest.World{Manifests: timetable(retryWaits)}, page.ActURL("suspend", "batch.carillon.dev/v1alpha1", "Timetable", "default", "load"),
			[]string{"load-1 has failed and waits to be tried again at 12:02: it still is.", "!No run is active"},
		},
		"delete before a retry": {
			uitest.World{Manifests: timetable(retryWaits)}, page.ActURL("delete", "batch.carillon.dev/v1alpha1", "Timetable", "default", "load"), []string{"load-1 has failed and waits to be tried again at 12:02: that is lost.", "!is active"},
		},
		"suspend while a time waits": {
			uitest.World{Manifests: timetable(timeWaits)}, page.ActURL("suspend", "batch.carillon.dev/v1alpha1", "Timetable", "default", "load"), []string{"The time of 11:30, which waits, is skipped, too."},
		},
		"suspend while a time waits that is made up": {
			uitest.World{Manifests: timetable("  onResume: CatchUp\n" + timeWaits)}, page.ActURL("suspend", "batch.carillon.dev/v1alpha1", "Timetable", "default", "load"), []string{"The time of 11:30, which waits, waits until it is resumed."},
		},
		"suspend a CronJob while a time waits": {
			uitest.World{Manifests: cronJob("  concurrencyPolicy: Forbid\nstatus: " + memory), Runs: []run.Run{activeRun("backup-1")}}, page.ActURL("suspend", "batch/v1", "CronJob", "default", "backup"),
			[]string{"The time of 12:00, which waits, does not start before it is resumed"},
		},
		"not allowed": {
			uitest.World{Manifests: cronJob(""), Forbidden: []string{"delete cronjobs"}}, page.ActURL("delete", "batch/v1", "CronJob", "default", "backup"),
			[]string{"You are not allowed to delete cronjobs.batch in namespace default (no RoleBinding grants it)", "!Delete it"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			code, body := uitest.Get(t, site(t, test.world), test.target)
			if code != http.StatusOK {
				t.Fatalf("%d\n%s", code, text(body))
			}
			wants(t, body, test.want...)
		})
	}
}

// What the page says it will do is what it does.
func TestSuspendAndResume(t *testing.T) {
	s := site(t, uitest.World{Manifests: cronJob("")})
	suspend, resume := page.ActURL("suspend", "batch/v1", "CronJob", "default", "backup"), page.ActURL("resume", "batch/v1", "CronJob", "default", "backup")
	_, body := uitest.Get(t, s, suspend)
	sent := form(body)
	for range 2 { // the second time it is so already
		if code, to := uitest.Post(t, s, suspend, sent); code != http.StatusSeeOther || to != page.ScheduleURL("batch/v1", "CronJob", "default", "backup") {
			t.Fatal(code, text(to))
		}
	}
	if on, _, _ := unstructured.NestedBool(live(t, s, "CronJob", "backup").Object, "spec", "suspend"); !on {
		t.Error("it is not suspended")
	}
	_, body = uitest.Get(t, s, resume)
	if code, to := uitest.Post(t, s, resume, form(body)); code != http.StatusSeeOther {
		t.Fatal(code, text(to))
	}
	if on, _, _ := unstructured.NestedBool(live(t, s, "CronJob", "backup").Object, "spec", "suspend"); on {
		t.Error("it is suspended")
	}
}

func TestSuspendUntil(t *testing.T) {
	s := site(t, uitest.World{Manifests: timetable("")})
	suspend := page.ActURL("suspend", "batch.carillon.dev/v1alpha1", "Timetable", "default", "load")
	_, body := uitest.Get(t, s, suspend)
	for input, fault := range map[string]string{"yesterday": "Write a date and a time", "2026-11-02T11:59": "not in the future"} {
		code, answer := uitest.Post(t, s, suspend, form(body, "until", input))
		if code != http.StatusUnprocessableEntity {
			t.Error(input, code)
		}
		wants(t, answer, fault)
		if !strings.Contains(answer, `value="`+input+`"`) {
			t.Errorf("%s is lost", input)
		}
	}
	if code, to := uitest.Post(t, s, suspend, form(body, "until", "2026-11-03T18:30")); code != http.StatusSeeOther {
		t.Fatal(code, text(to))
	}
	if until, _, _ := unstructured.NestedString(live(t, s, "Timetable", "load").Object, "spec", "suspendUntil"); until != "2026-11-03T17:30:00Z" {
		t.Error(until)
	}
}

// A form that was made for another state of things does nothing, and shows the new one.
func TestChangedMeanwhile(t *testing.T) {
	for _, name := range []string{"suspend", "delete", "run-now"} {
		s := site(t, uitest.World{Manifests: cronJob("")})
		target := page.ActURL(name, "batch/v1", "CronJob", "default", "backup")
		_, body := uitest.Get(t, s, target)
		o := live(t, s, "CronJob", "backup")
		_ = unstructured.SetNestedField(o.Object, "5 * * * *", "spec", "schedule")
		resource, _ := s.Server.Resource(o.GroupVersionKind(), "default")
		if _, err := resource.Update(t.Context(), o, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		code, answer := uitest.Post(t, s, target, form(body))
		if code != http.StatusUnprocessableEntity || len(jobs(t, s)) != 0 || live(t, s, "CronJob", "backup") == nil {
			t.Error(name, code)
		}
		wants(t, answer, "It has changed since you looked. Nothing was done.", "12:05")
		if code, to := uitest.Post(t, s, target, form(answer)); code != http.StatusSeeOther {
			t.Error(name, code, text(to))
		}
	}
}

// A controller writes the status of an object at any time. That comes between nobody and what he wants; a change of what
// he saw does.
func TestWrittenMeanwhile(t *testing.T) {
	for name, test := range map[string]struct {
		write func(o *unstructured.Unstructured)
		done  bool
	}{
		"its status": {func(o *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(o.Object, "2026-11-02T10:00:00Z", "status", "lastScheduleTime")
		}, true},
		"its schedule": {func(o *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(o.Object, "5 * * * *", "spec", "schedule")
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			conflicts := 0
			var s *page.Site
			var seen *unstructured.Unstructured
			s = site(t, uitest.World{Manifests: cronJob(""), Refuses: func(a clienttesting.Action) error {
				if a.GetVerb() != "patch" || conflicts == 2 {
					return nil
				}
				if conflicts++; conflicts == 1 { // past the client, which waits for this
					written := seen.DeepCopy()
					test.write(written)
					tracker := s.Server.Client.(interface {
						Tracker() clienttesting.ObjectTracker
					}).Tracker()
					if err := tracker.Update(a.GetResource(), written, "default"); err != nil {
						t.Error(err)
					}
				}
				return apierrors.NewConflict(schema.GroupResource{Resource: "cronjobs"}, "backup", errors.New("the object has been modified"))
			}})
			seen = live(t, s, "CronJob", "backup")
			target := page.ActURL("suspend", "batch/v1", "CronJob", "default", "backup")
			_, body := uitest.Get(t, s, target)
			code, answer := uitest.Post(t, s, target, form(body))
			suspended, _, _ := unstructured.NestedBool(live(t, s, "CronJob", "backup").Object, "spec", "suspend")
			if suspended != test.done || (code == http.StatusSeeOther) != test.done {
				t.Errorf("%d, suspended: %v", code, suspended)
			}
			if !test.done {
				wants(t, answer, "It has changed since you looked. Nothing was done.", "12:05")
			}
		})
	}
}

func TestRunNowOnce(t *testing.T) {
	s := site(t, uitest.World{Manifests: cronJob("")})
	target := page.ActURL("run-now", "batch/v1", "CronJob", "default", "backup")
	_, body := uitest.Get(t, s, target)
	sent := form(body, "env.0.0", "short", "command.0.0", "/bin/backup", "args.0.0", "--all", "more-env.0", "DEBUG=1\r\nEMPTY=\r\n", "more-args.0", "--dry-run")
	var first string
	for range 2 {
		code, to := uitest.Post(t, s, target, sent)
		if code != http.StatusSeeOther || first != "" && to != first {
			t.Fatal(code, text(to))
		}
		first = to
	}
	all := jobs(t, s)
	if len(all) != 1 {
		t.Fatalf("%d Jobs", len(all))
	}
	made := all[0]
	owner := metav1.GetControllerOf(&made)
	if owner == nil || owner.UID != "c1" || made.GetAnnotations()["cronjob.kubernetes.io/instantiate"] != "manual" || made.GetLabels()["team"] != "billing" || !strings.HasPrefix(made.GetName(), "backup-m-") {
		t.Errorf("%v", made.Object["metadata"])
	}
	containers, _, _ := unstructured.NestedSlice(made.Object, "spec", "template", "spec", "containers")
	got := strings.Join(strings.Fields(strings.ReplaceAll(html.UnescapeString(formatted(containers[0])), "\n", " ")), " ")
	for _, want := range []string{"value:short", "DEBUG", "[--all --dry-run]", "secretKeyRef"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in %s", want, got)
		}
	}
	if level, _, _ := unstructured.NestedSlice(live(t, s, "CronJob", "backup").Object, "spec", "jobTemplate", "spec", "template", "spec", "containers"); !strings.Contains(formatted(level[0]), "value:full") {
		t.Error("the CronJob has the value of the run")
	}
	code, answer := uitest.Post(t, s, target, form(answerOf(t, s, target), "more-env.0", "no value"))
	if code != http.StatusUnprocessableEntity || len(jobs(t, s)) != 1 {
		t.Error(code)
	}
	wants(t, answer, `"no value" is not of the form NAME=value.`)
}

func TestRunTimetableNow(t *testing.T) {
	s := site(t, uitest.World{Manifests: timetable("")})
	target := page.ActURL("run-now", "batch.carillon.dev/v1alpha1", "Timetable", "default", "load")
	code, answer := uitest.Post(t, s, target, form(answerOf(t, s, target), "parameter.table", "a; rm -rf /"))
	if code != http.StatusUnprocessableEntity || len(jobs(t, s)) != 0 {
		t.Error(code)
	}
	wants(t, answer, "does not match the pattern")
	if !strings.Contains(answer, `value="a; rm -rf /"`) {
		t.Error("what was typed is lost")
	}
	if code, to := uitest.Post(t, s, target, form(answerOf(t, s, target), "parameter.table", "refunds")); code != http.StatusSeeOther {
		t.Fatal(code, text(to))
	}
	made := jobs(t, s)
	if len(made) != 1 || made[0].GetLabels()["carillon.dev/trigger"] != "manual" || !strings.Contains(formatted(made[0].Object["spec"]), "refunds") {
		t.Errorf("%v", made)
	}
}

func TestRetry(t *testing.T) {
	s := site(t, uitest.World{Manifests: cronJob("") + job("backup-1", failed)})
	target := page.ActURL("retry", "batch/v1", "Job", "default", "backup-1")
	if code, to := uitest.Post(t, s, target, form(answerOf(t, s, target), "env.0.0", "short")); code != http.StatusSeeOther {
		t.Fatal(code, text(to))
	}
	for _, made := range jobs(t, s) {
		if made.GetName() == "backup-1" {
			continue
		}
		if owner := metav1.GetControllerOf(&made); owner == nil || owner.UID != "c1" {
			t.Error("its CronJob does not own it")
		}
		if a := made.GetAnnotations(); a["batch.kubernetes.io/cronjob-scheduled-timestamp"] != "" || a["note"] != "kept" || a["cronjob.kubernetes.io/instantiate"] != "manual" {
			t.Error(a)
		}
		if spec := formatted(made.Object["spec"]); strings.Contains(spec, "controller-uid") || strings.Contains(spec, "selector") || !strings.Contains(spec, "value:short") || !strings.Contains(spec, "app:backup") {
			t.Error(spec)
		}
	}
	if n := len(jobs(t, s)); n != 2 {
		t.Errorf("%d Jobs", n)
	}
}

func TestDeleteAndStop(t *testing.T) {
	tests := map[string]struct{ name, kind, object, to string }{
		"a schedule": {"delete", "CronJob", "backup", "/schedules"},
		"a run":      {"stop", "Job", "backup-1", "/run/default/backup-1?uid=u-backup-1"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := site(t, uitest.World{Manifests: cronJob("") + job("backup-1", active)})
			target := page.ActURL(test.name, "", test.kind, "default", test.object)
			sent := form(answerOf(t, s, target))
			if code, to := uitest.Post(t, s, target, sent); code != http.StatusSeeOther || to != test.to {
				t.Fatal(code, text(to))
			}
			if live(t, s, test.kind, test.object) != nil {
				t.Error("it is still there")
			}
			if code, answer := uitest.Post(t, s, target, sent); code != http.StatusSeeOther { // once more
				t.Error(code, text(answer))
			}
		})
	}
}

// Names and values of others are shown as they are, and run nothing.
func TestHostile(t *testing.T) {
	hostile := `</textarea><script>alert("x")</script>` + "\x1b[31m"
	s := site(t, uitest.World{Manifests: strings.Replace(cronJob(""), "value: full", `value: '`+strings.ReplaceAll(hostile, "\x1b", "")+`'`, 1)})
	for _, target := range []string{
		page.ActURL("run-now", "batch/v1", "CronJob", "default", "backup"), page.ActURL("edit", "batch/v1", "CronJob", "default", "backup"), page.ActURL("edit", "batch/v1", "CronJob", "default", "backup") + "&as=yaml",
		page.ActURL("delete", "batch/v1", "CronJob", "default", "backup"), page.ActURL("suspend", "batch/v1", "CronJob", "default", hostile), page.ActURL("stop", "x/"+hostile, hostile, hostile, hostile), page.ActURL(hostile, "batch/v1", "CronJob", "default", "backup"),
		"/act/suspend", "/act/suspend?kind=cronjob&namespace=default", "/act/suspend?kind=cronjob.other&namespace=default&name=backup", "/act/delete?kind=.&namespace=.&name=.",
	} {
		code, body := uitest.Get(t, s, target)
		if code >= http.StatusInternalServerError || strings.Contains(body, "<script>alert") {
			t.Errorf("%s: %d\n%s", target, code, body)
		}
		if code, body = uitest.Post(t, s, target, url.Values{"request": {hostile}, "version": {hostile}, "yaml": {hostile}, "do": {hostile}, "schedule": {hostile}, "until": {hostile}}); code >= http.StatusInternalServerError || strings.Contains(body, "<script>alert") {
			t.Errorf("POST %s: %d\n%s", target, code, body)
		}
	}
}

func TestForbidden(t *testing.T) {
	s := site(t, uitest.World{Manifests: cronJob(""), Forbidden: []string{"patch cronjobs"}})
	target := page.ActURL("suspend", "batch/v1", "CronJob", "default", "backup")
	_, body := uitest.Get(t, s, target)
	if strings.Contains(body, "<button") && strings.Contains(body, "Suspend it</button>") {
		t.Error("there is a button that fails")
	}
	code, answer := uitest.Post(t, s, target, form(answerOf(t, site(t, uitest.World{Manifests: cronJob("")}), target)))
	if code != http.StatusUnprocessableEntity {
		t.Error(code)
	}
	wants(t, answer, "The API server refuses it", "Nothing was done.")
}

// answerOf is a page as it is asked for.
func answerOf(t *testing.T, s *page.Site, target string) string {
	t.Helper()
	_, body := uitest.Get(t, s, target)
	return body
}

// Where nothing can be changed each act says so, and leads to the object.
func TestClosed(t *testing.T) {
	for name, test := range map[string]struct {
		register func(*page.Site)
		target   string
		code     int
		want     []string
	}{
		"read-only":     {act.Register, page.ActURL("suspend", "batch/v1", "CronJob", "default", "backup"), http.StatusForbidden, []string{"This page is read-only: nothing can be changed here.", `href="/schedule/cronjob/default/backup"`}},
		"of a run":      {act.Register, page.ActURL("stop", "batch/v1", "Job", "default", "backup-1"), http.StatusForbidden, []string{`href="/run/default/backup-1`}},
		"of nothing":    {act.Register, "/act/stop", http.StatusForbidden, []string{"read-only"}},
		"no API server": {func(s *page.Site) { s.ReadOnly, s.Server = false, nil; act.Register(s) }, page.ActURL("edit", "batch/v1", "CronJob", "default", "backup"), http.StatusServiceUnavailable, []string{"There is no API server here", `href="/schedule/cronjob/default/backup"`}},
	} {
		t.Run(name, func(t *testing.T) {
			code, body := uitest.Get(t, uitest.Site(t, uitest.World{Manifests: cronJob(""), ReadOnly: true}, test.register), test.target)
			if code != test.code {
				t.Error(code)
			}
			for _, want := range test.want {
				if !strings.Contains(body, want) {
					t.Errorf("%q is not in\n%s", want, text(body))
				}
			}
		})
	}
}
