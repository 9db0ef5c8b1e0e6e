// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package browser

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/schedule"
)

// inhabitant is a schedule of the world, and how its runs have gone.
type inhabitant struct {
	kind, namespace, name, cron, zone string
	spec                              string // further lines of its spec
	script                            string
	// usually is how long a run takes, failing one of how many fails; 0: none.
	usually time.Duration
	failing int
	// broken: its newest runs have all failed. never: it has no history.
	broken int
	never  bool
}

const (
	cronJob   = "CronJob"
	timetable = "Timetable"
)

// world is a small company's: shop, billing, data and ops. Most starts are at midnight, as everywhere.
var world = slices.Concat([]inhabitant{
	{kind: cronJob, namespace: "ops", name: "backup", cron: "0 2 * * *", zone: "Europe/Berlin", usually: 14 * time.Minute, failing: 19, script: "echo dumping; sleep 1; echo done"},
	{kind: cronJob, namespace: "ops", name: "certificates", cron: "0 */6 * * *", usually: 40 * time.Second, failing: 60},
	{kind: cronJob, namespace: "ops", name: "cleanup", cron: "*/15 * * * *", usually: 35 * time.Second},
	{kind: cronJob, namespace: "ops", name: "disk-report", cron: "30 6 * * 1-5", zone: "Europe/Berlin", usually: 2 * time.Minute, spec: "suspend: true"},
	{kind: cronJob, namespace: "shop", name: "sync-stock", cron: "5 * * * *", usually: 6 * time.Minute, failing: 23, broken: 3},
	{kind: cronJob, namespace: "shop", name: "recommendations", cron: "20 3 * * *", zone: "America/New_York", usually: 95 * time.Minute, failing: 40, script: "for n in $(seq 900); do echo \"batch $n of 900\"; sleep 1; done"},
	{kind: cronJob, namespace: "shop", name: "newsletter-with-a-rather-long-name-of-its-own", cron: "0 9 * * 4", zone: "Europe/Berlin", usually: 11 * time.Minute},
	{kind: cronJob, namespace: "billing", name: "invoices", cron: "0 4 1 * *", zone: "Europe/Berlin", usually: 48 * time.Minute},
	{kind: cronJob, namespace: "billing", name: "dunning", cron: "0 7 * * 1-5", zone: "Europe/Berlin", usually: 4 * time.Minute, failing: 30},
	{kind: cronJob, namespace: "billing", name: "never-due", cron: "0 0 30 2 *", never: true},
	{kind: timetable, namespace: "data", name: "warehouse", cron: "30 1 * * *", zone: "Europe/Berlin", usually: 52 * time.Minute, failing: 12, spec: "retry: {limit: 3, delay: 1m}"},
	{kind: timetable, namespace: "data", name: "exchange-rates", cron: "*/30 8-18 * * 1-5", zone: "Europe/Berlin", usually: 20 * time.Second, failing: 25},
}, herd(), lengthy())

// herd starts at midnight.
func herd() (all []inhabitant) {
	for n := range 14 {
		all = append(all, inhabitant{kind: cronJob, namespace: "tenants", name: fmt.Sprintf("daily-%02d", n+1), cron: "0 0 * * *", usually: time.Duration(n+2) * time.Minute, failing: 50 + n})
	}
	return all
}

// The longest names there may be, without a place to break them: of a namespace, and of a CronJob.
const (
	longNamespace = "thedepartmentforthereconciliationofallledgersofallsubsidiaries1"
	longName      = "quarterlyreconciliationofledgersofallsubsidiaries123"
)

// lengthy has long names. The pictures of the documentation are taken without it.
func lengthy() []inhabitant {
	if os.Getenv("CARILLON_SCREENSHOTS") != "" {
		return nil
	}
	script := "echo " + strings.Repeat("unbreakable", 30) + "; sleep 900"
	return []inhabitant{{kind: cronJob, namespace: longNamespace, name: longName, cron: "*/20 * * * *", usually: 30 * time.Second, failing: 40, script: script}}
}

// busy starts a run of the lengthy one, under the longest name of a Job, which runs for as long as the tests do: what
// the pages say of runs under way does not hang on the minute in which they are looked at.
func busy(t *testing.T, data string) {
	t.Helper()
	if len(lengthy()) == 0 {
		return
	}
	name := longName + "-" + strings.Repeat("9", 63-len(longName)-1)
	kubectl(t, data, "-n", longNamespace, "create", "job", name, "--from=cronjob/"+longName)
	until(t, "a run of the schedule with the long name", func() bool {
		return kubectl(t, data, "-n", longNamespace, "get", "job", name, "-o", "jsonpath={.status.ready}") == "1"
	})
}

// manifests are the objects, for carillon up. A Job that runs and one that fails at once are among them.
func manifests() string {
	var b strings.Builder
	namespaces := map[string]bool{}
	for _, i := range world {
		if !namespaces[i.namespace] {
			fmt.Fprintf(&b, "apiVersion: v1\nkind: Namespace\nmetadata: {name: %s}\n---\n", i.namespace)
			namespaces[i.namespace] = true
		}
		script := i.script
		if script == "" {
			script = "echo working; sleep 2; echo done"
		}
		pod := fmt.Sprintf(`template: {spec: {restartPolicy: Never, terminationGracePeriodSeconds: 1, containers: [{name: main, image: host, command: [/bin/sh, -c, %q], env: [{name: TARGET, value: all}]}]}}`, script)
		spec := "  schedule: " + fmt.Sprintf("%q", i.cron) + "\n"
		template := "  jobTemplate: {spec: {backoffLimit: 0, " + pod + "}}\n"
		api := "batch/v1"
		if i.kind == timetable {
			api = "batch.carillon.dev/v1alpha1"
			spec = fmt.Sprintf("  schedules: [{name: main, cron: %q}]\n", i.cron)
			template = "  template: {spec: {backoffLimit: 0, " + pod + "}}\n"
		}
		if i.zone != "" {
			spec += "  timeZone: " + i.zone + "\n"
		}
		if i.spec != "" {
			spec += "  " + i.spec + "\n"
		}
		fmt.Fprintf(&b, "apiVersion: %s\nkind: %s\nmetadata: {name: %s, namespace: %s}\nspec:\n%s%s---\n", api, i.kind, i.name, i.namespace, spec, template)
	}
	return b.String()
}

// outputs are what programs that fail write, colours included.
var outputs = []string{
	"connecting to db-3.internal:5432\n\x1b[33mwarning:\x1b[0m slow answer, 2.3 s\n\x1b[31merror:\x1b[0m connection refused after 5 tries\n",
	"reading 48,210 rows\nTraceback (most recent call last):\n  File \"/app/sync.py\", line 214, in <module>\n    main()\nKeyError: 'sku'\n",
	"copying /var/lib/shop to s3://backup/shop\n\x1b[1mfatal:\x1b[0m no space left on device\n",
}

// remember writes two months of history until now into the journal in dir, for the objects with these UIDs.
func remember(t *testing.T, dir string, uids map[string]types.UID, now time.Time) {
	t.Helper()
	j, err := journal.Open(dir, journal.Options{KeepLogs: -1})
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(14, 11))
	var runs []run.Run
	var omissions []run.Omission
	for _, i := range world {
		if i.never {
			continue
		}
		owned, missed := history(t, &i, uids[i.namespace+"/"+i.name], now, random)
		runs, omissions = append(runs, owned...), append(omissions, missed...)
	}
	if err := j.Record(t.Context(), runs, omissions); err != nil {
		t.Fatal(err)
	}
	for i := range runs {
		r := &runs[i]
		if now.Sub(r.Ended) > 20*24*time.Hour {
			continue
		}
		text := "working\ndone\n"
		a := run.Attempt{ContainerID: "c-" + string(r.UID), RunUID: r.UID, Namespace: r.Namespace, Pod: r.Name + "-x7k2p", PodUID: "p-" + r.UID, Container: "main", Role: run.Main, Mains: 1,
			Started: r.Started, Ended: r.Ended, Reason: "Completed", CPU: r.CPU, MemoryPeak: r.MemoryPeak}
		if r.Outcome == run.Failed {
			a.ExitCode, a.Reason, text = *r.ExitCode, "Error", outputs[i%len(outputs)]
		}
		var log strings.Builder
		for line := range strings.Lines(text) {
			fmt.Fprintf(&log, "%s stdout F %s", r.Started.Add(time.Second).Format(time.RFC3339Nano), line)
		}
		a.OutputBytes = int64(len(text))
		if err := j.RecordAttempt(t.Context(), a, strings.NewReader(log.String())); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

// outages are the times that no controller saw, by namespace/name.
var outages = map[string][]time.Time{}

// history is what became of the times of a schedule in the last two months.
func history(t *testing.T, i *inhabitant, uid types.UID, now time.Time, random *rand.Rand) (runs []run.Run, omissions []run.Omission) {
	t.Helper()
	zone, err := time.LoadLocation(i.zone)
	if err != nil {
		t.Fatal(err)
	}
	s, err := schedule.Parse(i.cron, zone)
	if err != nil {
		t.Fatal(err)
	}
	owner := run.Owner{APIVersion: "batch/v1", Kind: i.kind, Name: i.name, UID: uid}
	if i.kind == timetable {
		owner.APIVersion = "batch.carillon.dev/v1alpha1"
	}
	span := 60 * 24 * time.Hour
	if strings.HasPrefix(i.cron, "*/") {
		span = 14 * 24 * time.Hour
	}
	var times []time.Time
	for at := s.Next(now.Add(-span)); at.Before(now.Add(-time.Minute)); at = s.Next(at) {
		times = append(times, at.UTC())
	}
	for n, at := range times {
		if random.IntN(70) == 0 && n < len(times)-1 {
			outages[i.namespace+"/"+i.name] = append(outages[i.namespace+"/"+i.name], at)
			omissions = append(omissions, run.Omission{Namespace: i.namespace, Owner: owner, ScheduledTime: at, Count: 1, Missed: true, Reason: "Outage",
				Message: run.OmissionText("Outage"), Seen: at.Add(time.Hour)})
			continue
		}
		late := time.Duration(random.IntN(3)+1) * time.Second
		if random.IntN(40) == 0 {
			late = time.Duration(random.IntN(20)+1) * time.Minute
		}
		took := time.Duration(float64(i.usually) * (0.7 + 0.4*random.Float64() + 0.3*float64(n)/float64(len(times))))
		name := fmt.Sprintf("%s-%d", i.name, at.Unix()/60)
		r := run.Run{
			UID: types.UID(fmt.Sprintf("%s-%d", uid, at.Unix())), APIVersion: "batch/v1", Kind: "Job", Namespace: i.namespace, Name: name, Owner: owner, Trigger: run.Schedule, Retry: 1,
			ScheduledTime: at, Created: at.Add(late), Started: at.Add(late), Outcome: run.Succeeded, Completions: 1, PodsSucceeded: 1, Attempts: 1, ExitCode: new(int32(0)),
			CPU: took / 3, MemoryPeak: int64(60+random.IntN(200)) << 20, OutputBytes: int64(2000 + random.IntN(90000)),
		}
		if i.failing > 0 && random.IntN(i.failing) == 0 || n >= len(times)-i.broken {
			r.Outcome, r.Reason, r.Message = run.Failed, "BackoffLimitExceeded", "Job has reached the specified backoff limit"
			r.ExitCode, r.PodsFailed, r.PodsSucceeded = new(int32(1+random.IntN(3))), 1, 0
			took /= 4
		}
		r.Ended = r.Started.Add(took)
		if r.Ended.After(now) {
			continue
		}
		runs = append(runs, r)
	}
	slices.SortFunc(runs, func(a, b run.Run) int { return a.Ended.Compare(b.Ended) })
	return runs, omissions
}
