// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// aSchedule is a CronJob with that schedule.
func aSchedule(t testing.TB, expression string) *workload.Scheduled {
	t.Helper()
	text := `{apiVersion: batch/v1, kind: CronJob, metadata: {name: backup, namespace: shop, uid: u-backup}, spec: {schedule: "` + expression + `",
		timeZone: Europe/Berlin, jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: busybox}]}}}}}}`
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatal(err)
	}
	all, err := workload.Read([]workload.Object{{Content: o}}, workload.Options{})
	if err != nil || all.Scheduled[0].Obstacle() != "" {
		t.Fatal(err, all)
	}
	return all.Scheduled[0]
}

// someRun is a run somewhere about the window.
func someRun(r *rand.Rand, n int, w window, now time.Time) run.Run {
	length := int64(w.Length())
	at := w.From.Add(time.Duration(r.Int64N(2*length) - length/2)).Truncate(time.Second)
	one := run.Run{UID: types.UID(fmt.Sprintf("run-%d", n)), Name: fmt.Sprintf("backup-%d", n), Namespace: "shop", ScheduledTime: at.Add(time.Duration(n)), // no tries of one
		Owner: run.Owner{APIVersion: "batch/v1", Kind: "CronJob", Name: "backup", UID: "u-backup"}}
	if r.IntN(5) == 0 {
		one.ScheduledTime = time.Time{}
	}
	one.Created = at.Add(time.Duration(r.Int64N(length/20 + 1)))
	if r.IntN(6) > 0 {
		one.Started = one.Created.Add(time.Duration(r.Int64N(length/40 + 1)))
	}
	one.Outcome = []run.Outcome{run.Succeeded, run.Succeeded, run.Failed, run.Cancelled, run.Unknown, run.Active}[r.IntN(6)]
	if one.Begun().After(now) {
		one.Outcome = run.Active
	}
	if one.Outcome.Ended() && one.Outcome != run.Unknown {
		one.Ended = one.Begun().Add(time.Duration(r.Int64N(length/4 + 1)))
		if r.IntN(10) == 0 {
			one.Ended = one.Begun()
		}
	}
	return one
}

// Each run that is seen in the window is drawn once or counted once, no two bars of one lane overlap, and nothing is
// outside of the picture, whatever there is.
func TestEveryRunIsSeenOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for round := range 1500 {
		z := zone(t, oddZones[r.IntN(len(oddZones))])
		now := someTime(r, z)
		zoom := &zooms[r.IntN(len(zooms))]
		w := following(zoom, now, z)
		if r.IntN(3) == 0 {
			w = windowFrom(zoom, someTime(r, z), z)
		}
		k := &Known{Row: &Row{Namespace: "shop", Kind: "CronJob", Name: "backup"}}
		all := make([]run.Run, r.IntN([]int{4, 30, 300}[r.IntN(3)]))
		for n := range all {
			all[n] = someRun(r, n, w, now)
		}
		k.Runs = all
		if r.IntN(3) == 0 { // as from a source that has counted what begins in the window
			k.Runs, k.Counts = nil, []journal.Tally{}
			cells := map[journal.Tally]int{}
			for _, one := range all {
				if !w.Contains(one.Time()) {
					k.Runs = append(k.Runs, one)
					continue
				}
				cells[journal.Tally{Cell: int(one.Time().Sub(w.From) / zoom.cell), Outcome: one.Outcome}]++
			}
			for c, n := range cells {
				c.Count = n
				k.Counts = append(k.Counts, c)
			}
		}
		for range r.IntN(5) {
			at := someRun(r, 0, w, now).Created
			k.Omissions = append(k.Omissions, run.Omission{ScheduledTime: at, Until: at.Add(time.Duration(r.Int64N(int64(w.Length())))), Count: 1 + r.Int64N(9), Missed: r.IntN(2) == 0})
		}
		d := draw(k, w, now)
		about := fmt.Sprintf("round %d: %s from %v in %v, %d runs", round, zoom.Name, w.From, z, len(all))

		var want Counts
		for i := range all {
			if from, until := Seen(&all[i], now); w.overlaps(from, until) || k.Counts != nil && w.Contains(all[i].Time()) {
				want.addRun(&all[i])
			}
		}
		for i := range k.Omissions {
			if o := &k.Omissions[i]; w.overlaps(o.ScheduledTime, o.Until) {
				want.addOmission(o)
			}
		}
		if d.Total != want {
			t.Fatalf("%s: %+v are seen, want %+v", about, d.Total, want)
		}
		checkDrawn(t, about, &d, &want)
	}
}

// checkDrawn sees that all that is counted is drawn, within its bounds.
func checkDrawn(t *testing.T, about string, d *Drawn, want *Counts) {
	t.Helper()
	if len(d.Cells) > 0 {
		var sum Counts
		end := percent(0)
		for i := range d.Cells {
			c := &d.Cells[i]
			sum.add(&c.Counts)
			if c.X < end-1e-9 || c.X+c.Width > 100+1e-9 || c.Width <= 0 {
				t.Fatalf("%s: a cell from %v, %v wide, after one that ends at %v", about, c.X, c.Width, end)
			}
			if end = c.X + c.Width; c.Failed > 0 && c.Worst() != "failed" {
				t.Fatalf("%s: a cell with %+v is %s", about, c.Counts, c.Worst())
			}
		}
		if sum != *want {
			t.Fatalf("%s: the cells have %+v, want %+v", about, sum, *want)
		}
		return
	}
	seen := map[types.UID]bool{}
	add := func(r *run.Run) {
		if seen[r.UID] {
			t.Fatalf("%s: %s is drawn twice", about, r.Name)
		}
		seen[r.UID] = true
	}
	ends, times := map[int]percent{}, map[int]time.Time{}
	for i := range d.Bars {
		b := &d.Bars[i]
		add(b.Run)
		if b.X < 0 || b.Width < 0 || b.X+b.Width > 100+1e-9 || b.Lane < 0 || b.Lane >= d.Lanes || d.Lanes > mostLanes {
			t.Fatalf("%s: bar %s is at %v, %v wide, in lane %d of %d", about, b.Run.Name, b.X, b.Width, b.Lane, d.Lanes)
		}
		if b.X < ends[b.Lane]-1e-9 || b.from.Before(times[b.Lane]) {
			t.Fatalf("%s: bar %s overlaps the one before it in lane %d", about, b.Run.Name, b.Lane)
		}
		ends[b.Lane], times[b.Lane] = b.X+b.Width, b.until
		for _, s := range []*Span{b.Lead, b.Rest} {
			if s != nil && (s.X < 0 || s.Width <= 0 || s.End() > 100+1e-9) {
				t.Fatalf("%s: a span from %v, %v wide", about, s.X, s.Width)
			}
		}
	}
	for i := range d.Overflow {
		if x := d.Overflow[i].X; x < 0 || x > 100 {
			t.Fatalf("%s: more at %v", about, x)
		}
		for n := range d.Overflow[i].Runs {
			add(&d.Overflow[i].Runs[n])
		}
	}
	if len(seen) != want.Runs() {
		t.Fatalf("%s: %d runs are drawn, want %d", about, len(seen), want.Runs())
	}
	for i := range d.Marks {
		if x := d.Marks[i].X; x < 0 || x > 100 {
			t.Fatalf("%s: a mark at %v", about, x)
		}
	}
}

// Times to come are those of the schedule, one by one or in cells.
func TestFuture(t *testing.T) {
	z := zone(t, "Europe/Berlin")
	now := time.Date(2026, 10, 24, 15, 30, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		expression string
		zoom       int
		marks      int // 0: cells, or nothing
		due        int
	}{
		"each hour of a day":                       {"0 * * * *", 2, 6, 6},
		"each minute of an hour":                   {"* * * * *", 0, 19, 19},
		"each minute of a day":                     {"* * * * *", 2, 0, 389},
		"the clock shows its time twice":           {"30 2 * * *", 3, 2, 2},
		"each minute of two days, one of 25 hours": {"* * * * *", 3, 0, 6*60 + 29 + 25*60},
		"never in this time":                       {"0 0 1 1 *", 2, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := aSchedule(t, test.expression)
			w := following(&zooms[test.zoom], now, z)
			k := &Known{Row: &Row{Namespace: "shop", Kind: "CronJob", Name: "backup", Schedule: s}, Usual: journal.Usual{Runs: 20, Median: time.Minute}}
			want := test.due
			d := draw(k, w, now)
			if d.Total.Due != want {
				t.Errorf("%d are due, want %d", d.Total.Due, want)
			}
			if test.marks > 0 && len(d.Future) != test.marks {
				t.Errorf("%d marks, want %d", len(d.Future), test.marks)
			}
			if want > mostBars && (len(d.Cells) == 0 || len(d.Future) > 0) || want <= mostBars && len(d.Cells) > 0 {
				t.Errorf("%d times: %d cells, %d marks", want, len(d.Cells), len(d.Future))
			}
			for _, f := range d.Future {
				if !f.At.After(now) || !w.Contains(f.At) {
					t.Errorf("%v is not in the future of the window", f.At)
				}
			}
		})
	}
}

func TestLanes(t *testing.T) {
	w := windowFrom(&zooms[0], time.Date(2026, 11, 2, 10, 0, 0, 0, time.UTC), time.UTC)
	at := func(minute int) time.Time { return w.From.Add(time.Duration(minute) * time.Minute) }
	runs := func(spans ...[2]int) []run.Run {
		var all []run.Run
		for n, s := range spans {
			all = append(all, run.Run{UID: types.UID(fmt.Sprint(n)), Name: fmt.Sprint("r", n), ScheduledTime: at(s[0]), Created: at(s[0]), Started: at(s[0]), Ended: at(s[1]), Outcome: run.Succeeded})
		}
		return all
	}
	for name, test := range map[string]struct {
		runs  []run.Run
		lanes string
		more  []int
	}{
		"one after the other":                  {runs([2]int{0, 5}, [2]int{5, 10}, [2]int{12, 13}), "000", nil},
		"two overlap":                          {runs([2]int{0, 6}, [2]int{5, 10}, [2]int{11, 13}), "010", nil},
		"a lane that is free again":            {runs([2]int{0, 30}, [2]int{1, 3}, [2]int{4, 6}, [2]int{5, 7}), "0112", nil},
		"more than there are lanes for":        {runs([2]int{0, 30}, [2]int{1, 30}, [2]int{2, 30}, [2]int{3, 30}, [2]int{4, 30}, [2]int{5, 30}, [2]int{6, 7}), "0123", []int{3}},
		"more twice":                           {runs([2]int{0, 60}, [2]int{0, 60}, [2]int{0, 60}, [2]int{0, 60}, [2]int{10, 12}, [2]int{20, 22}), "0123", []int{1, 1}},
		"at one instant, and over at once":     {runs([2]int{7, 7}, [2]int{7, 7}), "01", nil},
		"begun before the window, and all out": {runs([2]int{-5, 5}, [2]int{-9, -5}, [2]int{59, 70}, [2]int{60, 61}), "00", nil},
	} {
		t.Run(name, func(t *testing.T) {
			d := draw(&Known{Row: &Row{Name: "x"}, Runs: test.runs}, w, at(120))
			lanes := ""
			for i := range d.Bars {
				lanes += fmt.Sprint(d.Bars[i].Lane)
			}
			var more []int
			for i := range d.Overflow {
				more = append(more, len(d.Overflow[i].Runs))
			}
			if lanes != test.lanes || !slices.Equal(more, test.more) {
				t.Errorf("lanes %s and more %v, want %s and %v", lanes, more, test.lanes, test.more)
			}
		})
	}
}

func TestLateness(t *testing.T) {
	w := windowFrom(&zooms[0], time.Date(2026, 11, 2, 10, 0, 0, 0, time.UTC), time.UTC)
	due := w.From.Add(30 * time.Minute)
	for name, test := range map[string]struct {
		edit func(*run.Run)
		want bool
	}{
		"in time":                 {func(r *run.Run) { r.Created, r.Started = due, due.Add(time.Second) }, false},
		"five minutes late":       {func(*run.Run) {}, true},
		"a later try is not late": {func(r *run.Run) { r.Retry = 2 }, false},
		"by hand":                 {func(r *run.Run) { r.ScheduledTime = time.Time{} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := run.Run{UID: "a", Name: "a", ScheduledTime: due, Created: due.Add(5 * time.Minute), Started: due.Add(5 * time.Minute), Outcome: run.Active}
			test.edit(&r)
			d := draw(&Known{Row: &Row{Name: "x"}, Runs: []run.Run{r}}, w, due.Add(10*time.Minute))
			if got := d.Bars[0].Lead != nil; got != test.want {
				t.Errorf("late: %v, want %v", got, test.want)
			}
			if text := (words{time.UTC, due.Add(10 * time.Minute)}).run(&r); strings.Contains(text, "started 5m late") != test.want {
				t.Errorf("it says %q", text)
			}
		})
	}
}

func TestPiecesOfACell(t *testing.T) {
	for name, test := range map[string]struct {
		counts Counts
		want   []piece
	}{
		"all well":                   {Counts{Succeeded: 60}, []piece{{"succeeded", 10, 16}}},
		"all failed hang lower":      {Counts{Failed: 60}, []piece{{"failed", 10, 22}}},
		"one of very many is seen":   {Counts{Succeeded: 9999, Failed: 1}, []piece{{"succeeded", 10, 11}, {"failed", 21, 11}}},
		"half of them":               {Counts{Succeeded: 5, Failed: 5}, []piece{{"succeeded", 10, 8}, {"failed", 18, 14}}},
		"what comes beside what was": {Counts{Succeeded: 5, Due: 10}, []piece{{"succeeded", 10, 16}}},
		"what comes alone":           {Counts{Due: 10}, []piece{{"due", 10, 16}}},
		"everything: the worst ones": {Counts{1, 1, 1, 1, 1, 0, 1, 1, 1, 1}, []piece{{"active", 10, 4}, {"waiting", 14, 4}, {"missed", 18, 4}, {"failed", 22, 10}}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := stacked(test.counts.Parts(), 10); !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}
