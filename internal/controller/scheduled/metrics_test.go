// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kube/events"
)

// read gives the series of a metric by their label values, joined by "/".
func read(t *testing.T, name string) map[string]*dto.Metric {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	series := map[string]*dto.Metric{}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			var values []string
			for _, l := range m.GetLabel() {
				values = append(values, l.GetValue())
			}
			series[strings.Join(values, "/")] = m
		}
	}
	return series
}

// runsSince is what was added to the runs of a kind since before, as "outcome/reason".
func runsSince(t *testing.T, kind string, before map[string]*dto.Metric) map[string]int {
	t.Helper()
	added := map[string]int{}
	for labels, m := range read(t, "carillon_cronjob_runs_total") {
		if rest, ok := strings.CutPrefix(labels, kind+"/"); ok {
			if n := int(m.GetCounter().GetValue() - before[labels].GetCounter().GetValue()); n != 0 {
				added[strings.TrimSuffix(rest, "/")] = n
			}
		}
	}
	return added
}

// Runs are counted by outcome, for each kind, once per scheduled time: however many syncs look at it, and whether or
// not its events are told again.
func TestRunsAreCountedOnce(t *testing.T) {
	poke := func(a *api, times ...string) {
		for _, at := range times {
			a.until(at)
			if a.recorder != nil { // a recorder that remembers nothing tells everything again
				a.recorder = events.NewRecorder(events.Options{Sink: apiSink{a}, Component: "again", Clock: a.time, Logger: a.log})
			}
			a.put(a.cronJobs["tick"])
		}
	}
	for name, c := range map[string]struct {
		spec func(map[string]any)
		run  func(a *api)
		want map[string]int
	}{
		"on time": {run: func(a *api) { poke(a, "12:10:01", "12:10:02", "12:25:00"); a.until("12:30:00") },
			want: map[string]int{"started": 3}},
		"Forbid holds up two, and the third starts late": {
			spec: func(s map[string]any) { s["concurrencyPolicy"] = "Forbid" },
			run: func(a *api) {
				poke(a, "12:20:00", "12:20:01", "12:30:00", "12:30:01", "12:40:00", "12:40:01")
				a.finish(a.jobsOf("tick")[0], true, "12:44:00")
				poke(a, "12:45:00", "12:46:00")
				a.until("12:47:00")
			},
			want: map[string]int{"started": 2, "skipped/forbidden": 2},
		},
		"creates fail for two times": {
			run: func(a *api) {
				a.refuse = func(map[string]any) error { return full }
				poke(a, "12:10:00", "12:11:00", "12:20:00", "12:21:00")
				a.until("12:29:59")
				a.refuse = nil
				a.until("12:31:00")
			},
			want: map[string]int{"missed/failed": 2, "started": 1},
		},
		"an outage, beyond the deadline in part": {
			spec: func(s map[string]any) { s["startingDeadlineSeconds"] = int64(900) },
			run: func(a *api) {
				a.until("12:10:00")
				a.timers.Cancel(types.NamespacedName{Namespace: "batch", Name: "tick"}) // nobody is there
				a.time.SetTime(hour("13:04:00"))
				poke(a, "13:04:00", "13:04:01")
				a.until("13:05:00")
			},
			want: map[string]int{"started": 2, "missed/deadline": 3, "missed/outage": 1},
		},
		"suspended for three times": {
			run: func(a *api) {
				a.edit("tick", func(_, s map[string]any) { s["suspend"] = true })
				poke(a, "12:10:00", "12:20:00", "12:30:00", "12:34:00")
				a.edit("tick", func(_, s map[string]any) { s["suspend"] = false })
				a.until("12:35:00")
			},
			want: map[string]int{"started": 1, "skipped/suspended": 2},
		},
	} {
		for _, letter := range []string{"K", "V", "T"} {
			t.Run(letter+" "+name, func(t *testing.T) {
				before := read(t, "carillon_cronjob_runs_total")
				a := serve(t, letter)
				a.put(a.cronJob("tick", c.spec))
				c.run(a)
				if diff := cmp.Diff(c.want, runsSince(t, a.info.Name, before)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
	}
}

// A start is measured from its scheduled time: under upstream's name in whole seconds for kind K alone (CJ-014), and
// finely for each kind, with the latest one as a gauge.
func TestLateness(t *testing.T) {
	for _, letter := range []string{"K", "V", "T"} {
		t.Run(letter, func(t *testing.T) {
			const skew, fine = "cronjob_controller_job_creation_skew_duration_seconds", "carillon_cronjob_start_lateness_seconds"
			a := serve(t, letter)
			skewBefore, fineBefore := read(t, skew)[""].GetHistogram(), read(t, fine)[a.info.Name].GetHistogram()
			a.put(a.cronJob("tick", nil))
			a.until("12:04:00")
			a.timers.Cancel(types.NamespacedName{Namespace: "batch", Name: "tick"})
			a.time.SetTime(at("12:10:03.25")) // the machine was busy
			a.put(a.cronJobs["tick"])
			a.until("12:11:00")

			skewed, finely := read(t, skew)[""].GetHistogram(), read(t, fine)[a.info.Name].GetHistogram()
			n, sum := skewed.GetSampleCount()-skewBefore.GetSampleCount(), skewed.GetSampleSum()-skewBefore.GetSampleSum()
			if letter == "K" && (n != 1 || sum != 3) || letter != "K" && n != 0 {
				t.Errorf("CJ-014: %d samples of creation skew, sum %v", n, sum)
			}
			if n, sum := finely.GetSampleCount()-fineBefore.GetSampleCount(), finely.GetSampleSum()-fineBefore.GetSampleSum(); n != 1 || sum < 3.249 || sum > 3.251 {
				t.Errorf("%d samples of lateness, sum %v; want one of 3.25 s", n, sum)
			}
			if len(finely.GetPositiveSpan()) == 0 {
				t.Error("there is no native histogram")
			}
			if b := finely.GetBucket(); len(b) == 0 || b[0].GetUpperBound() > .01 {
				t.Error("the finest bucket is too coarse for a start in milliseconds")
			}
			if v := read(t, "carillon_cronjob_last_start_lateness_seconds")[a.info.Name].GetGauge().GetValue(); v != 3.25 {
				t.Errorf("the latest lateness is %v, want 3.25", v)
			}
			var bounds []float64
			for _, b := range skewed.GetBucket() {
				bounds = append(bounds, b.GetUpperBound())
			}
			if diff := cmp.Diff([]float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512}, bounds, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("buckets of upstream's metric (-want +got):\n%s", diff)
			}
		})
	}
}

// What fails and what waits can be seen, too.
func TestFailuresAndWaitingRecords(t *testing.T) {
	w := newWorld(t, tick().Obj())
	failed := func() float64 {
		return read(t, "carillon_cronjob_sync_failures_total")[w.info.Name].GetCounter().GetValue()
	}
	waits := func() float64 { return read(t, "carillon_cronjob_records_waiting")[w.info.Name].GetGauge().GetValue() }
	before, idle := failed(), waits()
	w.fail("create", fault{err: errors.New("connection refused")}, fault{err: broken})
	w.sync("12:10:00")
	w.sync("12:10:01")
	if n := failed() - before; n != 2 {
		t.Errorf("%v failures, want 2", n)
	}
	w.time.SetTime(at("12:10:02"))
	if _, err := w.Reconcile(t.Context(), request(tick().Obj())); err != nil {
		t.Fatal(err)
	}
	if n := waits() - idle; n != 1 {
		t.Errorf("%v records wait, want 1", n)
	}
	w.keepBooks()
	if n := waits() - idle; n != 0 {
		t.Errorf("%v records wait after all are written", n)
	}
	jumps := read(t, "carillon_clock_jumps_total")
	w.jumped(time.Hour)
	w.jumped(-time.Minute)
	for _, direction := range []string{"forward", "backward"} {
		if n := read(t, "carillon_clock_jumps_total")[direction].GetCounter().GetValue() - jumps[direction].GetCounter().GetValue(); n != 1 {
			t.Errorf("%v jumps %s, want 1", n, direction)
		}
	}
}

// Every metric of ours is explained in docs/metrics.md, with its labels and all of their values, and nothing is that
// does not exist.
func TestMetricsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, letter := range []string{"K", "V", "T"} {
		a := serve(t, letter)
		a.put(a.cronJob("tick", nil))
		a.until("12:10:00")
	}
	serveTimetable(t, nil, func(w *timetabled) {
		t.Cleanup(timetableStatuses.serve(w.reconciler, func() []client.Object { return nil }))
		w.next(1)
	})
	k := serve(t, "K")
	k.put(k.cronJob("tick", set("timeZone", "Mars/Olympus")))
	k.once()
	defer k.forget(tickKey)
	for _, reason := range []cron.Misconfiguration{cron.InvalidTimeZone, cron.InvalidSchedule, cron.QuotaExceeded, cron.InvalidTemplate,
		cron.CreateForbidden, cron.NameTaken, cron.TooManyMissed} {
		if !strings.Contains(string(text), "| `"+string(reason)+"` |") {
			t.Errorf("the misconfiguration %s is not explained", reason)
		}
	}
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	exist := []string{}
	for _, f := range families {
		ours := strings.HasPrefix(f.GetName(), "carillon_") || strings.HasPrefix(f.GetName(), "cronjob_controller_")
		if !ours {
			continue
		}
		exist = append(exist, f.GetName())
		row := regexp.MustCompile("(?m)^\\| `" + f.GetName() + "` \\| (\\w+) \\|(.*)$").FindStringSubmatch(string(text))
		if row == nil {
			t.Errorf("%s is not explained", f.GetName())
			continue
		}
		if want := strings.ToLower(f.GetType().String()); row[1] != want {
			t.Errorf("%s is a %s, not a %s", f.GetName(), want, row[1])
		}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if !strings.Contains(row[2], "`"+l.GetName()+"`") {
					t.Errorf("%s: the label %s is not explained", f.GetName(), l.GetName())
				}
				if l.GetName() == "namespace" || l.GetName() == "name" { // what has to be mended is named
					continue
				}
				if l.GetValue() != "" && !strings.Contains(string(text), "`"+l.GetValue()+"`") {
					t.Errorf("%s: the value %s of %s is not explained", f.GetName(), l.GetValue(), l.GetName())
				}
			}
		}
	}
	for _, match := range regexp.MustCompile("(?m)^\\| `((carillon|cronjob_controller)_\\w+)`").FindAllStringSubmatch(string(text), -1) {
		if strings.HasPrefix(match[1], "carillon_job_controller_") || strings.HasPrefix(match[1], "carillon_store_") {
			continue // the Job controller's and the control plane's, which look after them
		}
		if !slices.Contains(exist, match[1]) && !slices.Contains(elsewhere, match[1]) {
			t.Errorf("%s is explained and does not exist: %v", match[1], fmt.Sprint(exist))
		}
	}
}

// elsewhere are metrics of other packages, which show up once they have counted something.
var elsewhere = []string{"carillon_events_dropped_total"}
