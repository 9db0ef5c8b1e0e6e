// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package upcoming_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/internal/plan/upcoming"
)

// A walker works out what a schedule of two fields does by looking at each minute, with nothing of the engine: package
// time alone says what a clock shows.
type walker struct {
	zone           *time.Location
	minutes, hours []int // no hours: a star
	placed         bool  // dst counts
	gap, overlap   string
	closed         []closedSpan
}

// closedSpan is a period, in wall clock time as if it was UTC.
type closedSpan struct {
	text       string
	start, end time.Time
}

func (w walker) cron() string {
	hours := "*"
	if len(w.hours) > 0 {
		hours = list(w.hours)
	}
	return list(w.minutes) + " " + hours + " * * *"
}

func list(values []int) string {
	var texts []string
	for _, v := range values {
		texts = append(texts, fmt.Sprint(v))
	}
	return strings.Join(texts, ",")
}

func (w walker) matches(wall time.Time) bool {
	return slices.Contains(w.minutes, wall.Minute()) && (len(w.hours) == 0 || slices.Contains(w.hours, wall.Hour()))
}

func (w walker) wall(at time.Time) time.Time {
	t := at.In(w.zone)
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
}

func (w walker) closedBy(wall time.Time) (by []string) {
	for _, c := range w.closed {
		if !wall.Before(c.start) && wall.Before(c.end) {
			by = append(by, c.text)
		}
	}
	return by
}

// walked is what the walker found.
type walked struct {
	times    []time.Time
	excluded map[time.Time][]string
	shifted  map[time.Time][]time.Time
	skipped  map[time.Time][]time.Time // by the end of the gap
	showing  map[time.Time]upcoming.Showing
	alone    map[time.Time]bool
}

func (w walker) walk(from, to time.Time) walked {
	found := walked{excluded: map[time.Time][]string{}, shifted: map[time.Time][]time.Time{}, skipped: map[time.Time][]time.Time{},
		showing: map[time.Time]upcoming.Showing{}, alone: map[time.Time]bool{}}
	shown := map[time.Time][]time.Time{} // the instants at which the clock shows a minute
	for at := from.Add(-48 * time.Hour); at.Before(to.Add(48 * time.Hour)); at = at.Add(time.Minute) {
		shown[w.wall(at)] = append(shown[w.wall(at)], at)
	}
	chosen := func(wall time.Time) []time.Time {
		instants := shown[wall]
		if !w.placed || len(instants) < 2 || w.overlap == "Both" {
			return instants
		}
		if w.overlap == "Last" {
			return instants[1:]
		}
		return instants[:1]
	}
	for at := from; !at.After(to); at = at.Add(time.Minute) {
		wall, before := w.wall(at), w.wall(at.Add(-time.Minute))
		var gap, open []time.Time
		for skipped := before.Add(time.Minute); skipped.Before(wall); skipped = skipped.Add(time.Minute) {
			if w.matches(skipped) {
				gap = append(gap, skipped)
				if w.closedBy(skipped) == nil {
					open = append(open, skipped)
				}
			}
		}
		shifts := w.placed && w.gap == "Shift"
		natural := w.matches(wall) && slices.Contains(chosen(wall), at)
		if open != nil && !shifts {
			found.skipped[at] = open
		}
		if !natural && (gap == nil || !shifts) {
			continue
		}
		if by := w.closedBy(wall); by != nil {
			found.excluded[at] = by
			continue
		}
		found.times = append(found.times, at)
		if shifts && gap != nil { // a period counts where a time has moved to, not where it came from
			found.shifted[at] = gap
		}
		if both := shown[wall]; natural && len(both) == 2 {
			found.showing[at] = upcoming.First
			if both[1].Equal(at) {
				found.showing[at] = upcoming.Second
			}
			found.alone[at] = len(chosen(wall)) == 1
		}
	}
	return found
}

func (w walker) manifest(timetable bool) string {
	if !timetable {
		return fmt.Sprintf("{apiVersion: batch/v1, kind: CronJob, metadata: {name: a}, spec: {schedule: %q, timeZone: %s, jobTemplate: {spec: {template: "+
			"{spec: {restartPolicy: Never, containers: [{name: a, image: b}]}}}}}}", w.cron(), w.zone)
	}
	var exclude []string
	for _, c := range w.closed {
		exclude = append(exclude, fmt.Sprintf("{period: %s}", c.text))
	}
	return fmt.Sprintf("{apiVersion: batch.carillon.dev/v1alpha1, kind: Timetable, metadata: {name: a}, spec: {schedules: [{cron: %q}], timeZone: %s, dst: {gap: "+
		"%s, overlap: %s}, exclude: [%s], template: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: b}]}}}}}}",
		w.cron(), w.zone, w.gap, w.overlap, strings.Join(exclude, ", "))
}

// changes are moments near which clocks are put forward or back: by an hour, by half of one, at midnight, and by a day.
var changes = []struct{ zone, at string }{
	{"Europe/Berlin", "2027-03-28T01:00:00Z"}, {"Europe/Berlin", "2027-10-31T01:00:00Z"},
	{"America/New_York", "2027-03-14T07:00:00Z"}, {"America/New_York", "2027-11-07T06:00:00Z"},
	{"Australia/Lord_Howe", "2027-04-03T15:00:00Z"}, {"Australia/Lord_Howe", "2027-10-02T15:30:00Z"},
	{"Africa/Cairo", "2027-04-29T22:00:00Z"}, {"Africa/Cairo", "2027-10-28T21:00:00Z"},
	{"Pacific/Apia", "2011-12-30T10:00:00Z"}, {"Asia/Kolkata", "2027-06-01T00:00:00Z"},
	{"America/Santiago", "2027-09-05T04:00:00Z"}, {"America/Santiago", "2027-04-04T03:00:00Z"},
}

func randomWalker(t *rapid.T) (w walker, from time.Time, timetable bool) {
	change := rapid.SampledFrom(changes).Draw(t, "change")
	at, err := time.Parse(time.RFC3339, change.at)
	if err != nil {
		t.Fatal(err)
	}
	timetable = rapid.Bool().Draw(t, "timetable")
	zone, err := time.LoadLocation(change.zone)
	if err != nil {
		t.Fatal(err)
	}
	w = walker{
		zone:    zone,
		minutes: rapid.SliceOfNDistinct(rapid.IntRange(0, 59), 1, 4, rapid.ID).Draw(t, "minutes"),
		hours:   rapid.SliceOfNDistinct(rapid.SampledFrom([]int{0, 1, 2, 3, 4, 13, 22, 23}), 0, 4, rapid.ID).Draw(t, "hours"),
		gap:     rapid.SampledFrom([]string{"Shift", "Skip"}).Draw(t, "gap"),
		overlap: rapid.SampledFrom([]string{"First", "Last", "Both"}).Draw(t, "overlap"),
	}
	w.placed = timetable && len(w.hours) > 0
	from = at.Add(time.Duration(rapid.IntRange(-30*60, 60).Draw(t, "from")) * time.Minute)
	if timetable {
		for range rapid.IntRange(0, 3).Draw(t, "periods") {
			start := w.wall(at).Add(time.Duration(rapid.IntRange(-600, 100).Draw(t, "start")) * time.Minute)
			end := start.Add(time.Duration(rapid.IntRange(1, 1500).Draw(t, "length")) * time.Minute)
			const layout = "2006-01-02T15:04"
			w.closed = append(w.closed, closedSpan{start.Format(layout) + "/" + end.Format(layout), start, end})
		}
	}
	return w, from, timetable
}

// What is listed is what the controller starts. That, and what is called shifted, doubled, excluded or skipped, is what
// a look at each minute finds.
func TestAgainstWalker(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, from, timetable := randomWalker(t)
		want := w.walk(from, from.Add(72*time.Hour))
		if len(want.times) == 0 {
			t.Skip("nothing starts") // there is nothing to list; rapid fails if most draws are like that
		}
		object := readObjects(t, w.manifest(timetable), nil)[0]
		source := upcoming.Of(object, nil)
		if source.Obstacle != "" {
			t.Fatal(source.Obstacle)
		}
		list := source.List(from, len(want.times))
		if len(list.Times) != len(want.times) {
			t.Fatalf("%d times, want %d", len(list.Times), len(want.times))
		}
		controller := from.Add(-1)
		for i, got := range list.Times {
			at := want.times[i]
			if controller = object.Policy.Timing.Times.Next(controller); !got.At.Equal(controller) {
				t.Fatalf("time %d is %s, and the controller starts at %s", i, got.At, controller)
			}
			if !got.At.Equal(at) {
				t.Fatalf("time %d is %s, want %s", i, got.At, at)
			}
			if !sameSpan(got.ShiftedFrom, want.shifted[at]) {
				t.Fatalf("%s is shifted from %v, want %v", at, got.ShiftedFrom, want.shifted[at])
			}
			if got.Twice != want.showing[at] || got.OtherOmitted != want.alone[at] {
				t.Fatalf("%s is showing %q (the other omitted: %v), want %q (%v)", at, got.Twice, got.OtherOmitted, want.showing[at], want.alone[at])
			}
		}
		checkOmissions(t, list, want)
	})
}

// checkOmissions compares what is not among the times, up to the last of them.
func checkOmissions(t *rapid.T, list *upcoming.List, want walked) {
	last := want.times[len(want.times)-1]
	excluded, skipped := 0, 0
	for at, by := range want.excluded {
		if at.After(last) {
			continue
		}
		excluded++
		if !slices.ContainsFunc(list.Omissions, func(o upcoming.Omission) bool {
			return o.Reason == upcoming.Excluded && !at.Before(o.First) && !at.After(o.Last) && slices.EqualFunc(o.By, by, func(e upcoming.Exclusion, text string) bool {
				return e.Period == text
			})
		}) {
			t.Fatalf("%s is excluded by %v; got %+v", at, by, list.Omissions)
		}
	}
	for at, walls := range want.skipped {
		if at.After(last) {
			continue
		}
		skipped++
		if !slices.ContainsFunc(list.Omissions, func(o upcoming.Omission) bool {
			return o.Reason == upcoming.Gap && o.At.Equal(at) && sameSpan(&o.Span, walls)
		}) {
			t.Fatalf("the clock skips %v at %s; got %+v", walls, at, list.Omissions)
		}
	}
	for _, o := range list.Omissions {
		if o.Reason == upcoming.Excluded {
			excluded -= o.Count
		} else {
			skipped--
		}
	}
	if excluded != 0 || skipped != 0 {
		t.Fatalf("%d excluded times and %d gaps too few; got %+v", excluded, skipped, list.Omissions)
	}
}

func sameSpan(got *upcoming.Span, want []time.Time) bool {
	if got == nil || len(want) == 0 {
		return got == nil && len(want) == 0
	}
	return got.First.Equal(want[0]) && got.Last.Equal(want[len(want)-1]) && got.Count == len(want)
}
