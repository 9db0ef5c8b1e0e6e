// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/carillon-dev/carillon/internal/cli/manifest"
)

func converting(input string, args ...string) (stdout, stderr string, err error) {
	var out, told bytes.Buffer
	cmd := newConvertAt(Streams{In: strings.NewReader(input), Out: &out, Err: &told}, func() time.Time { return time.Date(2026, 12, 24, 12, 0, 0, 0, time.UTC) })
	cmd.SetArgs(args)
	cmd.SetOut(&told)
	cmd.SetErr(&told)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err = cmd.Execute()
	return out.String(), told.String(), err
}

// CronJobs become Timetables with their comments, other objects stay, and back they become CronJobs.
func TestConvert(t *testing.T) {
	stdout, stderr, err := converting("", "-f", "testdata/convert-cronjobs.yaml", "--to", "timetable")
	if err != nil {
		t.Fatal(err)
	}
	compareGolden(t, "testdata/convert-timetables.yaml", stdout)
	compareGolden(t, "testdata/convert-timetables.notes", stderr)
	if _, err := manifest.Parse("stdout", []byte(stdout), nil); err != nil {
		t.Error(err)
	}
	stdout, _, err = converting("", "-f", "testdata/convert-cronjobs.yaml", "--to", "timetable", "--defaults", "--time-zone", "Europe/Rome")
	if err != nil {
		t.Fatal(err)
	}
	compareGolden(t, "testdata/convert-defaults.yaml", stdout)
	all, _, err := converting("", "-f", "testdata/convert-cronjobs.yaml", "--to", "timetable")
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(all, "---\n")
	back, stderr, err := converting(first, "-f", "-", "--to", "cronjob")
	if err != nil {
		t.Fatal(err, stderr)
	}
	compareGolden(t, "testdata/convert-back.yaml", back)
}

const richTimetable = `apiVersion: batch.carillon.dev/v1alpha1
kind: Timetable
metadata: {name: rich}
spec:
  schedules: [{cron: "30 2 * * *"}]
  timeZone: Europe/Berlin
  exclude: [{period: 12-25}]
  jitter: 5m
  retry: {limit: 2}
  concurrency: {policy: Queue}
  template: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: x, args: [$(carillon.attempt)]}]}}}}
`

// A Timetable that says more than a CronJob can is not written: what would be lost is listed.
func TestConvertLosses(t *testing.T) {
	stdout, stderr, err := converting(richTimetable, "-f", "-", "--to", "cronjob")
	if importCode(err) != 1 || stdout != "" {
		t.Fatalf("%v, stdout %q", err, stdout)
	}
	for _, want := range []string{"stdin:1: timetable/rich", "spec.exclude: ", "spec.jitter: ", "spec.retry: ", "spec.concurrency.policy: ", "spec.dst: ", "2027-03-28", "$(carillon.attempt)"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("%q is not told:\n%s", want, stderr)
		}
	}
	stdout, _, err = converting(richTimetable, "-f", "-", "--to", "cronjob", "-o", "json")
	var answer converted
	if jsonErr := json.Unmarshal([]byte(stdout), &answer); jsonErr != nil || importCode(err) != 1 || len(answer.Losses) != 1 || len(answer.Losses[0].Lost) != 6 || answer.Objects == nil {
		t.Errorf("%v %v\n%s", jsonErr, err, stdout)
	}
}

// Old CronJobs become those of batch/v1, lists become documents, and JSON becomes YAML.
func TestConvertOld(t *testing.T) {
	const list = `{"apiVersion":"v1","kind":"List","items":[
{"apiVersion":"batch/v1beta1","kind":"CronJob","metadata":{"name":"old"},"spec":{"schedule":"@daily","jobTemplate":{"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"x"}]}}}}}},
{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"other"},"data":{"a":"yes"}}]}`
	stdout, stderr, err := converting(list, "-f", "-", "--to", "batch/v1")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"apiVersion: batch/v1\n", "  schedule: '@daily'\n", "---\n", "kind: ConfigMap\n", "  a: \"yes\"\n"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is not in\n%s%s", want, stdout, stderr)
		}
	}
	stdout, stderr, err = converting(list, "-f", "-", "--to", "timetable", "cronjob/old", "-o", "json")
	if err != nil || !strings.Contains(stdout, `"kind": "Timetable"`) || strings.Contains(stdout, "ConfigMap") {
		t.Errorf("%v\n%s%s", err, stdout, stderr)
	}
	if _, stderr, err = converting("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", "-f", "-", "--to", "cronjob"); err != nil || !strings.Contains(stderr, "nothing to make a cronjob of") {
		t.Errorf("%v %s", err, stderr)
	}
}

// What the user types wrong gets a clear message.
func TestConvertUsage(t *testing.T) {
	empty := t.TempDir()
	broken := filepath.Join(empty, "broken")
	if err := os.WriteFile(broken, []byte("apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\nspec: {schedule: '61 * * * *', jobTemplate: {spec: {}}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"no target":      {[]string{"-f", "-"}, "to what?"},
		"another target": {[]string{"--to", "job"}, "timetable or cronjob or batch/v1"},
		"nothing":        {[]string{"--to", "timetable"}, "convert what?"},
		"a zone":         {[]string{"--to", "timetable", "-f", "-", "--time-zone", "Rome"}, "no time zone"},
		"no file":        {[]string{"--to", "timetable", "-f", "/does/not/exist"}, "no such file"},
		"no manifests":   {[]string{"--to", "timetable", "-f", empty}, "there is no *.yaml"},
		"a schedule":     {[]string{"--to", "timetable", "-f", broken}, "broken:1: "},
		"a name":         {[]string{"--to", "timetable", "-f", "testdata/convert-cronjobs.yaml", "cronjob/none"}, "there is no cronjob/none"},
		"no name":        {[]string{"--to", "timetable", "-f", "testdata/convert-cronjobs.yaml", "none"}, "write cronjob/NAME"},
	} {
		stdout, _, err := converting("", test.args...)
		if err == nil || stdout != "" || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v\n%s", name, err, stdout)
		}
	}
}

const smallCronJob = `apiVersion: batch/v1
kind: CronJob
metadata:
  name: NAME
spec:
  schedule: "0 9 * * THU"
  timeZone: Europe/Rome
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers:
            - {name: x, image: x}
`

// Comments that belong to no field stay where they stood, also where nothing is converted.
func TestConvertComments(t *testing.T) {
	config := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\n"
	input := "# licence\n# of two lines\n\n" + config + "# below\n---\n# alone\n---\n# about the job\n\n" +
		strings.ReplaceAll(smallCronJob, "NAME", "work") + "# before the next\n---\n" + strings.ReplaceAll(config, "settings", "more") + "---\n# the end\n"
	for _, to := range []string{"timetable", "batch/v1"} {
		stdout, stderr, err := converting(input, "-f", "-", "--to", to)
		if err != nil {
			t.Fatal(err, stderr)
		}
		last := -1
		for _, want := range []string{"# licence\n# of two lines\n", "name: settings", "# below", "# alone", "# about the job", "name: work", "# before the next", "name: more", "# the end"} {
			at := strings.Index(stdout, want)
			if at <= last {
				t.Errorf("to %s: %q is not where it should be in\n%s", to, want, stdout)
			}
			last = at
		}
		again, _, err := converting(stdout, "-f", "-", "--to", to)
		if err != nil || again != stdout {
			t.Errorf("to %s: %v, again it is\n%s, was\n%s", to, err, again, stdout)
		}
	}
}

// Names that only differ in what a Timetable's may not have do not become one.
func TestConvertNames(t *testing.T) {
	job := func(name string) string { return strings.ReplaceAll(smallCronJob, "NAME", name) }
	_, _, err := converting(job("db.backup")+"---\n"+job("db-backup"), "-f", "-", "--to", "timetable")
	if importCode(err) != 2 || !strings.Contains(err.Error(), "stdin:16: timetable/db-backup: this would be the name of two objects, here and at stdin:1") {
		t.Errorf("got %v", err)
	}
	if stdout, _, err := converting(job("My.Job.name"), "-f", "-", "--to", "timetable"); err != nil || !strings.Contains(stdout, "\n  name: my-job-name\n") {
		t.Errorf("capitals: %v\n%s", err, stdout)
	}
	other := strings.ReplaceAll(job("db-backup"), "  name: db-backup\n", "  name: db-backup\n  namespace: other\n")
	if _, _, err := converting(job("db.backup")+"---\n"+other, "-f", "-", "--to", "timetable"); err != nil {
		t.Errorf("in two namespaces: %v", err)
	}
}

// A merge is what it stands for, and a day of the week is no H.
func TestConvertMerge(t *testing.T) {
	input := strings.ReplaceAll(smallCronJob, "NAME", "work")
	input = strings.ReplaceAll(input, "spec:\n  schedule:", "spec:\n  <<: &common\n    suspend: true\n  schedule:")
	there, stderr, err := converting(input, "-f", "-", "--to", "timetable")
	if err != nil || !strings.Contains(there, "suspend: true") {
		t.Fatalf("%v\n%s%s", err, there, stderr)
	}
	back, stderr, err := converting(there, "-f", "-", "--to", "cronjob")
	if err != nil || !strings.Contains(back, `schedule: "0 9 * * THU"`) {
		t.Errorf("%v\n%s%s", err, back, stderr)
	}
}

// Comments of the limits of what is kept stay on the way to a Timetable and back.
func TestConvertHistoryComments(t *testing.T) {
	input := strings.ReplaceAll(smallCronJob, "NAME", "work") + "  # above five\n  successfulJobsHistoryLimit: 5 # five\n  # above two\n  failedJobsHistoryLimit: 2 # two\n"
	there, stderr, err := converting(input, "-f", "-", "--to", "timetable")
	if err != nil {
		t.Fatal(err, stderr)
	}
	back, stderr, err := converting(there, "-f", "-", "--to", "cronjob")
	if err != nil {
		t.Fatal(err, stderr)
	}
	if want := "  # above five\n  successfulJobsHistoryLimit: 5 # five\n  # above two\n  failedJobsHistoryLimit: 2 # two\n"; !strings.Contains(back, want) {
		t.Errorf("there\n%sback\n%s", there, back)
	}
}
