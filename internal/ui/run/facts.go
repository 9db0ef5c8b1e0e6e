// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"time"

	"github.com/carillon-dev/carillon/internal/plan/duration"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// facts are what there is to know of a run at a glance.
type facts struct {
	// Due is the scheduled time, that of the run that it repeats if Repeats; zero if there is none.
	Due     time.Time
	Repeats bool
	// There is the scheduled time in the zone of the schedule; "" if that is the viewer's, or there is none.
	There string
	// From and Until are its data interval by the schedule as it is now, zero if it has none.
	From, Until time.Time
	Trigger     string
	// Late says how late it was made; "" if it was in time or has no scheduled time.
	Late string
	// Took says how long it took, or has taken; Usual compares it with its schedule's other runs.
	Took, Usual string
	// Since is when it began, in seconds since 1970, while it goes on; 0 otherwise.
	Since int64
	// Pods says how many Pods there are in which state; "" if that says nothing.
	Pods string
	// CPU, Memory and Output say what it used; "" where nobody measured.
	CPU, Memory, Output string
}

// punctual is how late a run may be made without being called late.
const punctual = 10 * time.Second

// triggers say why a run was started.
var triggers = map[run.Trigger]string{
	run.Schedule: "its schedule",
	run.CatchUp:  "its schedule, made up for: nobody looked when its time came",
	run.Manual:   "somebody, by hand",
}

// factsOf gives the facts of a run.
func factsOf(k *known, viewer *time.Location, now time.Time) facts {
	r := &k.run
	f := facts{Trigger: triggers[r.Trigger], Due: k.due(), Repeats: !k.repeats.IsZero()}
	if f.Trigger == "" && r.Owner.Name == "" {
		f.Trigger = "no schedule: it was made on its own"
	}
	const told = "15:04 -0700"
	if zone := k.zone(); zone != nil && !f.Due.IsZero() && f.Due.In(zone).Format(told) != f.Due.In(viewer).Format(told) {
		f.There = f.Due.In(zone).Format("Mon 2 Jan 2006 15:04:05 MST") + " (" + zone.String() + ")"
	}
	f.From, f.Until = k.interval()
	if late := r.Lateness(); late > punctual && r.Retry < 2 {
		f.Late = duration.Short(late) + " late"
	}
	if d := r.Duration(now); !r.Begun().IsZero() && (!r.Ended.IsZero() || !r.Outcome.Ended() && !k.stopped) && (!r.Started.IsZero() || !r.Ended.IsZero()) {
		f.Took = short(d)
		if !r.Outcome.Ended() {
			f.Since = r.Begun().Unix()
		}
		f.Usual = usually(d, k)
	}
	f.Pods = podsText(r)
	if r.CPU > 0 {
		f.CPU = short(r.CPU)
		if took := r.Duration(now); took > time.Second && !r.Ended.IsZero() {
			f.CPU += " of processor time, on average " + cores(r.CPU.Seconds()/took.Seconds())
		}
	}
	if r.MemoryPeak > 0 {
		f.Memory = quantity.Bytes(r.MemoryPeak)
	}
	if r.OutputBytes > 0 {
		f.Output = quantity.Bytes(r.OutputBytes)
	}
	return f
}

// short writes a duration; one of less than a second in milliseconds.
func short(d time.Duration) string {
	if d < time.Second && d > 0 {
		return max(d.Round(time.Millisecond), time.Millisecond).String()
	}
	return duration.Short(d)
}

func cores(n float64) string {
	switch {
	case n < 0.01:
		return "less than 1 % of a processor"
	case n < 0.995:
		return quantity.Grouped(int(n*100+0.5)) + " % of a processor"
	}
	tenths := int(n*10 + 0.5)
	if tenths%10 == 0 {
		return quantity.Count(tenths/10, "processor")
	}
	return quantity.Grouped(tenths/10) + "." + string(rune('0'+tenths%10)) + " processors"
}

// enough is of how many runs something is called usual.
const enough = 3

// usually compares how long a run took with what is usual.
func usually(took time.Duration, k *known) string {
	u := k.usual
	if u.Runs < enough || u.Median <= 0 {
		return ""
	}
	text := "usually " + short(u.Median)
	times := took.Seconds() / u.Median.Seconds()
	switch {
	case took-u.Median < time.Second && u.Median-took < time.Second: // differences that nobody feels
	case k.run.Outcome == run.Succeeded && times < 0.5:
		text += ", so it was much quicker"
	case times >= 2 && took > u.Most && !k.run.Outcome.Ended():
		text += ", and never longer than " + short(u.Most) + " lately"
	case times >= 2 && took > u.Most:
		text += ", so it took much longer"
	}
	return text
}

// podsText counts the Pods of a run that has several.
func podsText(r *run.Run) string {
	if r.PodsSucceeded+r.PodsFailed+r.PodsRunning < 2 && r.Completions < 2 {
		return ""
	}
	var text string
	add := func(n int32, what string) {
		if n == 0 {
			return
		}
		if text != "" {
			text += ", "
		}
		text += quantity.Grouped(int(n)) + " " + what
	}
	add(r.PodsRunning, "running")
	add(r.PodsFailed, "failed")
	if r.Completions > 1 {
		if text != "" {
			text += ", "
		}
		return text + quantity.Grouped(int(r.PodsSucceeded)) + " of " + quantity.Grouped(int(r.Completions)) + " succeeded"
	}
	add(r.PodsSucceeded, "succeeded")
	return text
}

// zone is that of the schedule; nil if there is none.
func (k *known) zone() *time.Location {
	if k.schedule == nil {
		return nil
	}
	if zone := k.schedule.Policy.Timing.Zone; zone != nil {
		return zone
	}
	return time.UTC
}

// farBack is how far a scheduled time before another is looked for.
const farBack = 5 * 366 * 24 * time.Hour

// interval is the data interval of a run: from the scheduled time before its own until its own. Times are those of the
// schedule as it is now.
func (k *known) interval() (from, until time.Time) {
	at := k.due()
	if k.schedule == nil || at.IsZero() {
		return time.Time{}, time.Time{}
	}
	timing := &k.schedule.Policy.Timing
	switch {
	case timing.Every > 0:
		return at.Add(-timing.Every), at
	case timing.Times == nil:
		return time.Time{}, time.Time{}
	}
	if from = timing.Times.LastBetween(at.Add(-farBack), at.Add(-1)); from.IsZero() {
		return time.Time{}, time.Time{}
	}
	return from, at
}
