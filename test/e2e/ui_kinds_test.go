// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"
)

const workOfTwins = `{backoffLimit: 0, template: {spec: {restartPolicy: Never, terminationGracePeriodSeconds: 1, containers: [{name: main, image: none,
  command: [/bin/sh, -c, "echo $WORD; sleep $NAP; test $WORD != broken"], env: [{name: WORD, value: whole}, {name: NAP, value: "0"}]}]}}}`

// twins are schedules of all kinds that have one name: each act must find its own.
const twins = `
apiVersion: batch/v1
kind: CronJob
metadata: {name: twin}
spec: {schedule: "0 3 1 1 *", failedJobsHistoryLimit: 10, jobTemplate: {spec: ` + workOfTwins + `}}
---
apiVersion: batch.tutorial.kubebuilder.io/v1
kind: CronJob
metadata: {name: twin}
spec: {schedule: "0 3 1 1 *", failedJobsHistoryLimit: 10, jobTemplate: {spec: ` + workOfTwins + `}}
---
apiVersion: batch.carillon.dev/v1alpha1
kind: Timetable
metadata: {name: twin}
spec: {schedules: [{cron: "0 3 1 1 *"}], template: {spec: ` + workOfTwins + `}}
---
apiVersion: batch.carillon.dev/v1alpha1
kind: Timetable
metadata: {name: pods}
spec: {schedules: [{cron: "0 3 1 1 *"}], template: {apiVersion: v1, kind: Pod, spec: {restartPolicy: Never, terminationGracePeriodSeconds: 1, containers: [{name: main, image: none, command: [sleep, "600"]}]}}}
`

const twinOfVolcano = `
apiVersion: batch.volcano.sh/v1alpha1
kind: CronJob
metadata: {name: twin}
spec: {schedule: "0 3 1 1 *", failedJobsHistoryLimit: 10, jobTemplate: {spec: {minAvailable: 1, tasks: [{name: master, replicas: 1, template: {spec: {restartPolicy: Never, containers: [
  {name: main, image: none, command: [/bin/sh, -c, "echo $WORD; sleep $NAP"], env: [{name: WORD, value: whole}, {name: NAP, value: "0"}]}]}}}]}}}
---
apiVersion: batch.carillon.dev/v1alpha1
kind: Timetable
metadata: {name: trainings}
spec: {schedules: [{cron: "0 3 1 1 *"}], template: {apiVersion: batch.volcano.sh/v1alpha1, kind: Job, spec: {minAvailable: 1, tasks: [{name: master, replicas: 1, template: {spec: {restartPolicy: Never, containers: [
  {name: main, image: none, command: [sleep, "600"]}]}}}]}}}
`

// offers waits until a page links to an act, and gives the address.
func (v *actor) offers(path, act string) string {
	v.t.Helper()
	link := regexp.MustCompile(`href="(/act/` + act + `\?[^"]*)"`)
	var found []string
	var page string
	defer func() {
		if found == nil {
			v.t.Logf("%s reads:\n%s", path, page)
		}
	}()
	until(v.t, path+" to offer "+act, func() bool {
		_, _, page = v.do(http.NewRequest(http.MethodGet, v.base+path, nil))
		found = link.FindStringSubmatch(page)
		return found != nil
	})
	return html.UnescapeString(found[1])
}

// The acts do what they say on the schedules of each kind and on their runs, also where others have the same names, and
// say so where a kind does not know one.
func TestActsOnEachKind(t *testing.T) {
	t.Parallel()
	u := startReady(t, newDataDir(t), "--local-files", "-f", "../../deploy/crds", "-f", write(t, twins))
	u.kubectl("apply", "-f", "../../internal/kind/volcano/testdata/batch.volcano.sh.yaml")
	ofVolcano := write(t, twinOfVolcano)
	until(t, "Volcano's definitions to be served", func() bool { return u.tryKubectl("", "apply", "-f", ofVolcano).code == 0 })
	v := openPage(t, u.dataDir)
	field := func(object, path string) string {
		return u.kubectl("get", object, "--ignore-not-found", "-o", "jsonpath="+path)
	}
	uid := func(object string) string { return field(object, "{.metadata.uid}") }
	is := func(t *testing.T, what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: got %q, want %q", what, got, want)
		}
	}
	const volcano = "batch.volcano.sh"
	phase := func(job, phase string) { // nobody is here who would run it
		u.kubectl("patch", job, "--subresource=status", "--type=merge", "-p",
			`{"status":{"state":{"phase":"`+phase+`","lastTransitionTime":"`+time.Now().UTC().Format(time.RFC3339)+`"}}}`)
	}
	for _, kind := range []struct{ name, page, schedule, job, says string }{
		{"batch/v1", "/schedule/cronjob/default/twin", "cronjobs.batch/twin", "jobs.batch/", "A new Job"},
		{"the book's", "/schedule/cronjob/default/twin?group=batch.tutorial.kubebuilder.io", "cronjobs.batch.tutorial.kubebuilder.io/twin", "jobs.batch/", "A new Job"},
		{"Volcano's", "/schedule/cronjob/default/twin?group=" + volcano, "cronjobs." + volcano + "/twin", "jobs." + volcano + "/", "Jobs of Volcano are run by Volcano: it must be there."},
		{"a Timetable", "/schedule/timetable/default/twin", "timetable/twin", "jobs.batch/", "It is one attempt"},
	} {
		ofVolcano := strings.Contains(kind.job, volcano)
		t.Run(kind.name, func(t *testing.T) {
			v.t = t
			others := func() string {
				all := u.kubectl("get", "cronjobs.batch,cronjobs.batch.tutorial.kubebuilder.io,cronjobs."+volcano+",timetables", "-o", `jsonpath={range .items[*]}{.metadata.uid} {.spec}{"\n"}{end}`)
				return strings.Join(strings.FieldsFunc(all, func(r rune) bool { return r == '\n' }), "\n")
			}
			before, own := others(), uid(kind.schedule)
			owned := func(job string) {
				t.Helper()
				is(t, "the owner of "+job, field(job, "{.metadata.ownerReferences[*].uid}"), own)
			}
			// A run that fails, is tried again with another value, and that one stopped.
			var values []string
			if kind.name != "a Timetable" { // whose values are parameters
				values = []string{"env.0.0", "broken"}
			}
			failed, _ := v.act(v.offers(kind.page, "run-now"), kind.says, values...)
			job := kind.job + v.started(failed)
			owned(job)
			switch {
			case ofVolcano:
				phase(job, "Failed")
			case values == nil:
				u.kubectl("wait", "--for=condition=Complete", job, "--timeout=2m")
			default:
				u.kubectl("wait", "--for=condition=Failed", job, "--timeout=2m")
			}
			long, _ := v.act(v.offers(failed, "retry"), "A new Job", "env.0.1", "600")
			again := kind.job + v.started(long)
			owned(again)
			if ofVolcano {
				phase(again, "Running")
				name := strings.TrimPrefix(again, kind.job)
				u.kubectl("create", "job", name, "--image=none", "--", "sleep", "600")
				for _, act := range []string{"suspend", "resume"} {
					target := "/act/" + act + "?" + url.Values{"kind": {"job"}, "group": {volcano}, "namespace": {"default"}, "name": {name}}.Encode()
					page := v.get(target)
					if !strings.Contains(page, fmt.Sprintf("Only Jobs of batch/v1 can be %sed.", strings.TrimSuffix(act, "e"))) || strings.Contains(page, `class="primary"`) {
						t.Errorf("%s does not say that Volcano's Jobs cannot:\n%s", target, page)
					}
				}
			} else {
				until(t, "its Pod", func() bool { return field(again, "{.status.ready}") == "1" })
				v.act("/act/suspend?"+url.Values{"kind": {"job"}, "namespace": {"default"}, "name": {strings.TrimPrefix(again, kind.job)}}.Encode(), "SIGKILL after 1 second")
				is(t, "suspend of its Job", field(again, "{.spec.suspend}"), "true")
				v.act("/act/resume?"+url.Values{"kind": {"job"}, "namespace": {"default"}, "name": {strings.TrimPrefix(again, kind.job)}}.Encode(), "The Job starts its Pods")
			}
			v.act(v.offers(long, "stop"), "counts as cancelled")
			until(t, "its end", func() bool { return uid(again) == "" })
			if ofVolcano && uid("jobs.batch/"+strings.TrimPrefix(again, kind.job)) == "" {
				t.Error("the Job of the same name has gone, too")
			}
			v.act(v.offers(failed, "delete"), "stay in the journal")
			until(t, "the end of the other", func() bool { return uid(job) == "" })

			v.act(v.offers(kind.page, "suspend"), "Nothing is deleted")
			is(t, "suspend", field(kind.schedule, "{.spec.suspend}"), "true")
			v.act(v.offers(kind.page, "resume"), "The next time is")
			if got := field(kind.schedule, "{.spec.suspend}"); got != "false" && got != "" {
				t.Errorf("suspend is %q after it was resumed", got)
			}
			is(t, "the schedules after it was resumed", strings.ReplaceAll(others(), `"suspend":false`, ""), strings.ReplaceAll(before, `"suspend":false`, ""))

			input := "schedule"
			if kind.name == "a Timetable" {
				input = "schedules.0"
			}
			edit := v.offers(kind.page, "edit")
			_, seen := v.act(edit, "Nothing changes before you save", input, "30 2 * * 5", "do", "preview")
			for _, want := range []string{"It runs at 02:30 on Fridays", "No time that has passed starts."} {
				if !strings.Contains(html.UnescapeString(seen), want) {
					t.Errorf("the preview does not say %q:\n%s", want, seen)
				}
			}
			v.send(edit, seen, "do", "save")
			if spec := field(kind.schedule, "{.spec}"); !strings.Contains(spec, "30 2 * * 5") || !strings.Contains(spec, "sleep") {
				t.Errorf("saved was %s", spec)
			}
			v.act(v.offers(kind.page, "delete"), "it starts nothing more")
			until(t, "its end", func() bool { return uid(kind.schedule) == "" })
			kept := 0
			for line := range strings.Lines(before) {
				if strings.Contains(others(), strings.TrimSpace(line)) {
					kept++
				}
			}
			if want := strings.Count(before, "\n"); kept != want {
				t.Errorf("%d of the %d other schedules are as they were:\n%s", kept, want, others())
			}
		})
	}
	v.t = t
	for name, kind := range map[string]struct{ resource, of string }{"pods": {"pods/", "Pod"}, "trainings": {"jobs." + volcano + "/", "Job"}} {
		at, _ := v.act(v.offers("/schedule/timetable/default/"+name, "run-now"), "A new "+kind.of)
		child := kind.resource + v.started(at)
		if kind.of == "Pod" {
			until(t, "its Pod", func() bool { return field(child, "{.status.phase}") == "Running" })
			retry := v.get(strings.Replace(v.offers(at, "stop"), "/act/stop", "/act/retry", 1))
			if !strings.Contains(retry, "A Pod cannot be started again from itself") {
				t.Errorf("it does not say that a Pod cannot be tried again:\n%s", retry)
			}
		}
		v.act(v.offers(at, "stop"), "The "+kind.of+" is deleted")
		until(t, "the end of "+child, func() bool { return uid(child) == "" })
	}
}
