// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/cli/manifest"
	"github.com/carillon-dev/carillon/internal/client/exitcode"
)

func timetableOf(t *testing.T, spec string) manifest.Object {
	t.Helper()
	text := "apiVersion: batch.carillon.dev/v1alpha1\nkind: Timetable\nmetadata: {name: report, namespace: ops, uid: u-1}\nspec: " + spec + "\n"
	objects, err := manifest.Parse("f.yaml", []byte(text), func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	return objects[0]
}

func noCalendar(string) (*v1alpha1.Calendar, error) { return nil, nil }

const reportSpec = `{schedules: [{cron: "0 6 * * *"}], timeZone: Europe/Rome, timeout: 10m, parameters: [{name: region, default: west}],
  template: {metadata: {labels: {tier: batch}}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: host,
  command: [echo, "$(carillon.trigger)", "$(carillon.parameters.region)", "$(carillon.scheduledTime)", "$(carillon.previousTime)", "$(carillon.schedule)"]}]}}}}}`

func commandOf(t *testing.T, job manifest.Object) []string {
	t.Helper()
	containers, _, err := unstructured.NestedSlice(job.Object, "spec", "template", "spec", "containers")
	if err != nil || len(containers) != 1 {
		t.Fatalf("containers %v, %v", containers, err)
	}
	words, _, err := unstructured.NestedStringSlice(containers[0].(map[string]any), "command")
	if err != nil {
		t.Fatal(err)
	}
	return words
}

// A Job that is started by hand from a Timetable has its template with the values of a run by hand (timetable.md 3.9,
// 3.12). The Timetable owns it only where it exists.
func TestFromTimetable(t *testing.T) {
	for name, exists := range map[string]bool{"of a file": false, "of the API server": true} {
		t.Run(name, func(t *testing.T) {
			job, err := fromTimetable(timetableOf(t, reportSpec), exists, noCalendar, func(s string) { t.Error(s) })
			if err != nil {
				t.Fatal(err)
			}
			if gvk := (schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}); job.GroupVersionKind() != gvk || job.GetNamespace() != "ops" {
				t.Errorf("made a %v in %q", job.GroupVersionKind(), job.GetNamespace())
			}
			if !regexp.MustCompile(`^report-m-[0-9a-f]{10}$`).MatchString(job.GetName()) {
				t.Errorf("name %s", job.GetName())
			}
			words := strings.Join(commandOf(t, job), " ")
			const moment = `\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+0[12]:00`
			if !regexp.MustCompile(`^echo Manual west ` + moment + ` \d{4}-\d\d-\d\dT06:00:00\+0[12]:00 (main)?$`).MatchString(words) {
				t.Errorf("command %s", words)
			}
			if seconds, _, _ := unstructured.NestedInt64(job.Object, "spec", "activeDeadlineSeconds"); seconds != 600 {
				t.Errorf("timeout of %d s", seconds)
			}
			labels := job.GetLabels()
			if labels["tier"] != "batch" || labels[v1alpha1.LabelTrigger] != "manual" || labels[v1alpha1.LabelTimetableName] != "report" {
				t.Errorf("labels %v", labels)
			}
			owner := metav1.GetControllerOf(job)
			if (owner != nil) != exists || (labels[v1alpha1.LabelTimetableUID] == "u-1") != exists || exists && owner.UID != "u-1" {
				t.Errorf("owner %v, labels %v", owner, labels)
			}
		})
	}
}

// What cannot be started by hand is told with the object, the field and what to do.
func TestFromTimetableThatCannotStart(t *testing.T) {
	const job = `{spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: host, command: [echo, %]}]}}}}`
	template := func(argument string) string { return strings.Replace(job, "%", argument, 1) }
	for name, c := range map[string]struct {
		spec, says string
		usage      bool
	}{
		"an unknown variable": {spec: `{schedules: [{cron: "@daily"}], template: ` + template(`"$(carillon.when)"`) + `}`,
			says: "spec.template.spec.template.spec.containers[0].command[1]"},
		"an unfit default": {spec: `{schedules: [{cron: "@daily"}], parameters: [{name: a, default: "x y"}], template: ` + template("x") + `}`, says: "parameter a"},
		"a Pod": {spec: `{schedules: [{cron: "@daily"}], template: {apiVersion: v1, kind: Pod, spec: {containers: []}}}`,
			says: "spec.template makes a Pod of v1, and run can follow only Jobs", usage: true},
		"a JobSet": {spec: `{schedules: [{cron: "@daily"}], template: {apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, spec: {}}}`,
			says: "put the work into a Job", usage: true},
		"no spec": {spec: `7`, says: "spec"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := fromTimetable(timetableOf(t, c.spec), false, noCalendar, func(string) {})
			var fault *manifest.Fault
			var e *exitcode.Error
			if isFault, isUsage := errors.As(err, &fault), errors.As(err, &e); isFault == c.usage || isUsage != c.usage {
				t.Fatalf("got %v", err)
			}
			for _, says := range []string{"f.yaml: document 1 (line 1), Timetable", "report", c.says} {
				if !strings.Contains(err.Error(), says) {
					t.Errorf("%q does not say %q", err, says)
				}
			}
		})
	}
}

// A schedule that cannot be read does not keep a run by hand from starting: the times that it would give are empty,
// which is told. A Calendar of the same files is found.
func TestFromTimetableWithoutItsTimes(t *testing.T) {
	spec := strings.Replace(reportSpec, "timeout", "exclude: [{calendar: holidays}], timeout", 1)
	var told []string
	job, err := fromTimetable(timetableOf(t, spec), false, noCalendar, func(s string) { told = append(told, s) })
	if err != nil {
		t.Fatal(err)
	}
	if words := commandOf(t, job); words[4] != "" || !strings.HasSuffix(words[3], "Z") || len(told) != 1 || !strings.Contains(told[0], "holidays") {
		t.Errorf("command %q, told %q", words, told)
	}
	told = nil
	forbidden := func(string) (*v1alpha1.Calendar, error) { return nil, errors.New("you may not get calendars") }
	if _, err := fromTimetable(timetableOf(t, spec), false, forbidden, func(s string) { told = append(told, s) }); err != nil {
		t.Fatal(err)
	}
	if len(told) != 1 || !strings.HasSuffix(told[0], "left empty: cannot read calendar holidays: you may not get calendars") {
		t.Errorf("told %q", told)
	}
	files, err := manifest.Parse("f.yaml", []byte("apiVersion: batch.carillon.dev/v1alpha1\nkind: Calendar\nmetadata: {name: holidays}\nspec: {periods: [{period: 12-25}]}\n"), func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	job, err = fromTimetable(timetableOf(t, spec), false, calendarsAmong(t.Context(), nil, "ops", files), func(s string) { t.Error(s) })
	if err != nil {
		t.Fatal(err)
	}
	if words := commandOf(t, job); words[4] == "" {
		t.Errorf("command %q", words)
	}
}

// Another Timetable of the files is not applied beside the one that runs: it would start by itself.
func TestChooseTimetable(t *testing.T) {
	files := []manifest.Object{timetableOf(t, reportSpec), timetableOf(t, reportSpec)}
	files[1].SetName("other")
	target, others, err := (&runOptions{name: "report"}).chooseTarget(files)
	if err != nil || target.GetName() != "report" || len(others) != 0 {
		t.Errorf("chose %v beside %v, %v", target, others, err)
	}
}
