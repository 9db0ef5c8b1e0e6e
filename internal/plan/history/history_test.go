// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/internal/plan/run"
)

var noon = time.Date(2026, 11, 2, 12, 0, 0, 0, time.UTC)

// night is a run that many days before noon, which took so long.
func night(before int, took time.Duration, changes ...func(*run.Run)) run.Run {
	due := noon.AddDate(0, 0, -before)
	r := run.Run{
		UID: types.UID(fmt.Sprint(before)), Kind: "Job", Namespace: "default", Name: fmt.Sprint("backup-", before), ScheduledTime: due, Created: due, Started: due,
		Ended: due.Add(took), Outcome: run.Succeeded, Owner: run.Owner{APIVersion: "batch/v1", Kind: "CronJob", Name: "backup", UID: "1"},
	}
	for _, change := range changes {
		change(&r)
	}
	return r
}

func failed(reason string, code int32) func(*run.Run) {
	return func(r *run.Run) { r.Outcome, r.Reason, r.ExitCode = run.Failed, reason, &code }
}

func of(uid types.UID) func(*run.Run) { return func(r *run.Run) { r.Owner.UID = uid } }

func TestSummarize(t *testing.T) {
	active := func(r *run.Run) { r.Outcome, r.Ended = run.Active, time.Time{} }
	runs := []run.Run{
		night(0, 0, active),
		night(1, 4*time.Minute, func(r *run.Run) { r.Created = r.Created.Add(3 * time.Minute) }),
		night(2, time.Hour, failed("BackoffLimitExceeded", 3)),
		night(3, time.Minute, failed("BackoffLimitExceeded", 3)),
		night(4, time.Minute, failed("DeadlineExceeded", 0)),
		night(5, 2*time.Minute, func(r *run.Run) { r.Retry, r.Created = 2, r.Created.Add(time.Hour) }),
		night(6, 3*time.Minute, func(r *run.Run) { r.Attempts, r.CPU, r.MemoryPeak, r.OutputBytes = 2, time.Minute, 7, 9 }),
		night(7, time.Minute, func(r *run.Run) { r.Outcome = run.Cancelled }),
		night(8, 0, func(r *run.Run) { r.Outcome, r.Ended = run.Unknown, time.Time{} }),
		night(9, time.Minute, func(r *run.Run) {
			r.Attempts, r.Completions, r.CPU, r.MemoryPeak, r.OutputBytes = 3, 3, time.Minute, 5, 9
		}),
	}
	s := Summarize(runs, []run.Omission{{Count: 3, Missed: true}, {Missed: true}, {Count: 2}}, noon)
	if s.Runs != 10 || s.Succeeded != 4 || s.Failed != 3 || s.Cancelled != 1 || s.Unknown != 1 || s.Active != 1 || s.Missed != 4 || s.Skipped != 2 {
		t.Errorf("counts: %+v", s)
	}
	if rate, ok := s.SuccessRate(); !ok || rate != 4.0/7 {
		t.Errorf("success rate %v", rate)
	}
	if want := (Durations{Runs: 4, Median: 150 * time.Second, Percentile95: 4 * time.Minute, Shortest: time.Minute, Longest: 4 * time.Minute, LongestAt: noon.AddDate(0, 0, -1)}); s.Took != want {
		t.Errorf("durations %+v", s.Took)
	}
	if len(s.Reasons) != 2 || s.Reasons[0].Runs != 2 || *s.Reasons[0].ExitCode != 3 || s.Reasons[1].Reason != "DeadlineExceeded" || s.Reasons[1].ExitCode != nil {
		t.Errorf("reasons %+v", s.Reasons)
	}
	if s.Late != 1 || s.Latest != 3*time.Minute || s.Retries != 1 || s.Restarted != 1 {
		t.Errorf("%d late by %s, %d retries, %d restarted", s.Late, s.Latest, s.Retries, s.Restarted)
	}
	if s.MemoryPeak != 7 || s.CPU != 2*time.Minute || s.OutputBytes != 18 || s.Trend != nil || s.AllEnded {
		t.Errorf("%+v", s)
	}
	if s.Last == nil || s.Last.Name != "backup-1" || !s.From.Equal(noon.AddDate(0, 0, -9)) || !s.Until.Equal(noon) {
		t.Errorf("last %v, from %s until %s", s.Last, s.From, s.Until)
	}
}

// A scheduled time that was tried again is one run, and its last try says what became of it.
func TestSummarizeTries(t *testing.T) {
	try := func(before, n int, took time.Duration, changes ...func(*run.Run)) run.Run {
		return night(before, took, append(changes, func(r *run.Run) {
			r.Owner.Kind, r.Retry, r.CPU, r.Name = "Timetable", n, time.Second, fmt.Sprint(r.Name, "-r", n)
			r.Created = r.Created.Add(time.Duration(n-1) * time.Minute)
		})...)
	}
	fails := failed("BackoffLimitExceeded", 3)
	runs := []run.Run{
		try(1, 2, time.Minute), try(1, 1, time.Hour, fails),
		try(2, 3, 3*time.Minute), try(2, 2, time.Hour, fails), try(2, 1, time.Hour, fails),
		try(3, 1, 2*time.Minute),
		try(4, 2, time.Hour, failed("DeadlineExceeded", 0)), try(4, 1, time.Hour, fails),
	}
	s := Summarize(runs, nil, noon)
	if s.Runs != 4 || s.Tries != 8 || s.Succeeded != 3 || s.Failed != 1 || s.Retries != 3 || s.CPU != 8*time.Second || s.Late != 0 {
		t.Errorf("%+v", s)
	}
	if s.Took.Runs != 3 || s.Took.Longest != 3*time.Minute || len(s.Reasons) != 1 || s.Reasons[0].Reason != "DeadlineExceeded" {
		t.Errorf("took %+v, reasons %+v", s.Took, s.Reasons)
	}
	waits := try(0, 1, time.Minute, fails, func(r *run.Run) { r.Retrying = true })
	if s = Summarize(append(runs, waits), nil, noon); s.Runs != 5 || s.Active != 1 || s.Failed != 1 || s.Last.Retrying || len(s.Reasons) != 1 {
		t.Errorf("with one that is to be tried again: %+v", s)
	}
}

// Where none succeeded, those that failed tell how long it took; nothing at all is no run.
func TestSummarizeWithoutSuccess(t *testing.T) {
	s := Summarize([]run.Run{night(1, time.Minute, failed("x", 1)), night(2, 3*time.Minute, failed("x", 1))}, nil, noon)
	if rate, ok := s.SuccessRate(); !ok || rate != 0 || !s.AllEnded || s.Took.Median != 2*time.Minute {
		t.Errorf("%+v", s)
	}
	s = Summarize(nil, nil, noon)
	if _, ok := s.SuccessRate(); ok || s.Runs != 0 || s.Took.Runs != 0 || s.AllEnded || s.Last != nil || !s.From.IsZero() {
		t.Errorf("%+v", s)
	}
	if b, err := json.Marshal(s.Document()); err != nil || !json.Valid(b) {
		t.Error(err)
	}
}

func TestEntries(t *testing.T) {
	retried := night(3, time.Minute, of("new"), func(r *run.Run) { r.Retry, r.Created = 2, r.Created.Add(time.Hour) })
	h := Of([]run.Run{night(5, time.Minute, of("old")), retried, night(1, time.Minute, of("new")), night(3, time.Minute, of("new")), night(6, time.Minute, of("old"))},
		[]run.Omission{{ScheduledTime: noon.AddDate(0, 0, -2), Owner: run.Owner{Name: "backup"}}, {ScheduledTime: noon.AddDate(0, 0, -4), Owner: run.Owner{APIVersion: "batch/v1", UID: "old"}}}, noon)
	var got []string
	for _, e := range h.Entries {
		text := fmt.Sprint(int(noon.Sub(e.Time()).Hours() / 24))
		if e.Run == nil {
			text += " omitted"
		} else if e.Run.Retry > 1 {
			text += " retry"
		}
		if e.Before {
			text += " before"
		}
		got = append(got, text)
	}
	if want := []string{"1", "2 omitted", "3 retry", "3", "4 omitted before", "5", "6"}; !slices.Equal(got, want) {
		t.Errorf("entries %q, want %q", got, want)
	}
}

func TestOverview(t *testing.T) {
	job := func(name string, before int) run.Run {
		return night(before, time.Minute, func(r *run.Run) { r.Owner, r.Name = run.Owner{}, name })
	}
	elsewhere := night(1, time.Minute, func(r *run.Run) { r.Namespace = "a" })
	lines := Overview([]run.Run{job("older", 3), elsewhere, night(1, time.Minute), night(2, time.Minute), job("newer", 1)},
		[]run.Omission{{Namespace: "default", Owner: run.Owner{Kind: "Timetable", Name: "t"}, Count: 4}}, noon)
	var got []string
	for _, l := range lines {
		got = append(got, fmt.Sprintf("%s %s/%s %d %d", l.Namespace, l.Kind, l.Name, l.Summary.Runs, l.Summary.Skipped))
		if d := l.Document(noon); d.Name != l.Name || (d.Newest == nil) != (l.Newest == nil) {
			t.Errorf("document %+v", d)
		}
	}
	want := []string{"a CronJob/backup 1 0", "default CronJob/backup 2 0", "default Timetable/t 0 4", "default Job/newer 1 0", "default Job/older 1 0"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if lines[1].Newest.Name != "backup-1" {
		t.Errorf("newest %s", lines[1].Newest.Name)
	}
}

// The median has as many below it as above, and no more than 5 of 100 are above the other.
func TestQuantiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		took := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) time.Duration {
			return time.Duration(rapid.Int64Range(0, int64(1000*time.Hour)).Draw(t, "d"))
		}), 1, 300).Draw(t, "durations")
		slices.Sort(took)
		count := func(which func(time.Duration) bool) (n int) {
			for _, d := range took {
				if which(d) {
					n++
				}
			}
			return n
		}
		m := median(took)
		if below, above := count(func(d time.Duration) bool { return d < m }), count(func(d time.Duration) bool { return d > m }); 2*below > len(took) || 2*above > len(took) {
			t.Fatalf("median %s of %v: %d below, %d above", m, took, below, above)
		}
		for _, percent := range []int{1, 50, 95, 100} {
			q := quantile(took, percent)
			within := count(func(d time.Duration) bool { return d <= q })
			short := count(func(d time.Duration) bool { return d < q })
			if 100*within < percent*len(took) || 100*short >= percent*len(took) || !slices.Contains(took, q) {
				t.Fatalf("quantile %d of %v: %s", percent, took, q)
			}
		}
	})
}

// noise is between -1 and 1, and the same for the same number.
func noise(n int) float64 {
	x := math.Sin(float64(n)*12.9898) * 43758.5453
	return 2*(x-math.Floor(x)) - 1
}

func planted(n int, base, perRun, scatter float64) []run.Run {
	var runs []run.Run
	for i := range n {
		s := base + perRun*float64(i) + scatter*noise(i)
		if i%13 == 5 {
			s *= 4 // single ones take far longer
		}
		runs = append(runs, night(n-i, time.Duration(math.Round(s))*time.Second))
	}
	return runs
}

// A trend that was planted is found, as steep as it is; where there is none, or one that nobody would notice, none is.
func TestTrend(t *testing.T) {
	for name, test := range map[string]struct {
		runs   []run.Run
		change float64 // 0: none
	}{
		"longer":                {planted(60, 180, 1.5, 10), 0.5},
		"shorter":               {planted(60, 400, -3, 20), -0.44},
		"twice as long":         {planted(100, 100, 1, 5), 0.99},
		"very many":             {planted(5000, 200, 0.04, 30), 1},
		"as ever":               {planted(60, 180, 0, 30), 0},
		"all the same":          {planted(60, 180, 0, 0), 0},
		"too little to notice":  {planted(60, 600, 0.5, 3), 0},
		"too few":               {planted(11, 100, 20, 0), 0},
		"less than a second":    {planted(60, 2, 0.01, 0), 0},
		"lost in what scatters": {planted(20, 300, 2, 280), 0},
	} {
		t.Run(name, func(t *testing.T) {
			trend := Summarize(test.runs, nil, noon).Trend
			switch {
			case trend == nil && test.change != 0:
				t.Error("no trend was found")
			case trend != nil && test.change == 0:
				t.Errorf("a trend of %+.2f was found: %+v", trend.Change(), trend)
			case trend != nil && math.Abs(trend.Change()-test.change) > 0.08:
				t.Errorf("a trend of %+.2f was found, %+.2f was planted", trend.Change(), test.change)
			}
		})
	}
}

// By chance alone a trend is hardly ever told.
func TestTrendByChance(t *testing.T) {
	told := 0
	for world := range 300 {
		var runs []run.Run
		for i := range 40 {
			runs = append(runs, night(i, time.Duration(300+200*noise(world*1000+i))*time.Second))
		}
		if Summarize(runs, nil, noon).Trend != nil {
			told++
		}
	}
	if told > 9 { // of 300, once in a hundred times
		t.Errorf("%d trends of 300 where there are none", told)
	}
}

// Whatever the runs are, the numbers agree with each other, the order does not matter, and nothing is modified.
func TestSummaryProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		runs := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) run.Run {
			r := night(rapid.IntRange(0, 400).Draw(t, "night"), time.Duration(rapid.IntRange(-5, 100000).Draw(t, "took"))*time.Second)
			r.Outcome = rapid.SampledFrom([]run.Outcome{run.Active, run.Succeeded, run.Failed, run.Cancelled, run.Unknown, ""}).Draw(t, "outcome")
			if rapid.Bool().Draw(t, "no end") {
				r.Ended = time.Time{}
			}
			if rapid.Bool().Draw(t, "by hand") {
				r.ScheduledTime = time.Time{}
			}
			r.Reason = rapid.SampledFrom([]string{"", "A", "B"}).Draw(t, "reason")
			return r
		}), 0, 60).Draw(t, "runs")
		for i := range runs {
			runs[i].Retry = i // which of several tries of a time is the last one
		}
		before := slices.Clone(runs)
		h := Of(runs, nil, noon)
		s := h.Summary
		if s.Runs != len(run.Times(runs)) || s.Tries != len(runs) || s.Succeeded+s.Failed+s.Cancelled+s.Unknown+s.Active != s.Runs || len(h.Entries) != len(runs) {
			t.Fatalf("%d runs: %+v", len(runs), s)
		}
		failures := 0
		for _, r := range s.Reasons {
			failures += r.Runs
		}
		if failures != s.Failed || s.Took.Runs > 0 && (s.Took.Shortest > s.Took.Median || s.Took.Median > s.Took.Percentile95 && s.Took.Runs > 2 || s.Took.Percentile95 > s.Took.Longest) {
			t.Fatalf("%+v", s)
		}
		for i := 1; i < len(h.Entries); i++ {
			if h.Entries[i].Time().After(h.Entries[i-1].Time()) {
				t.Fatal("not newest first")
			}
		}
		for i := range runs {
			if runs[i] != before[i] {
				t.Fatal("a run was modified")
			}
		}
		slices.Reverse(runs)
		if again := Summarize(runs, nil, noon); again.Took != s.Took || again.Failed != s.Failed || (again.Trend == nil) != (s.Trend == nil) {
			t.Fatalf("in another order %+v, not %+v", again, s)
		}
	})
}

func BenchmarkSummarize(b *testing.B) {
	runs := planted(100_000, 100, 0.001, 20)
	for b.Loop() {
		Summarize(runs, nil, noon)
	}
}
