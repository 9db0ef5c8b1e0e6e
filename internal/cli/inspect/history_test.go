// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/client/cluster"
	"github.com/carillon-dev/carillon/internal/client/exitcode"
	"github.com/carillon-dev/carillon/internal/client/lookup"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// kept is a source that answers from memory, by the rules of an apiSource.
type kept struct {
	lookup.Source
	runs      []run.Run
	omissions []run.Omission
	attempts  []run.Attempt
	origin    string
}

func (k *kept) Runs(_ context.Context, q journal.Query) ([]run.Run, error) {
	var found []run.Run
	runs := slices.Clone(k.runs)
	slices.SortFunc(runs, lookup.NewestFirst)
	for i := range runs {
		if lookup.Chooses(&q, &runs[i]) && (q.Limit == 0 || len(found) < q.Limit) {
			found = append(found, runs[i])
		}
	}
	return found, nil
}

func (k *kept) Omissions(_ context.Context, q journal.Query) ([]run.Omission, error) {
	var found []run.Omission
	for i := range k.omissions {
		if lookup.Omits(&q, &k.omissions[i]) {
			found = append(found, k.omissions[i])
		}
	}
	return found, nil
}

func (k *kept) Attempts(context.Context, *run.Run) ([]run.Attempt, error) { return k.attempts, nil }
func (k *kept) Origin(context.Context) string                             { return k.origin }
func (k *kept) Close() error                                              { return nil }

// historyNow is when the tests ask: Monday, 2 November 2026, at noon in Berlin.
var historyNow = time.Date(2026, 11, 2, 11, 0, 0, 0, time.UTC)

// october is what a journal remembers of a backup at two o'clock every night in Berlin since 1 September, which takes
// longer and longer, of a report that was deleted, and of Jobs.
func october(t *testing.T) *kept {
	t.Helper()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	k := &kept{origin: "the journal of the Carillon on /var/lib/carillon, since 2026-09-01"}
	backup := run.Owner{APIVersion: "batch/v1", Kind: "CronJob", Name: "backup", UID: "b2"}
	earlier := backup
	earlier.UID = "b1"
	for day := range 63 {
		due := time.Date(2026, 9, 1+day, 2, 0, 0, 0, berlin).UTC()
		r := run.Run{
			UID: types.UID(fmt.Sprintf("run-%02d", day)), APIVersion: "batch/v1", Kind: "Job", Namespace: "default", Name: fmt.Sprintf("backup-%d", due.Unix()/60),
			Owner: backup, Trigger: run.Schedule, Retry: 1, ScheduledTime: due, Created: due.Add(time.Second), Started: due.Add(time.Second),
			Outcome: run.Succeeded, Completions: 1, PodsSucceeded: 1, Attempts: 1, ExitCode: new(int32(0)),
			CPU: time.Duration(20+day) * time.Second, MemoryPeak: int64(90+day%7) << 20, OutputBytes: int64(3000 + 17*day),
		}
		r.Ended = r.Started.Add(180*time.Second + time.Duration(day)*1500*time.Millisecond + time.Duration(day*day%11)*time.Second).Truncate(time.Second)
		switch day {
		case 10:
			r.Owner = earlier
		case 44:
			continue // missed
		case 50:
			r.Outcome, r.Reason, r.Message = run.Failed, "BackoffLimitExceeded", "Job has reached the specified backoff limit"
			r.Attempts, r.ExitCode, r.PodsFailed, r.PodsSucceeded = 4, new(int32(3)), 4, 0
		case 55:
			r.Created = due.Add(12 * time.Minute)
			r.Started = r.Created
			r.Ended = r.Started.Add(4 * time.Minute)
			r.Trigger = run.CatchUp
		case 58:
			r.Outcome, r.Reason, r.Message = run.Failed, "DeadlineExceeded", "Job was active longer than specified deadline"
			r.PodsSucceeded, r.ExitCode = 0, new(int32(137))
		}
		if day < 10 {
			r.Owner = earlier
		}
		k.runs = append(k.runs, r)
	}
	k.runs = append(k.runs,
		run.Run{UID: "hand", APIVersion: "batch/v1", Kind: "Job", Namespace: "default", Name: "backup-now", Owner: backup, Trigger: run.Manual,
			Created: historyNow.Add(-150 * time.Second), Started: historyNow.Add(-150 * time.Second), Outcome: run.Active, PodsRunning: 1},
		run.Run{UID: "i1", APIVersion: "batch/v1", Kind: "Job", Namespace: "default", Name: "import", Created: historyNow.Add(-2 * time.Hour),
			Started: historyNow.Add(-2 * time.Hour), Ended: historyNow.Add(-time.Hour), Outcome: run.Failed, Reason: "BackoffLimitExceeded", Attempts: 2,
			ExitCode: new(int32(137)), MemoryPeak: 512 << 20, CPU: 55 * time.Minute, OutputBytes: 12 << 20},
		run.Run{UID: "o1", APIVersion: "batch/v1", Kind: "Job", Namespace: "sales", Name: "report-1", ScheduledTime: historyNow.Add(-30 * time.Hour),
			Owner:   run.Owner{APIVersion: "batch.carillon.dev/v1alpha1", Kind: "Timetable", Name: "report", UID: "t1"},
			Created: historyNow.Add(-30 * time.Hour), Started: historyNow.Add(-30 * time.Hour), Ended: historyNow.Add(-29 * time.Hour), Outcome: run.Cancelled, Reason: "Deleted"},
	)
	k.omissions = []run.Omission{
		{Namespace: "default", Owner: backup, ScheduledTime: time.Date(2026, 10, 15, 0, 0, 0, 0, time.UTC), Count: 1, Missed: true, Reason: "Outage",
			Message: run.OmissionText("Outage"), Seen: historyNow},
		{Namespace: "sales", Owner: run.Owner{APIVersion: "batch.carillon.dev/v1alpha1", Kind: "Timetable", Name: "report", UID: "t1"},
			ScheduledTime: time.Date(2026, 10, 20, 0, 0, 0, 0, time.UTC), Until: time.Date(2026, 10, 25, 0, 0, 0, 0, time.UTC), Count: 6, Reason: "Suspended",
			Message: run.OmissionText("Suspended"), Seen: historyNow},
	}
	k.attempts = []run.Attempt{
		{ContainerID: "c1", RunUID: "i1", Namespace: "default", Pod: "import-x7k2p", Container: "main", Started: historyNow.Add(-2 * time.Hour),
			Ended: historyNow.Add(-90 * time.Minute), ExitCode: 1, Reason: "Error", CPU: 20 * time.Minute, MemoryPeak: 300 << 20, OutputBytes: 7 << 20},
		{ContainerID: "c2", RunUID: "i1", Namespace: "default", Pod: "import-9ttz4", Container: "main", Started: historyNow.Add(-90 * time.Minute),
			Ended: historyNow.Add(-time.Hour), ExitCode: 137, Signal: 9, Reason: "OOMKilled", CPU: 35 * time.Minute, MemoryPeak: 512 << 20, OutputBytes: 5 << 20},
	}
	return k
}

// ask runs the command over a source without an API server.
func askHistory(t *testing.T, s lookup.Source, width int, args ...string) (out string, err error) {
	t.Helper()
	var b bytes.Buffer
	h := &historyCommand{streams: Streams{Out: &b, Err: &b}, clock: func() time.Time { return historyNow }, width: width}
	h.open = func(context.Context) (lookup.Source, *cluster.Server, error) { return s, nil, nil }
	cmd := h.command()
	cmd.SetArgs(args)
	cmd.SetOut(&b)
	cmd.SetErr(&b)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err = cmd.ExecuteContext(t.Context())
	return b.String(), err
}

func TestHistoryScreens(t *testing.T) {
	for name, args := range map[string][]string{
		"month":     {"cronjob/backup", "--month", "last", "--zone", "Europe/Berlin"},
		"newest":    {"cj/backup", "--zone", "Europe/Berlin"},
		"failed":    {"cronjob/backup", "--failed"},
		"recreated": {"cronjob/backup", "--since", "2026-09-08", "--until", "2026-09-16", "--zone", "Europe/Berlin"},
		"job":       {"job/import"},
		"omissions": {"tt/report", "-n", "sales"},
		"nothing":   {"cronjob/backup", "--month", "2026-03"},
		"overview":  {},
		"all":       {"-A", "--since", "2026-10-18"},
		"wide":      {"cronjob/backup", "--last", "6", "-o", "wide"},
	} {
		for _, width := range []int{80, 120} {
			t.Run(fmt.Sprintf("%s at %d", name, width), func(t *testing.T) {
				got, err := askHistory(t, october(t), width, args...)
				if err != nil {
					t.Fatal(err)
				}
				for line := range strings.Lines(got) {
					if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > width && name != "wide" {
						t.Errorf("a line of %d columns: %s", n, line)
					}
				}
				golden(t, fmt.Sprintf("history/%s-%d.txt", name, width), "$ carillon history "+strings.Join(args, " ")+"\n"+got)
			})
		}
	}
}

func TestHistoryRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		says string
	}{
		"a bare name":             {[]string{"backup"}, `"backup" names no object: write cronjob/NAME`},
		"two objects":             {[]string{"cj/a", "cj/b"}, "name one object, or none for all"},
		"one that is unknown":     {[]string{"cj/nothing"}, "there is no cronjob/nothing among what is remembered in namespace default"},
		"a month and more":        {[]string{"cj/backup", "--month", "last", "--since", "3d"}, "leave out --since and --until"},
		"no month":                {[]string{"cj/backup", "--month", "soon"}, `--month: "soon" is no month: write 2026-10`},
		"no time":                 {[]string{"cj/backup", "--since", "noon"}, `--since: "noon" is no time: write 30d`},
		"an end before its begin": {[]string{"cj/backup", "--since", "3d", "--until", "5d"}, "--since 3d is not before --until 5d"},
		"a negative number":       {[]string{"cj/backup", "--last", "-1"}, "--last: -1 is no number of runs"},
		"no outcome":              {[]string{"cj/backup", "--outcome", "good"}, `--outcome: "good" is none of succeeded, failed`},
		"failed twice":            {[]string{"cj/backup", "--outcome", "failed", "--failed"}, "leave one of them out"},
		"no zone":                 {[]string{"cj/backup", "--zone", "Mars/Olympus"}, "--zone Mars/Olympus: it is not in the time zone database"},
		"the zone of the machine": {[]string{"cj/backup", "--zone", "Local"}, "it is not in the time zone database"},
		"all namespaces of one":   {[]string{"cj/backup", "-A"}, "names one object; leave out --all-namespaces"},
		"labels of one":           {[]string{"cj/backup", "-l", "a=b"}, "names one object; leave out"},
		"labels that are none":    {[]string{"-l", "a=,,b"}, "-l: "},
		"labels without a server": {[]string{"-l", "a=b"}, "labels are those of objects"},
		"the last of everything":  {[]string{"--last", "3"}, "--last asks about one object"},
		"another format":          {[]string{"cj/backup", "-o", "csv"}, "it is text, wide or json"},
		"a zone for an overview":  {[]string{"--zone", "x"}, "--zone x: it is not in the time zone database"},
		"a time for an overview":  {[]string{"--until", "never"}, `--until: "never" is no time`},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := askHistory(t, october(t), 80, test.args...)
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Fatalf("it says %v\n%s", err, out)
			}
			if e, ok := errors.AsType[*exitcode.Error](err); name != "another format" && (!ok || e.Code != exitcode.Usage) {
				t.Errorf("exit code of %v", err)
			}
		})
	}
}

// Names and messages come from others: none of them reaches the terminal as an order.
func TestHistoryOfHostileNames(t *testing.T) {
	evil := "a\x1b[2J\u202eb\nsucceeded"
	k := &kept{origin: "here " + evil, runs: []run.Run{{
		UID: "1", Kind: "Job", APIVersion: "batch/v1", Namespace: "default", Name: "x", Created: historyNow.Add(-time.Hour), Ended: historyNow, Outcome: run.Failed, Reason: evil, Message: evil,
		Owner: run.Owner{Kind: "CronJob", Name: "x"},
	}, {UID: "2", Kind: "Job" + evil, APIVersion: "batch/v1", Namespace: evil, Name: evil, Created: historyNow, Outcome: run.Active}},
		omissions: []run.Omission{{Namespace: "default", Owner: run.Owner{Kind: "CronJob", Name: "x"}, ScheduledTime: historyNow, Count: 1, Message: evil}},
		attempts:  []run.Attempt{{Pod: evil, Container: evil, Reason: evil, ExitCode: 1, Ended: historyNow}}}
	for _, args := range [][]string{{"cronjob/x"}, {"-A"}, {"job/x"}, {"cronjob/x", "-o", "wide"}, {"cronjob/x", "-o", "json"}} {
		out, err := askHistory(t, k, 80, args...)
		if err != nil {
			t.Fatal(err)
		}
		if args[len(args)-1] == "json" {
			var d map[string]any
			if err := json.Unmarshal([]byte(out), &d); err != nil {
				t.Error(err)
			}
		} else if strings.ContainsAny(out, "\x1b\u202e") || strings.Contains(out, "\nsucceeded") {
			t.Errorf("%v: %q", args, out)
		}
	}
}

func TestHistoryDocument(t *testing.T) {
	out, err := askHistory(t, october(t), 80, "cronjob/backup", "--month", "2026-10", "--zone", "Europe/Berlin", "-o", "json")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "history/month.json", out)
	var d historyDocument
	if err := json.Unmarshal([]byte(out), &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Runs) != 30 || len(d.Omissions) != 1 || d.Summary.Failed != 2 || d.Summary.Durations == nil || d.Summary.Trend == nil || d.Attempts == nil {
		t.Errorf("%d runs, %d omissions, %+v", len(d.Runs), len(d.Omissions), d.Summary)
	}
	if out, err = askHistory(t, october(t), 80, "-A", "-o", "json"); err != nil {
		t.Fatal(err)
	}
	var all overviewDocument
	if err := json.Unmarshal([]byte(out), &all); err != nil || len(all.Objects) != 3 || all.Kind != "HistoryOverview" {
		t.Errorf("%v: %+v", err, all)
	}
}

// A terminal shows no more objects than it has lines.
func TestHistoryOverviewOnAScreen(t *testing.T) {
	k := &kept{}
	for n := range 40 {
		k.runs = append(k.runs, run.Run{UID: types.UID(fmt.Sprint(n)), APIVersion: "batch/v1", Kind: "Job", Namespace: "default", Name: fmt.Sprint("run-", n),
			Owner:   run.Owner{APIVersion: "batch/v1", Kind: "CronJob", Name: fmt.Sprint("object-", n), UID: types.UID(fmt.Sprint("o", n))},
			Created: historyNow.Add(-time.Hour), Ended: historyNow, Outcome: run.Succeeded})
	}
	for name, test := range map[string]struct {
		rows, objects int
		args          []string
		says          string
	}{
		"24 lines":      {24, 16, nil, "… and 24 more (-o wide lists all)."},
		"very few":      {3, 5, nil, "… and 35 more"},
		"room for all":  {60, 40, nil, ""},
		"no terminal":   {0, 40, nil, ""},
		"all by a flag": {24, 40, []string{"-o", "wide"}, ""},
	} {
		var out bytes.Buffer
		h := &historyCommand{streams: Streams{Out: &out, Err: &out}, clock: func() time.Time { return historyNow }, width: 80, rows: test.rows}
		h.open = func(context.Context) (lookup.Source, *cluster.Server, error) { return k, nil, nil }
		cmd := h.command()
		cmd.SetArgs(test.args)
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(out.String(), "cronjob/object-"); got != test.objects || !strings.Contains(out.String(), test.says) || strings.Contains(out.String(), "more (") != (test.says != "") {
			t.Errorf("%s: %d objects: %s", name, got, &out)
		}
		if lines := strings.Count(out.String(), "\n"); test.rows > 20 && test.says != "" && lines > test.rows {
			t.Errorf("%s: %d lines: %s", name, lines, &out)
		}
	}
}

// A year of runs every five minutes is summed up at once.
func BenchmarkHistory(b *testing.B) {
	k := &kept{}
	owner := run.Owner{APIVersion: "batch/v1", Kind: "CronJob", Name: "tick", UID: "1"}
	for n := range 100_000 {
		due := historyNow.Add(-time.Duration(n) * 5 * time.Minute)
		k.runs = append(k.runs, run.Run{UID: types.UID(fmt.Sprint(n)), APIVersion: "batch/v1", Kind: "Job", Namespace: "default", Name: fmt.Sprint("tick-", n), Owner: owner,
			ScheduledTime: due, Created: due, Started: due, Ended: due.Add(time.Duration(30+n%17) * time.Second), Outcome: run.Succeeded})
	}
	for b.Loop() {
		var out bytes.Buffer
		h := &historyCommand{streams: Streams{Out: &out}, clock: func() time.Time { return historyNow }, width: 80}
		h.open = func(context.Context) (lookup.Source, *cluster.Server, error) { return k, nil, nil }
		if err := h.run(b.Context(), []string{"cronjob/tick"}); err != nil {
			b.Fatal(err)
		}
	}
}
