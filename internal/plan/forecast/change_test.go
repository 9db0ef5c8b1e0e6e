// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package forecast_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/kind/timetable"
	"github.com/carillon-dev/carillon/internal/plan/forecast"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// apply gives the objects after the edits of a change.
func apply(t testing.TB, objects []*workload.Scheduled, edits []forecast.Edit) []*workload.Scheduled {
	t.Helper()
	after := slices.Clone(objects)
	for _, e := range edits {
		i := slices.Index(objects, e.Object)
		var err error
		after[i], err = e.Object.Edited(func(typed adapter.Object) {
			switch object := typed.(type) {
			case *batchv1.CronJob:
				object.Spec.Schedule = e.To
			case *timetable.Object:
				to := strings.Split(e.To, " | ")
				for n, text := range strings.Split(e.From, " | ") {
					for i := range object.Spec.Schedules {
						if object.Spec.Schedules[i].Cron == text {
							object.Spec.Schedules[i].Cron = to[n]
						}
					}
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return after
}

func peak(counts []int64) int64 { return slices.Max(counts) }

// What a change is said to bring is what the forecast of the changed objects says, and what counting them says.
func TestChanges(t *testing.T) {
	seen := map[forecast.ChangeID]bool{}
	rapid.Check(t, func(r *rapid.T) {
		texts, expr := fleets(r), rapid.SampledFrom([]string{"0 3 * * *", "*/10 * * * *", "20 * * * *"}).Draw(r, "herd")
		for n := range rapid.IntRange(0, 20).Draw(r, "size of the herd") {
			texts = append(texts, cronJob(fmt.Sprintf("herd-%d", n), expr, ""))
		}
		objects := read(t, texts...)
		o := day(froms.Draw(r, "from"))
		made := forecast.Of(objects, o)
		if made.Summary().Starts.Number < 2 && len(made.Changes) > 0 {
			r.Fatal("nothing is to be mended, and something is tried")
		}
		for _, c := range made.Changes {
			if c.ID == forecast.ChangeJitter {
				continue
			}
			seen[c.ID] = true
			if len(c.Edits) != c.Objects || c.Objects == 0 {
				r.Fatalf("%d objects, %d edits", c.Objects, len(c.Edits))
			}
			after := apply(t, objects, c.Edits)
			if want := peak(countStarts(after, o)); c.Starts.Number != want {
				r.Fatalf("%s: the peak is said to be %d, and is %d", c.ID, c.Starts.Number, want)
			}
			again := forecast.Of(after, o).Summary()
			if c.Starts != again.Starts || c.Running != again.Running {
				r.Fatalf("%s: said %v and %v, is %v and %v", c.ID, c.Starts, c.Running, again.Starts, again.Running)
			}
		}
	})
	if !seen[forecast.ChangeHash] || !seen[forecast.ChangeMove] {
		t.Errorf("tried only %v", seen)
	}
}

// A jitter that is tried is the one that a Timetable would have.
func TestJitter(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var before, after []string
		for n := range rapid.IntRange(2, 12).Draw(r, "objects") {
			name := fmt.Sprintf("a-%d", n)
			expr := "0 " + hourTexts.Draw(r, "hour") + " * * *"
			// Where a clock changes a Timetable has times that a CronJob lacks.
			zone := ", timeZone: " + rapid.SampledFrom([]string{"Etc/UTC", "Asia/Kolkata", "America/Bogota"}).Draw(r, "zone")
			jittered := simpleTimetable(name, expr, zone+", jitter: 15m, concurrency: {policy: Allow, limit: 50}")
			if rapid.Bool().Draw(r, "CronJob") {
				before = append(before, cronJob(name, expr, zone))
			} else {
				before = append(before, simpleTimetable(name, expr, zone+", concurrency: {policy: Allow, limit: 50}"))
			}
			after = append(after, jittered)
		}
		o := day(froms.Draw(r, "from"))
		objects := read(t, before...)
		made := forecast.Of(objects, o)
		i := slices.IndexFunc(made.Changes, func(c forecast.Change) bool { return c.ID == forecast.ChangeJitter })
		if i < 0 {
			if made.Summary().Starts.Number > 1 {
				r.Fatal("no jitter was tried")
			}
			return
		}
		jitter := made.Changes[i]
		if jitter.Objects != made.Objects.Counted-made.Objects.Idle {
			r.Fatalf("%d objects would change, want %d", jitter.Objects, made.Objects.Counted-made.Objects.Idle)
		}
		want := read(t, after...)
		again := forecast.Of(want, o).Summary()
		if jitter.Starts != again.Starts || jitter.Running != again.Running || jitter.Starts.Number != peak(countStarts(want, o)) {
			r.Fatalf("said %v and %v, is %v and %v", jitter.Starts, jitter.Running, again.Starts, again.Running)
		}
	})
}

func simpleTimetable(name, expr, more string) string {
	return timetableOf(name, "{cron: \""+expr+"\"}", more)
}

// What is tried, in the words of its edits.
func TestEdits(t *testing.T) {
	var herd []string
	for n := range 4 {
		herd = append(herd, cronJob(fmt.Sprintf("b-%d", n), "30 2 * * *", ""))
	}
	tests := map[string]struct {
		texts []string
		want  string // the edits of hash
	}{
		"a day":             {[]string{cronJob("a", "0 0 * * *", ""), cronJob("b", "@daily", "")}, "0 0 * * * → 29 0 * * *, @daily → 8 0 * * *"},
		"a zone before it":  {[]string{cronJob("a", "TZ=Asia/Tokyo 0 9 * * *", ""), cronJob("b", "0 0 * * *", "")}, "TZ=Asia/Tokyo 0 9 * * * → TZ=Asia/Tokyo 29 9 * * *, 0 0 * * * → 8 0 * * *"},
		"steps":             {[]string{cronJob("a", "*/15 * * * *", ""), cronJob("c", "0,30 * * * *", "")}, "*/15 * * * * → 14-59/15 * * * *, 0,30 * * * * → 20,50 * * * *"},
		"no herd at 0":      {herd, "30 2 * * * → 5 2 * * *, 30 2 * * * → 29 2 * * *, 30 2 * * * → 41 2 * * *, 30 2 * * * → 46 2 * * *"},
		"a Timetable":       {[]string{simpleTimetable("a", "0 0 * * *", ""), simpleTimetable("b", "0 0 0 * * *", "")}, "0 0 * * * → H 0 * * *, 0 0 0 * * * → 0 H 0 * * *"},
		"nothing to hash":   {[]string{cronJob("a", "* * * * *", ""), cronJob("b", "* * * * *", "")}, ""},
		"an uneven minute":  {[]string{cronJob("a", "0,7 * * * *", ""), cronJob("b", "*/40 * * * *", "")}, ""},
		"one object":        {[]string{cronJob("a", "0 0 * * *", "")}, ""},
		"far from the herd": {append([]string{cronJob("a", "7 5 * * *", "")}, herd[:2]...), "30 2 * * * → 5 2 * * *, 30 2 * * * → 29 2 * * *"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, c := range forecast.Of(read(t, test.texts...), day(from)).Changes {
				for _, e := range c.Edits {
					if c.ID == forecast.ChangeHash {
						got = append(got, e.From+" → "+e.To)
					}
				}
			}
			if text := strings.Join(got, ", "); text != test.want {
				t.Errorf("got  %s\nwant %s", text, test.want)
			}
		})
	}
}

// Those who make the most of the fullest minute move to where the least is.
func TestMove(t *testing.T) {
	var texts []string
	for n := range 5 {
		texts = append(texts, cronJob(fmt.Sprintf("a-%d", n), "0 2 * * *", ""))
	}
	texts = append(texts, cronJob("b", "0 2 * * *", ", timeZone: Etc/UTC"), cronJob("c", "10,20 2 * * *", ""), cronJob("d", "40 2 * * *", ""))
	o := day(from)
	made := forecast.Of(read(t, texts...), o)
	i := slices.IndexFunc(made.Changes, func(c forecast.Change) bool { return c.ID == forecast.ChangeMove })
	if i < 0 {
		t.Fatal("nothing moves")
	}
	if c := made.Changes[i]; c.Schedule != "0 2 * * * (UTC)" || c.Minute != "26" || c.Objects != 5 || c.Starts.Number != 5 || c.Running.Number != 5 {
		t.Errorf("got %+v", c)
	}
	if best := made.Changes[0]; best.ID != forecast.ChangeHash || !best.Helps(made.Summary()) {
		t.Errorf("the best is %s", best.ID)
	}
	for i := 1; i < len(made.Changes); i++ {
		if made.Changes[i-1].Starts.Number > made.Changes[i].Starts.Number {
			t.Error("a better change comes after a worse one")
		}
	}
	if made.Summary().Starts != (forecast.Peak{At: from.Add(2 * time.Hour), Number: 6}) {
		t.Errorf("the peak is %v", made.Summary().Starts)
	}
}
