// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/carillon-dev/carillon/internal/client/exitcode"
	"github.com/carillon-dev/carillon/internal/client/reference"
)

// savedCluster is what kubectl get cronjobs,jobs,pods,events -o yaml --show-managed-fields writes, made shorter.
const savedCluster = `apiVersion: v1
kind: List
items:
- apiVersion: batch/v1
  kind: CronJob
  metadata:
    name: dump
    namespace: shop
    uid: 6a3f
    generation: 1
    creationTimestamp: "2026-06-01T10:00:00Z"
    managedFields:
    - manager: helm
      operation: Update
      apiVersion: batch/v1
      time: "2026-06-01T10:00:00Z"
      fieldsType: FieldsV1
      fieldsV1: {"f:spec": {"f:schedule": {}}}
  spec:
    schedule: "*/15 * * * *"
    timeZone: Europe/Rome
    concurrencyPolicy: Forbid
    jobTemplate:
      spec:
        template:
          spec:
            restartPolicy: Never
            containers:
            - {name: main, image: "registry.example/dumpp:1"}
  status:
    lastScheduleTime: "2026-11-23T08:00:00Z"
    active:
    - {apiVersion: batch/v1, kind: Job, name: dump-29923680, namespace: shop, uid: "77"}
- apiVersion: batch/v1
  kind: Job
  metadata:
    name: dump-29923680
    namespace: shop
    uid: "77"
    creationTimestamp: "2026-11-23T08:00:00Z"
    annotations: {batch.kubernetes.io/cronjob-scheduled-timestamp: "2026-11-23T09:00:00+01:00"}
    ownerReferences:
    - {apiVersion: batch/v1, kind: CronJob, name: dump, uid: 6a3f, controller: true, blockOwnerDeletion: true}
  spec:
    parallelism: 1
    template:
      spec:
        restartPolicy: Never
        containers:
        - {name: main, image: "registry.example/dumpp:1"}
  status:
    active: 1
    startTime: "2026-11-23T08:00:00Z"
- apiVersion: v1
  kind: Pod
  metadata:
    name: dump-29923680-k2x9p
    namespace: shop
    uid: "78"
    creationTimestamp: "2026-11-23T08:00:00Z"
    labels: {batch.kubernetes.io/job-name: dump-29923680}
    ownerReferences:
    - {apiVersion: batch/v1, kind: Job, name: dump-29923680, uid: "77", controller: true, blockOwnerDeletion: true}
  spec:
    nodeName: node-1
    containers:
    - {name: main, image: "registry.example/dumpp:1"}
  status:
    phase: Pending
    containerStatuses:
    - name: main
      image: registry.example/dumpp:1
      imageID: ""
      ready: false
      restartCount: 0
      state: {waiting: {reason: ErrImagePull, message: "not found\e[31m"}}
- apiVersion: v1
  kind: Event
  metadata: {name: dump.17, namespace: shop, uid: "79"}
  involvedObject: {apiVersion: batch/v1, kind: CronJob, name: dump, namespace: shop, uid: 6a3f}
  type: Normal
  reason: JobAlreadyActive
  message: Not starting job because prior execution is running and concurrency policy is Forbid
  firstTimestamp: "2026-11-23T08:15:00Z"
  lastTimestamp: "2026-11-23T08:15:00Z"
  count: 1
- {apiVersion: batch/v1, kind: Job, metadata: {name: twice, namespace: a, uid: "80"}}
- {apiVersion: batch/v1, kind: Job, metadata: {name: twice, namespace: b, uid: "81"}}
`

// askWhy runs the command at twenty past eight UTC and gives what it has written and its exit code.
func askWhy(t *testing.T, content string, args ...string) (out, errOut string, code int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "saved.yaml")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	now := time.Date(2026, 11, 23, 8, 20, 0, 0, time.UTC)
	cmd := newWhyAt(Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr}, func() time.Time { return now })
	cmd.SetArgs(append(args, "-f", file))
	cmd.SetOut(&stdout)
	cmd.SetErr(&stderr)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.Execute()
	if err == nil {
		return stdout.String(), stderr.String(), 0
	}
	coded, ok := errors.AsType[*exitcode.Error](err)
	if !ok {
		t.Fatalf("not an error with an exit code: %v", err)
	}
	return stdout.String(), stderr.String() + err.Error(), coded.Code
}

func TestWhyFromFiles(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		code int
		says []string
	}{
		"now": {args: []string{"cronjob/dump"}, says: []string{"cronjob/dump waits: Job dump-29923680 is still active", "ErrImagePull", "concurrencyPolicy is Forbid",
			"event JobAlreadyActive", "^[[31m", "kubectl -n shop delete job/dump-29923680"}},
		"the time that waits":       {args: []string{"cj/dump", "--at", "09:15", "-n", "shop"}, says: []string{"waits: Job dump-29923680"}},
		"a time that ran":           {args: []string{"cronjob/dump", "--at", "09:00"}, says: []string{"cronjob/dump at 2026-11-23 09:00 +01:00 ran on time"}},
		"no scheduled time":         {args: []string{"cronjob/dump", "--at", "2026-11-23T08:07:00Z"}, says: []string{"not a scheduled time: before it is 2026-11-23 09:00 +01:00, after it 2026-11-23 09:15 +01:00"}},
		"a Job":                     {args: []string{"job/dump-29923680"}, says: []string{"job/dump-29923680 is pending", "cronjob/dump started it for 2026-11-23 09:00 +01:00, on time", "ErrImagePull"}},
		"a time nobody can tell of": {args: []string{"cronjob/dump", "--at", "2026-09-01 10:00"}, code: exitcode.Failed, says: []string{"cannot be told"}},
		"saved long ago":            {args: []string{"cronjob/dump", "--now", "2026-11-23T08:10:00Z"}, says: []string{"not due yet: the next time is 2026-11-23 09:15 +01:00 (in 5m)"}},
	} {
		t.Run(name, func(t *testing.T) {
			out, errOut, code := askWhy(t, savedCluster, test.args...)
			if code != test.code {
				t.Errorf("exit code %d: %s", code, errOut)
			}
			flat := strings.Join(strings.Fields(out), " ")
			for _, text := range test.says {
				if !strings.Contains(flat, text) {
					t.Errorf("it does not say %q:\n%s", text, out)
				}
			}
		})
	}
}

func TestWhyRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		says string
	}{
		"no object":                 {args: nil, says: "name one object"},
		"two objects":               {args: []string{"cj/a", "cj/b"}, says: "name one object"},
		"a bare name":               {args: []string{"dump"}, says: `"dump" names no object: write cronjob/NAME`},
		"another kind":              {args: []string{"pod/dump"}, says: "names no object"},
		"a name that is nearly one": {args: []string{"cronjob/dumps"}, says: "there is no cronjob/dumps; did you mean cronjob/dump?"},
		"a name like none":          {args: []string{"cronjob/zebra"}, says: "there is no cronjob/zebra; there are dump"},
		"a kind of which none is":   {args: []string{"tt/dump"}, says: "no timetable is there at all"},
		"another namespace":         {args: []string{"cronjob/dump", "-n", "other"}, says: "there is no cronjob/dump"},
		"a Job of another name":     {args: []string{"job/dump-29923681"}, says: "did you mean job/dump-29923680?"},
		"a Job of two namespaces":   {args: []string{"job/twice"}, says: "job/twice is in the namespaces a, b: name one with -n"},
		"no time":                   {args: []string{"cronjob/dump", "--at", "noon"}, says: `--at: "noon" is no time`},
		"a time of a Job":           {args: []string{"job/dump-29923680", "--at", "09:00"}, says: "a Job runs once"},
		"no present":                {args: []string{"cronjob/dump", "--now", "soon"}, says: `--now: "soon" is no time`},
		"files and a cluster":       {args: []string{"cronjob/dump", "--context", "prod"}, says: "leave out --context"},
	} {
		t.Run(name, func(t *testing.T) {
			_, errOut, code := askWhy(t, savedCluster, test.args...)
			if code != exitcode.Usage || !strings.Contains(errOut, test.says) {
				t.Errorf("exit code %d: %s", code, errOut)
			}
		})
	}
}

// What is not an object of its API at all is the user's to mend.
func TestWhyRefusesFiles(t *testing.T) {
	for name, content := range map[string]string{"not YAML": "a: b: c", "no object": "# nothing\n", "no name": "apiVersion: batch/v1\nkind: CronJob\n"} {
		if _, errOut, code := askWhy(t, content, "cronjob/dump"); code != exitcode.Usage {
			t.Errorf("%s: exit code %d: %s", name, code, errOut)
		}
	}
}

func TestWhyJSON(t *testing.T) {
	out, _, code := askWhy(t, savedCluster, "cronjob/dump", "-o", "json")
	if code != 0 {
		t.Fatalf("exit code %d", code)
	}
	var answer struct {
		APIVersion, Kind, Verdict, Reason, Zone string
		Object                                  struct{ Kind, Namespace, Name string }
		Now                                     time.Time
		ScheduledTime                           *time.Time
		Evidence                                []struct{ Source, Text string }
		Missing                                 []string
		Next                                    []struct{ Command, Why string }
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil {
		t.Fatal(err)
	}
	if answer.APIVersion != apiVersion || answer.Kind != "Reason" || answer.Verdict != "Waits" || answer.Reason != "Overlap" || answer.Zone != "Europe/Rome" ||
		answer.Object.Name != "dump" || answer.Object.Namespace != "shop" || answer.ScheduledTime == nil || !answer.ScheduledTime.Equal(time.Date(2026, 11, 23, 8, 15, 0, 0, time.UTC)) ||
		len(answer.Evidence) == 0 || answer.Missing == nil || len(answer.Next) == 0 {
		t.Errorf("%+v", answer)
	}
}

func TestWhyCompletes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "saved.yaml")
	if err := os.WriteFile(file, []byte(savedCluster), 0o600); err != nil {
		t.Fatal(err)
	}
	w := &why{input: input{files: []string{file}}}
	cmd := newWhyAt(Streams{}, time.Now)
	cmd.SetContext(t.Context())
	for typed, want := range map[string]string{"": "cronjob/ timetable/ job/", "cj/": "cj/dump", "job/d": "job/dump-29923680", "job/x": "", "pod/": "", "tt/": ""} {
		if got, _ := reference.Completion(w.names)(cmd, nil, typed); strings.Join(got, " ") != want {
			t.Errorf("%q: %v", typed, got)
		}
	}
}
