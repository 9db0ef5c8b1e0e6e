// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	outcomes "github.com/carillon-dev/carillon/internal/plan/run"
)

// timetableManifest is a Timetable that is due every two seconds, and whose runs each write their scheduled time into a
// file.
func timetableManifest(name, file, more string) string {
	return fmt.Sprintf(`apiVersion: batch.carillon.dev/v1alpha1
kind: Timetable
metadata: {name: %s}
spec:
  schedules: [{cron: "*/2 * * * * *"}]
  history: {succeeded: {limit: 1000}, failed: {limit: 1000}, ledger: 100}
%s
  template:
    spec:
      template:
        spec:
          restartPolicy: Never
          volumes: [{name: out, hostPath: {path: %q}}]
          containers:
          - name: c
            image: host
            command: [/bin/sh, -c, 'echo $(carillon.scheduledTime) >> /out/%s']
            volumeMounts: [{name: out, mountPath: /out}]
`, name, more, filepath.Dir(file), filepath.Base(file))
}

func (u *up) timetable(name string) *v1alpha1.Timetable {
	u.t.Helper()
	tt := &v1alpha1.Timetable{}
	if err := json.Unmarshal([]byte(u.kubectl("get", "timetable", name, "-o", "json")), tt); err != nil {
		u.t.Fatal(err)
	}
	return tt
}

// A Timetable does under "carillon up" what it says: its runs start, the console tells of them, its status says what
// became of each time, and each time has one run although the process is killed in the midst of them: what was due in
// between is caught up.
func TestTimetable(t *testing.T) {
	dataDir, out := newDataDir(t), filepath.Join(t.TempDir(), "times")
	manifest := write(t, timetableManifest("tick", out, "  catchUp: {policy: All, limit: 100}\n  concurrency: {policy: Queue, queueLimit: 100}"))
	for round := range 3 {
		u := startReady(t, dataDir, "-f", manifest)
		ends := 0
		u.wait("three runs", func(l line) bool {
			if l.Type == "finished" && strings.HasPrefix(l.Object, "job/default/tick-") {
				ends++
			}
			return ends == 3
		})
		if round < 2 {
			u.kill()
			continue
		}
		tt := u.timetable("tick")
		for condition, want := range map[string]string{"Ready": "True", "Paused": "False", "Completed": "False"} {
			if i := slices.IndexFunc(tt.Status.Conditions, func(c metav1.Condition) bool { return c.Type == condition }); i < 0 || string(tt.Status.Conditions[i].Status) != want {
				t.Errorf("condition %s is not %s: %+v", condition, want, tt.Status.Conditions)
			}
		}
		if c := tt.Status.Counts; c.Started < 5 || c.Succeeded < 5 || c.Failed+c.Missed+c.Skipped > 0 || c.Started != c.Succeeded+c.Failed+c.Cancelled+int64(len(tt.Status.Active)) {
			t.Errorf("counts %+v, %d active, ledger %+v", c, len(tt.Status.Active), tt.Status.Ledger)
		}
		if len(tt.Status.Ledger) == 0 || len(tt.Status.Next) != 5 || tt.Status.Cursor == nil {
			t.Errorf("status %+v", tt.Status)
		}
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var times []time.Time
	for text := range strings.FieldsSeq(string(text)) {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		times = append(times, at)
	}
	slices.SortFunc(times, time.Time.Compare)
	for i := 1; i < len(times); i++ {
		if apart := times[i].Sub(times[i-1]); apart != 2*time.Second {
			t.Errorf("the run of %v follows that of %v", times[i], times[i-1])
		}
	}
}

// A run that somebody stops is cancelled and not tried again (TT-136, TT-265), although its Pod ends by a signal and its
// Job fails by that before it is gone: for the Timetable, and for the journal.
func TestStoppedRunIsNotTriedAgain(t *testing.T) {
	t.Parallel() // most of it is waiting
	dataDir := newDataDir(t)
	u := startReady(t, dataDir, "-f", write(t, `apiVersion: batch.carillon.dev/v1alpha1
kind: Timetable
metadata: {name: long}
spec:
  schedules: [{cron: "*/2 * * * * *"}]
  retry: {limit: 2, delay: 1s}
  history: {failed: {limit: 100}}
  template:
    spec:
      backoffLimit: 0
      template:
        spec:
          restartPolicy: Never
          containers: [{name: c, image: host, command: [/bin/sh, -c, "trap 'exit 3' TERM; while :; do sleep 1 & wait $!; done"]}]
`))
	const rounds = 6
	var stopped []string
	for round := range rounds {
		var active v1alpha1.ActiveRun
		until(t, "another run", func() bool {
			tt := u.timetable("long")
			if len(tt.Status.Active) != 1 || slices.Contains(stopped, tt.Status.Active[0].Name) {
				return false
			}
			active = tt.Status.Active[0]
			return true
		})
		u.job(active.Name, "ready", func(j *batchv1.Job) bool { return j.Status.Ready != nil && *j.Status.Ready == 1 })
		stopped = append(stopped, active.Name)
		time.Sleep(time.Duration(round) * time.Second / rounds) // in any part of a second: times in objects have no more
		u.kubectl("delete", "job", active.Name, "--cascade=foreground", "--wait=false")
		until(t, "job/"+active.Name+" to go", func() bool { return u.tryKubectl("", "get", "job", active.Name).code != 0 })
	}
	u.kubectl("patch", "timetable", "long", "--type=merge", "-p", `{"spec":{"suspend":true}}`)
	tt := u.timetable("long")
	if c := tt.Status.Counts; c.Failed != 0 || c.Cancelled < rounds || tt.Status.ConsecutiveFailures != 0 {
		t.Errorf("counts %+v, %d failures in a row", c, tt.Status.ConsecutiveFailures)
	}
	for _, name := range stopped {
		i := slices.IndexFunc(tt.Status.Ledger, func(e v1alpha1.LedgerEntry) bool { return e.Run == name })
		if i < 0 {
			t.Errorf("the ledger does not tell of %s: %+v", name, tt.Status.Ledger)
			continue
		}
		if e := tt.Status.Ledger[i]; e.Result != v1alpha1.ResultCancelled || e.Reason != "Deleted" || e.Attempts > 1 {
			t.Errorf("the ledger tells of %s: %+v", name, e)
		}
		until(t, "the journal to tell the end of "+name, func() bool {
			d := historyOf(t, "tt/long", "--data-dir", dataDir)
			i := slices.IndexFunc(d.Runs, func(r map[string]any) bool { return r["name"] == name })
			if i >= 0 && d.Runs[i]["outcome"] == string(outcomes.Failed) {
				t.Errorf("the journal tells of %s: %+v", name, d.Runs[i])
			}
			return i >= 0 && d.Runs[i]["outcome"] != string(outcomes.Active)
		})
	}
}

// The shortest Timetable of the contract (timetable.md 14.1) is served by "carillon up -f" as it stands: the
// definitions are there, and it is ready. Another one, which differs in the name and in how often it is due, runs
// (TT-224; on a cluster: test/integration).
func TestTimetableOfSixLines(t *testing.T) {
	text, err := os.ReadFile("../../docs/contract/timetable.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(text), "14.1 Six lines.\n```yaml\n")
	shortest, _, closed := strings.Cut(after, "```")
	if !found || !closed {
		t.Fatal("the contract has no section 14.1")
	}
	often := strings.NewReplacer("name: hello", "name: often", `"*/5 * * * *"`, `"*/2 * * * * *"`).Replace(shortest)
	u := startReady(t, newDataDir(t), "--local-files", "-f", write(t, shortest+"---\n"+often))
	u.wait("a run", func(l line) bool {
		return l.Type == "finished" && strings.HasPrefix(l.Object, "job/default/often-") && l.Outcome == "complete"
	})
	for _, name := range []string{"timetables.batch.carillon.dev", "calendars.batch.carillon.dev"} {
		if got := u.kubectl("get", "crd", name, "-o", "name"); !strings.Contains(got, name) {
			t.Errorf("kubectl get crd says %q", got)
		}
	}
	s := u.timetable("hello").Status
	if c := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady); c == nil || c.Status != metav1.ConditionTrue {
		t.Errorf("Ready is %+v", c)
	}
	if len(s.Next) != 5 || s.Next[0].Time.Minute()%5 != 0 || s.Next[1].Time.Sub(s.Next[0].Time.Time) != 5*time.Minute {
		t.Errorf("next are %v", s.Next)
	}
}
