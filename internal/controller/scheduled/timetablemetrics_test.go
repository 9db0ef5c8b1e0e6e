// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/kind/timetable"
)

// counted are the counters of Timetables that are not 0, by their label values.
func counted(t *testing.T, name string) map[string]int {
	t.Helper()
	n := map[string]int{}
	for labels, m := range read(t, name) {
		if v := int(m.GetCounter().GetValue()); v != 0 {
			n[labels] = v
		}
	}
	return n
}

// since is what has been added.
func since(before, after map[string]int) map[string]int {
	added := map[string]int{}
	for labels, n := range after {
		if n != before[labels] {
			added[labels] = n - before[labels]
		}
	}
	return added
}

// Each scheduled time is counted by its result, and each run by what made it, once.
func TestTimetableTimesAreCounted(t *testing.T) {
	const times, runs = "carillon_timetable_times_total", "carillon_timetable_runs_total"
	for name, c := range map[string]struct {
		spec func(*v1alpha1.TimetableSpec)
		run  func(*timetabled)
		// times are by reason and result, runs by result and trigger: label names are sorted.
		times, runs map[string]int
	}{
		"a success and a failure": {
			run: func(w *timetabled) {
				w.next(1)
				w.finish(batchv1.JobComplete)
				w.next(1)
				w.finish(batchv1.JobFailed)
				w.next(1)
			},
			times: map[string]int{"/Succeeded": 1, "RunFailed/Failed": 1},
			runs:  map[string]int{"Succeeded/Schedule": 1, "Failed/Schedule": 1},
		},
		"TT-055: a busy run supersedes what waits": {
			run:   func(w *timetabled) { w.next(1); w.next(1); w.next(1) },
			times: map[string]int{"Superseded/Skipped": 1},
			runs:  map[string]int{},
		},
		"an outage, made up for": {
			run: func(w *timetabled) {
				w.next(5)
				w.finish(batchv1.JobComplete)
				w.sync()
			},
			times: map[string]int{"Outage/Missed": 4, "/Succeeded": 1},
			runs:  map[string]int{"Succeeded/Schedule": 1},
		},
		"a suspension": {
			spec: func(spec *v1alpha1.TimetableSpec) { spec.Suspend = true },
			run: func(w *timetabled) {
				w.next(3)
				w.edit(func(spec *v1alpha1.TimetableSpec) { spec.Suspend = false })
				w.sync()
			},
			times: map[string]int{"Suspended/Skipped": 3},
			runs:  map[string]int{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			serveTimetable(t, c.spec, func(w *timetabled) {
				timesBefore, runsBefore := counted(t, times), counted(t, runs)
				w.sync()
				c.run(w)
				w.sync()
				if diff := cmp.Diff(c.times, since(timesBefore, counted(t, times))); diff != "" {
					t.Errorf("times (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(c.runs, since(runsBefore, counted(t, runs))); diff != "" {
					t.Errorf("runs (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TG5: whatever becomes of status writes and their answers, the counters and the counts of the status tell the same.
func TestTimetableTimesAreCountedOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		steps := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) func(*timetabled) {
			answer := rapid.SampledFrom([]writeAnswer{asAsked, asAsked, notWritten, writtenUnanswered, refusedAsStale}).Draw(rt, "answer")
			minutes := rapid.IntRange(0, 3).Draw(rt, "minutes")
			end := rapid.SampledFrom([]batchv1.JobConditionType{"", batchv1.JobComplete, batchv1.JobFailed}).Draw(rt, "end")
			return func(w *timetabled) {
				if end != "" {
					w.finish(end)
				}
				w.answer = answer
				w.next(minutes)
			}
		}), 1, 12).Draw(rt, "steps")
		var problem string
		serveTimetable(t, nil, func(w *timetabled) {
			before := counted(t, "carillon_timetable_times_total")
			runsBefore := counted(t, "carillon_timetable_runs_total")
			w.sync()
			for _, step := range steps {
				step(w)
			}
			w.answer = asAsked
			w.sync()
			w.sync()
			byResult, runs := map[string]int{}, 0
			for labels, n := range since(before, counted(t, "carillon_timetable_times_total")) {
				_, result, _ := strings.Cut(labels, "/")
				byResult[result] += n
			}
			for _, n := range since(runsBefore, counted(t, "carillon_timetable_runs_total")) {
				runs += n
			}
			c := w.stored().Status.Counts
			want := map[string]int{}
			for result, n := range map[string]int64{"Succeeded": c.Succeeded, "Failed": c.Failed, "Cancelled": c.Cancelled, "Skipped": c.Skipped, "Missed": c.Missed} {
				if n != 0 {
					want[result] = int(n)
				}
			}
			if diff := cmp.Diff(want, byResult); diff != "" {
				problem = fmt.Sprintf("counts of the status (-) and metric (+):\n%s", diff)
			}
			if ended := int(c.Succeeded + c.Failed + c.Cancelled); ended != runs {
				problem += fmt.Sprintf("%d runs have ended, %d are counted", ended, runs)
			}
		})
		if problem != "" {
			rt.Fatal(problem)
		}
	})
}

// Lateness counts from the planned start, by what makes the run, and not for retries.
func TestTimetableLateness(t *testing.T) {
	const name = "carillon_timetable_start_lateness_seconds"
	samples := func(trigger string) uint64 { return read(t, name)[trigger].GetHistogram().GetSampleCount() }
	sum := func(trigger string) float64 { return read(t, name)[trigger].GetHistogram().GetSampleSum() }
	jitter := v1alpha1.Duration("30s")
	serveTimetable(t, func(spec *v1alpha1.TimetableSpec) {
		spec.Jitter = &jitter
		spec.Retry = &v1alpha1.Retry{Limit: 1, Delay: "1s"}
	}, func(w *timetabled) {
		n, late := samples("Schedule"), sum("Schedule")
		w.sync()
		time.Sleep(time.Until(w.stored().Status.Next[0].StartsAt.Time) + 2*time.Second)
		w.sync()
		if n, late = samples("Schedule")-n, sum("Schedule")-late; n != 1 || late < 1.99 || late > 2.01 {
			t.Errorf("%d samples, sum %v; want one of 2 s", n, late)
		}
		n = samples("Schedule") + samples("CatchUp")
		w.finish(batchv1.JobFailed)
		w.sync()
		time.Sleep(2 * time.Second)
		w.sync()
		if got := samples("Schedule") + samples("CatchUp") - n; got != 0 || w.stored().Status.Active[0].Attempt != 2 {
			t.Errorf("%d samples of a retry; active %+v", got, w.stored().Status.Active)
		}
	})
}

// gauges are the values of the gauges over statuses that are not 0, and how many series there are.
func gauges(t *testing.T) (values map[string]int, series int) {
	values = map[string]int{}
	for _, name := range []string{"active", "waiting", "conditions"} {
		for labels, m := range read(t, "carillon_timetable_"+name) {
			series++
			if v := int(m.GetGauge().GetValue()); v != 0 {
				values[name+" "+labels] = v
			}
		}
	}
	return values, series
}

// The gauges show what the cache holds: right after a restart, before any sync, and without what is deleted. A process
// that does not lead shows none.
func TestTimetableGauges(t *testing.T) {
	serveTimetable(t, nil, func(w *timetabled) {
		w.sync()
		w.next(1)
		w.next(1)
		if _, series := gauges(t); series != 0 {
			t.Errorf("%d series of a process that does not lead", series)
		}
		here := []client.Object{w.stored()}
		fresh, err := newReconciler(timetable.Kind{}, w.server.Scheme())
		if err != nil {
			t.Fatal(err)
		}
		stop := timetableStatuses.serve(fresh, func() []client.Object { return here })
		defer stop()
		want := map[string]int{"active ": 1, "waiting Overlap": 1, "conditions True/Ready": 1, "conditions Unknown/Healthy": 1,
			"conditions False/Late": 1, "conditions False/Paused": 1, "conditions False/Completed": 1}
		got, series := gauges(t)
		if diff := cmp.Diff(want, got); diff != "" || series != 1+6+15 {
			t.Errorf("%d series (-want +got):\n%s", series, diff)
		}
		theirs := w.stored()
		theirs.Status.Conditions = append(theirs.Status.Conditions, metav1.Condition{Type: "Theirs", Status: "True"}, metav1.Condition{Type: "Ready", Status: "Perhaps"})
		theirs.Status.Waiting = append(theirs.Status.Waiting, v1alpha1.WaitingTime{Reason: "Theirs"})
		here = []client.Object{theirs}
		if got, now := gauges(t); !cmp.Equal(want, got) || now != series {
			t.Errorf("words of a user became %d series: %v", now-series, got)
		}
		here = nil
		if got, now := gauges(t); len(got) != 0 || now != series {
			t.Errorf("after the deletion: %v, %d series", got, now)
		}
		stop()
		if _, series := gauges(t); series != 0 {
			t.Errorf("%d series after the end", series)
		}
	})
}

// An expression that cannot be evaluated is counted once for a generation, a failed sync each time.
func TestTimetableErrorsAreCounted(t *testing.T) {
	value := func(name string) int { return int(read(t, name)[""].GetCounter().GetValue()) }
	serveTimetable(t, nil, func(w *timetabled) {
		failed, others := value("carillon_timetable_sync_failures_total"), len(read(t, "carillon_cronjob_sync_failures_total"))
		w.sync()
		for range 2 {
			time.Sleep(time.Minute)
			w.answer = notWritten
			w.sync()
		}
		if n := value("carillon_timetable_sync_failures_total") - failed; n != 2 {
			t.Errorf("%d failures, want 2", n)
		}
		if n := len(read(t, "carillon_cronjob_sync_failures_total")); n != others {
			t.Error("a Timetable is counted among the CronJobs")
		}

		const errors = "carillon_timetable_outcome_errors_total"
		before := value(errors)
		s := w.gather(tickKey)
		for range 3 {
			w.publish(s, []cron.Event{{Type: "Warning", Reason: adapter.OutcomeErrorReason, Message: "no such key: phase", DedupKey: "outcome/1"}})
		}
		if n := value(errors) - before; n != 1 {
			t.Errorf("%d generations with an error of outcome, want 1", n)
		}
	})
}

// A template is checked once, and what that told is counted.
func TestTimetableTemplateChecksAreCounted(t *testing.T) {
	const name = "carillon_timetable_template_checks_total"
	serveTimetable(t, nil, func(w *timetabled) {
		before := counted(t, name)
		w.sync()
		w.next(1)
		w.edit(func(spec *v1alpha1.TimetableSpec) {
			spec.Template.Metadata.Labels = map[string]v1alpha1.LabelValue{"tier": "batch"}
		})
		w.sync()
		w.next(1)
		if diff := cmp.Diff(map[string]int{"Accepted": 2}, since(before, counted(t, name))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// The names and the help are as Prometheus wants them, and no series has labels that objects make up.
func TestTimetableMetricNames(t *testing.T) {
	serveTimetable(t, nil, func(w *timetabled) {
		defer timetableStatuses.serve(w.reconciler, func() []client.Object { return []client.Object{w.stored()} })()
		w.sync()
		families, err := metrics.Registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		var ours []*dto.MetricFamily
		for _, f := range families {
			if strings.HasPrefix(f.GetName(), "carillon_timetable_") {
				ours = append(ours, f)
			}
		}
		problems, err := promlint.NewWithMetricFamilies(ours).Lint()
		if err != nil || len(problems) > 0 || len(ours) < 9 {
			t.Errorf("%d metrics, %v, %v", len(ours), problems, err)
		}
	})
}

// The contract (section 8) and the pages for operators name the metrics that there are. Those of notifications belong to
// its second part.
func TestTimetableMetricsOfThePages(t *testing.T) {
	serveTimetable(t, nil, func(w *timetabled) {
		defer timetableStatuses.serve(w.reconciler, func() []client.Object { return nil })()
		families, err := metrics.Registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		exist := map[string]bool{}
		for _, f := range families {
			exist[f.GetName()] = true
		}
		for page, pattern := range map[string]string{
			"contract/timetable.md": "(?m)^\\| (`[a-z_]+`(?:, `[a-z_]+`)*) \\| (?:counter|gauge|histogram) \\|",
			"timetable.md":          "carillon_timetable_[a-z_]+",
			"metrics.md":            "carillon_timetable_[a-z_]+",
		} {
			text, err := os.ReadFile("../../../docs/" + page)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, match := range regexp.MustCompile(pattern).FindAllString(string(text), -1) {
				if strings.HasPrefix(match, "carillon_") {
					names = append(names, match)
					continue
				}
				for _, name := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(strings.Join(strings.Split(match, "|")[:2], ""), -1) {
					names = append(names, "carillon_timetable_"+name[1])
				}
			}
			if len(names) == 0 {
				t.Errorf("%s names no metric", page)
			}
			for _, name := range names {
				if name = strings.TrimSuffix(name, "_bucket"); !exist[name] && !strings.HasPrefix(name, "carillon_timetable_notification") && !strings.HasSuffix(name, "_") {
					t.Errorf("%s names %s, which does not exist", page, name)
				}
			}
		}
	})
}
