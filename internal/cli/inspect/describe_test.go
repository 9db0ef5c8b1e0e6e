// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"time"
	"unicode"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/carillon-dev/carillon/internal/cli/table"
	"github.com/carillon-dev/carillon/internal/client/cluster"
	"github.com/carillon-dev/carillon/internal/client/evidence"
	"github.com/carillon-dev/carillon/internal/client/exitcode"
	"github.com/carillon-dev/carillon/internal/client/lookup"
	"github.com/carillon-dev/carillon/internal/client/reference"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/diagnosis"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// knownRuns is a source of runs that a test has made up.
type knownRuns struct {
	lookup.Source // what is not asked of it

	runs      []run.Run // newest first
	omissions []run.Omission
	attempts  map[types.UID][]run.Attempt
	logs      map[string]string // by container
	usual     map[types.UID]journal.Usual
	origin    string
}

func (k *knownRuns) Runs(_ context.Context, q journal.Query) ([]run.Run, error) {
	var chosen []run.Run
	for i := range k.runs {
		if lookup.Chooses(&q, &k.runs[i]) && (q.Limit == 0 || len(chosen) < q.Limit) {
			chosen = append(chosen, k.runs[i])
		}
	}
	return chosen, nil
}

func (k *knownRuns) Omissions(_ context.Context, q journal.Query) ([]run.Omission, error) {
	var chosen []run.Omission
	for _, o := range k.omissions {
		if q.OwnerName == o.Owner.Name && q.OwnerKind == o.Owner.Kind {
			chosen = append(chosen, o)
		}
	}
	return chosen, nil
}

func (k *knownRuns) Attempts(_ context.Context, r *run.Run) ([]run.Attempt, error) {
	return k.attempts[r.UID], nil
}

func (k *knownRuns) Usual(context.Context, []types.UID) (map[types.UID]journal.Usual, error) {
	return k.usual, nil
}

func (k *knownRuns) Log(_ context.Context, a *run.Attempt) (io.ReadCloser, error) {
	log, ok := k.logs[a.ContainerID]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(strings.NewReader(log)), nil
}

func (k *knownRuns) Tail(_ context.Context, a *run.Attempt, _ int) ([]byte, error) {
	log, ok := k.logs[a.ContainerID]
	if !ok {
		return nil, nil
	}
	return []byte(log), nil
}

func (k *knownRuns) Origin(context.Context) string { return k.origin }
func (k *knownRuns) Close() error                  { return nil }

// describedAt is the present of these tests: a Monday, six days before the clocks change in Berlin.
var describedAt = time.Date(2026, 10, 19, 8, 20, 0, 0, time.UTC)

// scene is what an API server and a source know.
type scene struct {
	// objects is YAML of what the API server has; "" says that none is asked.
	objects string
	known   knownRuns
	local   string
}

// describer is the command on a scene.
func (sc *scene) describer(t *testing.T, out, errOut io.Writer, width int) *describe {
	t.Helper()
	local := time.UTC
	if sc.local != "" {
		zone, err := time.LoadLocation(sc.local)
		if err != nil {
			t.Fatal(err)
		}
		local = zone
	}
	d := &describe{streams: Streams{Out: out, Err: errOut}, clock: func() time.Time { return describedAt }, local: local, width: width}
	d.open = func(context.Context) (lookup.Source, *cluster.Server, error) {
		if sc.objects == "" {
			return &sc.known, nil, nil
		}
		return &sc.known, &cluster.Server{Namespace: "shop"}, nil
	}
	d.ask = func(_ context.Context, _ *cluster.Server, ref reference.Reference, now time.Time) (*diagnosis.Evidence, error) {
		found, err := evidence.Search(objectsOf(t, sc.objects), ref, "shop")
		if err != nil {
			return nil, &evidence.NotThere{Err: err}
		}
		found.Now, found.Kubectl, found.Standalone = now, "carillon kubectl", true
		found.Read = diagnosis.Kinds{Jobs: true, Pods: true, Events: true, Leases: true}
		return found, nil
	}
	return d
}

func objectsOf(t *testing.T, text string) *workload.Objects {
	t.Helper()
	var objects []workload.Object
	for part := range strings.SplitSeq(text, "\n---\n") {
		content := map[string]any{}
		if err := yaml.Unmarshal([]byte(part), &content); err != nil {
			t.Fatal(err)
		}
		encoded, err := json.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(encoded); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, workload.Object{Content: object})
	}
	all, err := workload.Read(objects, workload.Options{Namespace: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// describeScene runs the command.
func describeScene(t *testing.T, sc *scene, width int, args ...string) (string, error) {
	t.Helper()
	var out, errOut bytes.Buffer
	cmd := sc.describer(t, &out, &errOut, width).command()
	cmd.SetArgs(append([]string{}, args...))
	cmd.SetOut(&out)
	cmd.SetErr(&errOut)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.Execute()
	return out.String(), err
}

const backupCronJob = `apiVersion: batch/v1
kind: CronJob
metadata: {name: backup, namespace: shop, uid: u-backup, generation: 1, creationTimestamp: "2026-06-01T10:00:00Z"}
spec:
  schedule: "30 3 * * *"
  timeZone: Europe/Berlin
  concurrencyPolicy: Forbid
  startingDeadlineSeconds: 3600
  jobTemplate:
    spec:
      backoffLimit: 2
      template: {spec: {restartPolicy: Never, containers: [{name: main, image: "registry.example/backup:1"}]}}
status: {lastScheduleTime: "2026-10-19T01:30:00Z", lastSuccessfulTime: "2026-10-19T01:42:00Z"}`

// nightly are runs of the last days, one a night, newest first; outcome tells how that of so many nights ago ended.
func nightly(days int, outcome func(ago int) run.Outcome) (runs []run.Run) {
	for ago := range days {
		due := time.Date(2026, 10, 19-ago, 1, 30, 0, 0, time.UTC)
		r := run.Run{
			UID: types.UID(fmt.Sprintf("r-%d", ago)), APIVersion: "batch/v1", Kind: "Job", Namespace: "shop", Name: fmt.Sprintf("backup-%d", due.Unix()/60),
			Owner: run.Owner{APIVersion: "batch/v1", Kind: "CronJob", Name: "backup", UID: "u-backup"}, Trigger: run.Schedule, ScheduledTime: due,
			Created: due.Add(time.Second), Started: due.Add(2 * time.Second), Outcome: outcome(ago), Attempts: 1,
		}
		if r.Outcome.Ended() {
			r.Ended = due.Add(time.Duration(11+ago%3) * time.Minute)
		}
		if r.Outcome == run.Failed {
			r.Reason, r.Message, r.ExitCode, r.Attempts = "BackoffLimitExceeded", "Job has reached the specified backoff limit", new(int32(3)), 3
		}
		runs = append(runs, r)
	}
	return runs
}

var usualBackup = map[types.UID]journal.Usual{"u-backup": {Runs: 20, Median: 12 * time.Minute, Most: 13 * time.Minute}}

const theJournal = "the journal of the Carillon on /var/lib/carillon, since 2026-08-25"

var scenes = map[string]struct {
	scene scene
	args  []string
}{
	"healthy": {scene{objects: backupCronJob, local: "America/New_York", known: knownRuns{
		runs: nightly(40, func(int) run.Outcome { return run.Succeeded }), usual: usualBackup, origin: theJournal,
	}}, []string{"cronjob/backup"}},
	"failing": {scene{
		objects: strings.Replace(backupCronJob, `, lastSuccessfulTime: "2026-10-19T01:42:00Z"`, `, lastSuccessfulTime: "2026-10-16T01:42:00Z"`, 1),
		known: knownRuns{
			runs: nightly(9, func(ago int) run.Outcome {
				if ago < 2 {
					return run.Failed
				}
				return run.Succeeded
			})[:9:9],
			omissions: []run.Omission{{
				Namespace: "shop", Owner: run.Owner{Kind: "CronJob", Name: "backup", UID: "u-backup"}, ScheduledTime: time.Date(2026, 10, 10, 1, 30, 0, 0, time.UTC),
				Count: 1, Missed: true, Reason: "DeadlineExceeded", Message: "it could not start within startingDeadlineSeconds",
			}},
			attempts: map[types.UID][]run.Attempt{"r-0": {
				{ContainerID: "c1", RunUID: "r-0", Namespace: "shop", Pod: "backup-29871450-k2x9p", Container: "main", Started: describedAt.Add(-7 * time.Hour), Ended: describedAt.Add(-7 * time.Hour).Add(time.Minute), ExitCode: 3, Reason: "Error"},
				{ContainerID: "c2", RunUID: "r-0", Namespace: "shop", Pod: "backup-29871450-zz8t4", Container: "main", Started: describedAt.Add(-6 * time.Hour), Ended: describedAt.Add(-6 * time.Hour).Add(time.Minute), ExitCode: 3, Reason: "Error"},
			}},
			logs:  map[string]string{"c2": "2026-10-19T01:31:00Z stdout F connecting to db.shop\n2026-10-19T01:31:30Z stderr F \x1b[31mERROR\x1b[0m no space left on device: /backups/shop.tar.gz.part\n"},
			usual: usualBackup, origin: theJournal,
		},
	}, []string{"cronjob/backup"}},
	"suspended": {scene{
		objects: strings.Replace(backupCronJob, "  schedule:", "  suspend: true\n  schedule:", 1),
		known:   knownRuns{runs: nightly(3, func(int) run.Outcome { return run.Succeeded }), origin: theJournal},
	}, []string{"cronjob/backup"}},
	"active and late": {scene{
		objects: backupCronJob + "\n---\n" + `apiVersion: batch/v1
kind: Job
metadata:
  name: backup-29871450
  namespace: shop
  uid: r-0
  creationTimestamp: "2026-10-19T01:30:01Z"
  annotations: {batch.kubernetes.io/cronjob-scheduled-timestamp: "2026-10-19T03:30:00+02:00"}
  ownerReferences: [{apiVersion: batch/v1, kind: CronJob, name: backup, uid: u-backup, controller: true}]
spec: {parallelism: 1, template: {spec: {restartPolicy: Never, containers: [{name: main, image: "registry.example/backup:1"}]}}}
status: {active: 1, startTime: "2026-10-19T01:30:02Z"}`,
		known: knownRuns{runs: nightly(12, func(ago int) run.Outcome {
			if ago == 0 {
				return run.Active
			}
			return run.Succeeded
		}), usual: usualBackup, origin: theJournal},
	}, []string{"cronjob/backup"}},
	"nothing can start": {scene{
		objects: strings.Replace(strings.Replace(backupCronJob, "30 3 * * *", "30 3 31 2 *", 1), "metadata: {", `metadata: {deletionTimestamp: "2026-10-19T08:00:00Z", finalizers: [shop.example/hold], `, 1),
		known:   knownRuns{origin: "the objects of the cluster; Jobs that were cleaned up are not known"},
	}, []string{"cronjob/backup"}},
	"deleted": {scene{
		objects: strings.Replace(backupCronJob, "name: backup", "name: other", 1),
		known:   knownRuns{runs: nightly(9, func(int) run.Outcome { return run.Succeeded }), usual: usualBackup, origin: theJournal},
	}, []string{"cronjob/backup"}},
	"not running": {scene{known: knownRuns{
		runs: nightly(9, func(int) run.Outcome { return run.Succeeded }), usual: usualBackup, origin: theJournal + "; that Carillon does not run now",
	}}, []string{"cronjob/backup", "-n", "shop"}},
	"timetable": {scene{objects: timetableObject, known: knownRuns{
		runs: []run.Run{{
			UID: "t-1", APIVersion: "batch/v1", Kind: "Job", Namespace: "shop", Name: "report-20261019-080000", Trigger: run.CatchUp, Retry: 2,
			Owner:         run.Owner{APIVersion: "batch.carillon.dev/v1alpha1", Kind: "Timetable", Name: "report", UID: "u-report"},
			ScheduledTime: time.Date(2026, 10, 19, 8, 0, 0, 0, time.UTC), Created: time.Date(2026, 10, 19, 8, 5, 0, 0, time.UTC), Outcome: run.Active,
		}},
		omissions: []run.Omission{{
			Namespace: "shop", Owner: run.Owner{Kind: "Timetable", Name: "report", UID: "u-report"}, ScheduledTime: time.Date(2026, 10, 19, 2, 0, 0, 0, time.UTC),
			Until: time.Date(2026, 10, 19, 6, 0, 0, 0, time.UTC), Count: 3, Reason: "Suspended",
		}},
		origin: theJournal,
	}}, []string{"tt/report", "--zone", "Asia/Tokyo"}},
	"job": {scene{objects: jobObject, known: knownRuns{
		runs: []run.Run{{
			UID: "j-1", APIVersion: "batch/v1", Kind: "Job", Namespace: "shop", Name: "import", Created: describedAt.Add(-time.Hour), Started: describedAt.Add(-time.Hour),
			Ended: describedAt.Add(-30 * time.Minute), Outcome: run.Failed, Reason: "BackoffLimitExceeded", Completions: 1, PodsFailed: 2,
		}},
		attempts: map[types.UID][]run.Attempt{"j-1": {
			{ContainerID: "a", Namespace: "shop", Pod: "import-4k2xq", Container: "main", Started: describedAt.Add(-time.Hour), Ended: describedAt.Add(-50 * time.Minute), ExitCode: 137, Signal: 9, Reason: "OOMKilled", MemoryPeak: 512 << 20, OutputBytes: 18_231},
			{ContainerID: "b", Namespace: "shop", Pod: "import-x81fd", Container: "main", Started: describedAt.Add(-45 * time.Minute), Ended: describedAt.Add(-31 * time.Minute), ExitCode: 137, Signal: 9, Reason: "OOMKilled", MemoryPeak: 512 << 20, OutputBytes: 77},
		}},
		logs: map[string]string{"b": "2026-10-19T07:40:00Z stdout F reading customers.csv\n2026-10-19T07:49:00Z stdout P 4,182,0\n2026-10-19T07:49:00Z stdout F 00 rows\n"}, origin: theJournal,
	}}, []string{"job/import"}},
	"control bytes and long names": {scene{
		objects: strings.ReplaceAll(strings.ReplaceAll(backupCronJob, "name: backup,", `name: "a-very-long-name-of-a-backup-that-somebody-has-chosen-once-\e[31m",`), "30 3 * * *", `30 3 * * *`),
		known: knownRuns{
			runs: func() []run.Run {
				runs := nightly(9, func(int) run.Outcome { return run.Failed })
				for i := range runs {
					runs[i].Owner.Name = "a-very-long-name-of-a-backup-that-somebody-has-chosen-once-\x1b[31m"
					runs[i].Name = "a-very-long-name-of-a-backup-that-somebody-has-chosen-once-\x1b[31m-29871450"
					runs[i].Reason, runs[i].Message = "Re\x1b]0;ason\x07", "line one\nline \u202e two"
				}
				return runs
			}(),
			attempts: map[types.UID][]run.Attempt{"r-0": {{ContainerID: "c", Pod: "p\x07", Container: "m\x1b[2J", Ended: describedAt.Add(-7 * time.Hour), Started: describedAt.Add(-8 * time.Hour), ExitCode: 1}}},
			logs:     map[string]string{"c": "2026-10-19T07:40:00Z stdout F \x1b[2J\x1b[H" + strings.Repeat("wide ", 60) + "\n"}, origin: "a journal\x1b[0m",
		},
	}, []string{"cronjob/a-very-long-name-of-a-backup-that-somebody-has-chosen-once-\x1b[31m"}},
}

const timetableObject = `apiVersion: batch.carillon.dev/v1alpha1
kind: Timetable
metadata: {name: report, namespace: shop, uid: u-report, generation: 2, creationTimestamp: "2026-10-18T10:00:00Z"}
spec:
  timeZone: Europe/Berlin
  schedules:
  - {name: day, cron: "0 */2 * * *"}
  - {name: close, cron: "30 18 L * *"}
  concurrency: {policy: Queue}
  retry: {limit: 2, delay: 1m}
  template: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: "registry.example/report:1"}]}}}}
status:
  cursor: "2026-10-19T08:00:00Z"
  conditions:
  - {type: Ready, status: "True", reason: Ready, message: "", lastTransitionTime: "2026-10-18T10:00:01Z", observedGeneration: 2}
  - {type: Healthy, status: "False", reason: LastRunFailed, message: "the newest run has failed", lastTransitionTime: "2026-10-19T08:04:00Z", observedGeneration: 2}`

const jobObject = `apiVersion: batch/v1
kind: Job
metadata: {name: import, namespace: shop, uid: j-1, creationTimestamp: "2026-10-19T07:20:00Z"}
spec:
  backoffLimit: 1
  template: {spec: {restartPolicy: Never, containers: [{name: main, image: "registry.example/import:1"}]}}
status:
  startTime: "2026-10-19T07:20:00Z"
  failed: 2
  conditions:
  - {type: Failed, status: "True", reason: BackoffLimitExceeded, message: "Job has reached the specified backoff limit", lastTransitionTime: "2026-10-19T07:50:00Z"}`

func TestDescribeScreens(t *testing.T) {
	for name, test := range scenes {
		for _, width := range []int{80, 120} {
			t.Run(fmt.Sprintf("%s %d", name, width), func(t *testing.T) {
				got, err := describeScene(t, &test.scene, width, test.args...)
				if err != nil {
					t.Fatal(err)
				}
				for line := range strings.Lines(got) {
					line = strings.TrimSuffix(line, "\n")
					if table.Width(line) > width && !strings.Contains(line, "carillon ") { // a command is copied: it stays in one line
						t.Errorf("wider than %d: %s", width, line)
					}
					if strings.IndexFunc(line, unicode.IsControl) >= 0 {
						t.Errorf("what a terminal would obey: %q", line)
					}
				}
				golden(t, fmt.Sprintf("describe/%s-%d.txt", strings.ReplaceAll(name, " ", "-"), width), got)
			})
		}
	}
}

func TestDescribeRefuses(t *testing.T) {
	sc := scenes["healthy"].scene
	for name, test := range map[string]struct {
		args []string
		says string
	}{
		"no object":              {nil, "name one object"},
		"two objects":            {[]string{"cj/a", "cj/b"}, "name one object"},
		"a bare name":            {[]string{"backup"}, `"backup" names no object`},
		"nearly its name":        {[]string{"cronjob/backups"}, "did you mean cronjob/backup?"},
		"a zone that is none":    {[]string{"cronjob/backup", "--zone", "Europe/Brelin"}, "--zone Europe/Brelin"},
		"an output that is none": {[]string{"cronjob/backup", "-o", "yaml"}, "text or json"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := describeScene(t, &sc, 80, test.args...)
			if err == nil || !strings.Contains(err.Error(), test.says) || out != "" {
				t.Fatalf("%v\n%s", err, out)
			}
			if coded, ok := errors.AsType[*exitcode.Error](err); !strings.Contains(name, "output") && (!ok || coded.Code != exitcode.Usage) {
				t.Errorf("%v has not the exit code for the user's input", err)
			}
		})
	}
}

func TestDescribeForPrograms(t *testing.T) {
	sc := scenes["failing"].scene
	out, err := describeScene(t, &sc, 80, "cronjob/backup", "-o", "json")
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		APIVersion, Kind string
		Object           struct{ Kind, Namespace, Name, UID string }
		Gone             bool
		First            []string
		State            struct{ Verdict, Summary string }
		Schedule         struct {
			NextTimes []struct {
				Time      time.Time
				InSeconds float64
			}
		}
		Timeline struct {
			Places []string
			Counts map[string]int
		}
		Latest []struct {
			Run      *struct{ Outcome string }
			Omission *struct{ Reason string }
		}
		Output struct {
			Lines    []string
			Attempts []struct{ ExitCode int }
		}
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if got.APIVersion != apiVersion || got.Kind != "Description" || got.Object.UID != "u-backup" || got.Gone || got.First == nil || got.State.Verdict != "NotDue" {
		t.Errorf("%+v", got)
	}
	if len(got.Schedule.NextTimes) != shownTimes || !got.Schedule.NextTimes[0].Time.Equal(time.Date(2026, 10, 20, 1, 30, 0, 0, time.UTC)) {
		t.Errorf("next times %+v", got.Schedule.NextTimes)
	}
	if len(got.Timeline.Places) != placesForPrograms || got.Timeline.Counts["Failed"] != 2 {
		t.Errorf("timeline %+v", got.Timeline)
	}
	if len(got.Latest) != shownEntries || got.Latest[0].Run == nil || len(got.Output.Lines) != 2 || len(got.Output.Attempts) != 2 || got.Output.Attempts[0].ExitCode != 3 {
		t.Errorf("latest %+v, output %+v", got.Latest, got.Output)
	}
	if strings.Contains(out, ": null") {
		t.Errorf("a list is null:\n%s", out)
	}
}

func TestDescribeInASCII(t *testing.T) {
	sc := scenes["failing"].scene
	out, err := describeScene(t, &sc, 80, "cronjob/backup", "--ascii")
	if err != nil {
		t.Fatal(err)
	}
	_, line, _ := strings.Cut(out, "The last week")
	line, _, _ = strings.Cut(line, "Latest runs")
	if i := strings.IndexFunc(line, func(r rune) bool { return r > unicode.MaxASCII }); i >= 0 || !strings.Contains(line, "x failed") {
		t.Errorf("not ASCII, or no line:\n%s", line)
	}
}
