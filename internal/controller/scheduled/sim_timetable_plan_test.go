// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/kind/timetable"
	"github.com/carillon-dev/carillon/internal/testkit/sim"
)

// timetablePlan is everything that is out of the ordinary in a world of Timetables.
type timetablePlan struct {
	dice       sim.Dice
	pace       int // as in simPlan
	begins     time.Time
	timetables []simTimetable
	edits      []timetableEdit
	mishaps    []simMishap
	upsets     []simUpset
	// lives is as in simPlan.
	lives func(*sim.Change)
}

// simTimetable is a Timetable and how its runs fare.
type simTimetable struct {
	obj *timetable.Object
	// quiet: nobody touches it, its Calendar or its children.
	quiet bool
	// fails and hangs are how many of a hundred children do that; runs is how long they run at most.
	fails, hangs int
	runs         time.Duration
	// lingers is how long a child that is deleted is there still, at most.
	lingers time.Duration
	// stuck is which of its children nobody can delete; 0: none.
	stuck   int
	created time.Duration
}

// timetableEdit is something that a user does.
type timetableEdit struct {
	at        time.Duration
	timetable int
	what      string
	arg       int
}

var timetableEdits = []string{
	"schedules", "schedules", "zone", "window", "exclude", "jitter", "calendar", "calendar", "no calendar", "policy", "policy", "catch up", "deadline",
	"suspend", "suspend", "resume", "resume", "suspend until", "resume token", "pause limit", "retry", "timeout", "history", "on resume", "template", "kind",
	"annotate", "break the schedule", "break the template", "delete", "recreate", "delete a child", "delete the latest child", "orphan a child", "squat",
}

// What processes and servers of Timetables meet.
var timetableUpsets = []string{
	"no Jobs seen", "no Widgets seen", "no Timetables seen", "no Calendars seen", "nothing seen", "relist", "crash", "crash", "handover", "two leaders",
	"two leaders", "standstill", "clock forward", "clock back", "over quota", "no webhook", "no statuses", "no statuses", "no deletes", "server away",
	"kind not granted",
}

// timetableBegins are when worlds begin: on an ordinary day, and shortly before clocks go forward or back in Rome.
var timetableBegins = []time.Time{
	sim.Start, sim.Start, time.Date(2026, 3, 29, 0, 57, 0, 0, time.UTC), time.Date(2026, 10, 25, 0, 57, 0, 0, time.UTC),
}

var timetableZones = []string{"UTC", "Europe/Rome", "Asia/Tokyo"}

// timetableSchedules are what schedules a Timetable may have.
var timetableSchedules = []func(begins time.Time) []v1alpha1.Schedule{
	cronOf("* * * * *"),
	cronOf("*/2 * * * *"),
	everyOf("30s", ""),
	cronOf("0,30 * * * * *"),
	everyOf("50s", "2026-01-01T00:00:07Z"),
	cronOf("*/2 * * * *", "*/3 * * * *"),
	func(begins time.Time) []v1alpha1.Schedule {
		return append(cronOf("*/3 * * * *")(begins), named("second", everyOf("80s", "")(begins)[0]))
	},
	func(begins time.Time) []v1alpha1.Schedule {
		var at []v1alpha1.Moment
		for _, after := range []time.Duration{70 * time.Second, 95 * time.Second, 4 * time.Minute, 5 * time.Minute} {
			at = append(at, v1alpha1.Moment(begins.Add(after).Format(time.RFC3339)))
		}
		return []v1alpha1.Schedule{{Name: "main", DayRule: "Either", At: at}}
	},
	cronOf("*/2 1-3,12-14 * * *"), // names hours, and so falls into gaps and overlaps
	cronOf("10 0/3 1,2,3,12,13,14 * * *", "H/2 * * * *"),
}

func cronOf(texts ...string) func(time.Time) []v1alpha1.Schedule {
	return func(time.Time) (list []v1alpha1.Schedule) {
		for i, text := range texts {
			list = append(list, v1alpha1.Schedule{Name: []string{"main", "second"}[i], Cron: text, DayRule: "Either"})
		}
		return list
	}
}

func everyOf(interval, anchor string) func(time.Time) []v1alpha1.Schedule {
	return func(time.Time) []v1alpha1.Schedule {
		every := v1alpha1.Schedule{Name: "main", Every: new(v1alpha1.Duration(interval)), DayRule: "Either"}
		if anchor != "" {
			every.Anchor = new(v1alpha1.Moment(anchor))
		}
		return []v1alpha1.Schedule{every}
	}
}

func named(name string, s v1alpha1.Schedule) v1alpha1.Schedule {
	s.Name = name
	return s
}

// timetableKinds are the kinds that Timetables start.
var timetableKinds = []string{"Job", "Job", "Widget", "Pod"}

// setKind has a Timetable start another kind.
func setKind(spec *v1alpha1.TimetableSpec, kind string) {
	spec.Outcome = nil
	text := `{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"main","image":"i"}]}}}`
	switch spec.Template.Kind = kind; kind {
	case "Job":
		spec.Template.APIVersion = "batch/v1"
	case "Pod":
		spec.Template.APIVersion, text = "v1", `{"restartPolicy":"Never","containers":[{"name":"main","image":"i"}]}`
	default:
		spec.Template.APIVersion, text = "example.com/v1", `{"size":1,"for":"$(carillon.scheduledTime)"}`
		spec.Outcome = &v1alpha1.Outcome{Succeeded: `object.status.phase == "Done"`, Failed: `object.status.phase == "Broken"`}
	}
	if !json.Valid([]byte(text)) {
		panic(text)
	}
	spec.Template.Spec = runtime.RawExtension{Raw: []byte(text)}
}

// timetableRooms are what concurrency may say.
var timetableRooms = []v1alpha1.Concurrency{
	{Policy: v1alpha1.ForbidConcurrent},
	{Policy: v1alpha1.ForbidConcurrent, Limit: new(int32(2))},
	{Policy: v1alpha1.QueueConcurrent, QueueLimit: new(int32(2))},
	{Policy: v1alpha1.QueueConcurrent, Limit: new(int32(2)), QueueLimit: new(int32(0))},
	{Policy: v1alpha1.ReplaceConcurrent},
	{Policy: v1alpha1.ReplaceConcurrent, Limit: new(int32(2))},
	{Policy: v1alpha1.AllowConcurrent},
}

var timetableCatchUps = []v1alpha1.CatchUp{
	{Policy: v1alpha1.CatchUpLatest}, {Policy: v1alpha1.CatchUpNone}, {Policy: v1alpha1.CatchUpAll}, {Policy: v1alpha1.CatchUpAll, Limit: new(int32(2))},
}

// setCatchUp and setRoom keep to what the schema admits.
func setCatchUp(spec *v1alpha1.TimetableSpec, c v1alpha1.CatchUp) {
	if spec.Concurrency.Policy == v1alpha1.ReplaceConcurrent && c.Policy == v1alpha1.CatchUpAll {
		c = timetableCatchUps[0]
	}
	spec.CatchUp = c
}

func setRoom(spec *v1alpha1.TimetableSpec, c v1alpha1.Concurrency) {
	spec.Concurrency = c
	setCatchUp(spec, spec.CatchUp)
}

var timetableRetries = []*v1alpha1.Retry{nil, nil, {Limit: 2, Delay: "10s", MaxDelay: "10m"}, {Limit: 1, Delay: "70s", MaxDelay: "10m"}}

func durationOf(text string) *v1alpha1.Duration {
	if text == "" {
		return nil
	}
	return new(v1alpha1.Duration(text))
}

func drawTimetablePlan(t *rapid.T) timetablePlan {
	within := func(most time.Duration, label string) time.Duration {
		return time.Duration(rapid.IntRange(0, int(most/time.Millisecond)).Draw(t, label)) * time.Millisecond
	}
	sometime := func(most time.Duration) time.Duration {
		return rapid.SampledFrom([]time.Duration{0, most / 5, 2 * most / 5, 3 * most / 5, 4 * most / 5}).Draw(t, "fifth") + within(most/5, "at")
	}
	p := timetablePlan{dice: sim.Dice(rapid.Uint64().Draw(t, "dice")), pace: rapid.IntRange(0, 2).Draw(t, "pace"),
		begins: rapid.SampledFrom(timetableBegins).Draw(t, "begins")}
	for i := range rapid.IntRange(2, 3).Draw(t, "Timetables") {
		p.timetables = append(p.timetables, drawTimetable(t, fmt.Sprintf("t%d", i+1), p.begins, within))
	}
	for range rapid.IntRange(0, 10).Draw(t, "edits") {
		p.edits = append(p.edits, timetableEdit{
			at: sometime(storm - 20*time.Second), timetable: rapid.IntRange(0, len(p.timetables)-1).Draw(t, "Timetable"),
			what: rapid.SampledFrom(timetableEdits).Draw(t, "edit"), arg: rapid.IntRange(0, 20).Draw(t, "arg"),
		})
	}
	for range rapid.IntRange(0, 8).Draw(t, "mishaps") {
		p.mishaps = append(p.mishaps, simMishap{
			from: 20*rapid.IntRange(0, 3).Draw(t, "twenties") + rapid.IntRange(1, 20).Draw(t, "from"), count: rapid.IntRange(1, 4).Draw(t, "count"),
			what: rapid.SampledFrom(sim.Mishaps()).Draw(t, "mishap"),
		})
	}
	for range rapid.IntRange(0, 4).Draw(t, "upsets") {
		p.upsets = append(p.upsets, simUpset{
			at: sometime(storm - time.Minute), lasts: sometime(3 * time.Minute), what: rapid.SampledFrom(timetableUpsets).Draw(t, "upset"),
		})
	}
	return p
}

func drawTimetable(t *rapid.T, name string, begins time.Time, within func(time.Duration, string) time.Duration) simTimetable {
	c := simTimetable{created: within(20*time.Second, "created"), runs: time.Second + within(100*time.Second, "runs")}
	c.quiet = rapid.Bool().Draw(t, "quiet")
	spec := v1alpha1.TimetableSpec{
		TimeZone:  rapid.SampledFrom(timetableZones).Draw(t, "zone"),
		DST:       v1alpha1.DST{Gap: v1alpha1.ShiftGap, Overlap: rapid.SampledFrom([]v1alpha1.OverlapPolicy{"First", "Last", "Both"}).Draw(t, "overlap")},
		OnResume:  rapid.SampledFrom([]v1alpha1.ResumePolicy{v1alpha1.SkipOnResume, v1alpha1.CatchUpOnResume}).Draw(t, "on resume"),
		LateAfter: "2m",
		History: v1alpha1.History{
			Succeeded: v1alpha1.Retention{Limit: new(int32(rapid.IntRange(0, 3).Draw(t, "keep successful")))},
			Failed:    v1alpha1.Retention{Limit: new(int32(rapid.IntRange(0, 2).Draw(t, "keep failed")))},
			Ledger:    new(int32(100)),
		},
		Retry:            rapid.SampledFrom(timetableRetries).Draw(t, "retry"),
		Jitter:           durationOf(rapid.SampledFrom([]string{"", "", "", "20s"}).Draw(t, "jitter")),
		StartingDeadline: durationOf(rapid.SampledFrom([]string{"", "", "", "15s", "90s"}).Draw(t, "deadline")),
		Timeout:          durationOf(rapid.SampledFrom([]string{"", "", "", "25s"}).Draw(t, "timeout")),
	}
	if rapid.Bool().Draw(t, "skips gaps") {
		spec.DST.Gap = v1alpha1.SkipGap
	}
	spec.Schedules = rapid.SampledFrom(timetableSchedules).Draw(t, "schedules")(begins)
	setRoom(&spec, rapid.SampledFrom(timetableRooms).Draw(t, "concurrency"))
	setCatchUp(&spec, rapid.SampledFrom(timetableCatchUps).Draw(t, "catch up"))
	setKind(&spec, rapid.SampledFrom(timetableKinds).Draw(t, "kind"))
	if n := rapid.SampledFrom([]int32{0, 0, 0, 2}).Draw(t, "pause after"); n > 0 {
		spec.PauseAfterFailures = &n
	}
	c.fails = rapid.SampledFrom([]int{0, 30, 100}).Draw(t, "fails")
	c.lingers = rapid.SampledFrom([]time.Duration{0, 0, 20 * time.Second}).Draw(t, "lingers")
	if rapid.IntRange(0, 3).Draw(t, "excludes") == 3 { // two minutes of the world
		from := begins.Add(2 * time.Minute).In(mustLoad(spec.TimeZone))
		spec.Exclude = append(spec.Exclude, v1alpha1.Exclusion{Period: new(periodOf(from, 2*time.Minute))})
	}
	if !c.quiet {
		c.hangs = rapid.SampledFrom([]int{0, 0, 30}).Draw(t, "hangs")
		c.stuck = rapid.SampledFrom([]int{0, 0, 1, 3}).Draw(t, "stuck")
		if rapid.IntRange(0, 2).Draw(t, "names a Calendar") == 2 {
			spec.Exclude = append(spec.Exclude, v1alpha1.Exclusion{Calendar: new("holidays")})
		}
		switch rapid.IntRange(0, 11).Draw(t, "broken") {
		case 10:
			spec.Schedules = cronOf("61 * * * *")(begins)
		case 11:
			spec.TimeZone = "Mars/Olympus"
		}
	}
	c.obj = &timetable.Object{Timetable: v1alpha1.Timetable{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Spec: spec}}
	return c
}

func mustLoad(zone string) *time.Location {
	loaded, err := time.LoadLocation(zone)
	if err != nil {
		panic(err)
	}
	return loaded
}

// periodOf is a period that begins at a minute.
func periodOf(from time.Time, lasts time.Duration) v1alpha1.Period {
	const minutes = "2006-01-02T15:04"
	begin, end := from.Format(minutes), from.Add(lasts).Format(minutes)
	if end <= begin { // clocks go back in it
		end = from.Add(lasts + time.Hour).Format(minutes)
	}
	return v1alpha1.Period(begin + "/" + end)
}

// String is the plan in words.
func (p timetablePlan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "  begins %s, dice %d, pace %d\n", p.begins.Format(time.RFC3339), p.dice, p.pace)
	for _, c := range p.timetables {
		fmt.Fprintf(&b, "  at %s Timetable %s, quiet %t, of 100 children %d fail, %d hang, running up to %s, lingering %s, number %d is stuck: %s\n",
			c.created, c.obj.Name, c.quiet, c.fails, c.hangs, c.runs, c.lingers, c.stuck, jsonOf(&c.obj.Spec))
	}
	for _, e := range p.edits {
		fmt.Fprintf(&b, "  at %s user: %s %d of %s\n", e.at, e.what, e.arg, p.timetables[e.timetable].obj.Name)
	}
	for _, m := range p.mishaps {
		fmt.Fprintf(&b, "  requests %d to %d: %s\n", m.from, m.from+m.count-1, m.what)
	}
	for _, u := range p.upsets {
		fmt.Fprintf(&b, "  at %s for %s: %s\n", u.at, u.lasts, u.what)
	}
	return b.String()
}

// jsonOf is an object as JSON, without what is the same in all worlds.
func jsonOf(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// calendarOf is the Calendar that Timetables name, as a user writes it for the arg-th time.
func calendarOf(begins, now time.Time, arg int) *v1alpha1.Calendar {
	periods := []v1alpha1.CalendarPeriod{{Period: "12-25"}}
	if arg%2 == 1 {
		periods = append(periods, v1alpha1.CalendarPeriod{Period: periodOf(now.Truncate(time.Minute).Add(time.Duration(arg%5-2)*time.Minute), time.Duration(1+arg%3)*time.Minute)})
	}
	if arg%7 == 6 {
		periods = append(periods, v1alpha1.CalendarPeriod{Period: v1alpha1.Period(begins.Format("2006-01-02"))})
	}
	return &v1alpha1.Calendar{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "holidays"}, Spec: v1alpha1.CalendarSpec{Periods: slices.Clip(periods)}}
}
