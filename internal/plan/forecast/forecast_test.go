// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package forecast_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/carillon-dev/carillon/internal/plan/forecast"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

var from = time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)

func day(from time.Time) forecast.Options {
	return forecast.Options{From: from, Length: 24 * time.Hour, Duration: 5 * time.Minute, Jitter: 15 * time.Minute, Top: 3}
}

// read gives what texts of manifests have.
func read(t testing.TB, texts ...string) []*workload.Scheduled {
	t.Helper()
	var objects []workload.Object
	for _, text := range texts {
		content := map[string]any{}
		if err := yaml.Unmarshal([]byte(text), &content); err != nil {
			t.Fatalf("%v:\n%s", err, text)
		}
		u := &unstructured.Unstructured{}
		data, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := u.UnmarshalJSON(data); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, workload.Object{Content: u})
	}
	all, err := workload.Read(objects, workload.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return all.Scheduled
}

func cronJob(name, schedule, more string) string {
	return fmt.Sprintf("{apiVersion: batch/v1, kind: CronJob, metadata: {name: %s, namespace: ops}, spec: {schedule: %q%s}}", name, schedule, more)
}

func timetableOf(name, items, more string) string {
	return fmt.Sprintf("{apiVersion: batch.carillon.dev/v1alpha1, kind: Timetable, metadata: {name: %s, namespace: ops}, spec: {schedules: [%s], template: {spec: {}}%s}}", name, items, more)
}

// planned are the starts of one object from one instant to another, asked for one by one.
func planned(s *workload.Scheduled, from, to time.Time) (starts []time.Time) {
	timing := s.Policy.Timing
	if s.Policy.Suspend || timing.Times == nil {
		return nil
	}
	at := from.Add(-25 * time.Hour)
	if timing.Every != 0 {
		at = from // which is where "@every" begins
	}
	for next := timing.Times.Next(at); !next.IsZero() && next.Before(to); next = timing.Times.Next(next) {
		start := timing.PlannedStart(next)
		if until := s.Policy.SuspendUntil; until != nil && start.Before(*until) || start.Before(from) || !start.Before(to) {
			continue
		}
		starts = append(starts, start)
	}
	return starts
}

func countStarts(objects []*workload.Scheduled, o forecast.Options) []int64 {
	counts := make([]int64, int(o.Length/time.Minute))
	for _, s := range objects {
		for _, start := range planned(s, o.From, o.From.Add(o.Length)) {
			counts[int(start.Sub(o.From)/time.Minute)]++
		}
	}
	return counts
}

var (
	minuteTexts = rapid.SampledFrom([]string{"0", "0", "0", "30", "17", "*", "*/5", "*/15", "0,30", "5-59/20", "*/40"})
	hourTexts   = rapid.SampledFrom([]string{"*", "0", "2", "9-17", "*/6"})
	dayTexts    = rapid.SampledFrom([]string{"* * *", "* * *", "* * 1-5", "1 * *", "29 3 *", "25 10 *"})
	zones       = rapid.SampledFrom([]string{"Etc/UTC", "Europe/Berlin", "Asia/Kolkata", "Australia/Lord_Howe", "America/New_York"})
	froms       = rapid.SampledFrom([]time.Time{
		from, time.Date(2026, 3, 28, 22, 13, 0, 0, time.UTC), time.Date(2026, 10, 24, 23, 0, 0, 0, time.UTC), time.Date(2026, 10, 31, 20, 1, 0, 0, time.UTC),
	})
)

// fleets draws objects of all kinds.
func fleets(t *rapid.T) (texts []string) {
	for n := range rapid.IntRange(0, 12).Draw(t, "objects") {
		name := fmt.Sprintf("a-%d", n)
		expr := minuteTexts.Draw(t, "minute") + " " + hourTexts.Draw(t, "hour") + " " + dayTexts.Draw(t, "day")
		switch rapid.IntRange(0, 7).Draw(t, "kind") {
		case 0:
			texts = append(texts, timetableOf(name, "{cron: \"H H(0-5) * * *\"}", ""))
		case 1:
			jitter := rapid.SampledFrom([]string{"30s", "5m", "1h", "24h"}).Draw(t, "jitter")
			texts = append(texts, timetableOf(name, "{cron: \""+expr+"\"}", ", timeZone: "+zones.Draw(t, "zone")+", jitter: "+jitter))
		case 2:
			texts = append(texts, timetableOf(name, "{cron: \""+expr+"\"}", ", exclude: [{period: 2026-11-23T06:00/2026-11-23T12:00}], suspendUntil: \"2026-11-23T03:00:00Z\""))
		case 3:
			texts = append(texts, timetableOf(name, "{name: a, cron: \""+expr+"\"}, {name: b, every: 90s}", ""))
		case 4:
			texts = append(texts, cronJob(name, rapid.SampledFrom([]string{"@every 7m", "@every 25h", "@hourly", "@daily", "TZ=Asia/Tokyo 0 9 * * *"}).Draw(t, "text"), ""))
		case 5:
			texts = append(texts, cronJob(name, expr, ", suspend: true"))
		default:
			texts = append(texts, cronJob(name, expr, ", timeZone: "+zones.Draw(t, "zone")))
		}
	}
	return texts
}

// The starts of every minute are what one finds who asks each object for its next time, again and again; and so are
// those of the fullest minutes.
func TestStarts(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		objects := read(t, fleets(r)...)
		o := day(froms.Draw(r, "from"))
		got, want := forecast.Of(objects, o), countStarts(objects, o)
		if !slices.Equal(got.Starts, want) {
			for i := range want {
				if got.Starts[i] != want[i] {
					r.Fatalf("%v has %d starts, want %d", o.From.Add(time.Duration(i)*time.Minute), got.Starts[i], want[i])
				}
			}
		}
		for _, w := range got.Worst {
			if sum := want[int(w.At.Sub(o.From)/time.Minute)]; w.Starts != sum || sum == 0 {
				r.Fatalf("the minute %v has %d starts, want %d", w.At, w.Starts, sum)
			}
			by, objects := int64(0), 0
			for _, m := range w.By {
				by, objects = by+m.Starts, objects+len(m.Names)
				if m.Objects != len(m.Names) {
					r.Fatalf("%s: %d objects, %d names", m.Schedule, m.Objects, len(m.Names))
				}
			}
			if by != w.Starts || objects == 0 {
				r.Fatalf("the makers of %v have %d starts, want %d", w.At, by, w.Starts)
			}
		}
		if s := got.Summary(); len(want) > 0 && s.Starts.Number != slices.Max(want) {
			r.Fatalf("the peak is %d, want %d", s.Starts.Number, slices.Max(want))
		}
	})
}

// The order in which objects come changes nothing.
func TestOrder(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		objects := read(t, fleets(r)...)
		o := day(from)
		want := fmt.Sprintf("%+v", comparable(forecast.Of(objects, o)))
		slices.Reverse(objects)
		if got := fmt.Sprintf("%+v", comparable(forecast.Of(objects, o))); got != want {
			r.Fatalf("got %s\nwant %s", got, want)
		}
	})
}

// comparable is a forecast without pointers.
func comparable(f *forecast.Forecast) any {
	type edit struct{ name, from, to string }
	type change struct {
		forecast.Change
		edits []edit
	}
	var changes []change
	for _, c := range f.Changes {
		made := change{Change: c}
		for _, e := range c.Edits {
			made.edits = append(made.edits, edit{e.Object.Owner.Name, e.From, e.To})
		}
		made.Edits = nil
		changes = append(changes, made)
	}
	return []any{f.Starts, f.Running, f.Worst, f.Durations, changes}
}
