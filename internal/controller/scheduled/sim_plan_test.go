// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/internal/testkit/make"
	"github.com/carillon-dev/carillon/internal/testkit/sim"
)

// simPlan is everything that is out of the ordinary in a world. It is drawn
// before the world begins, so that rapid can take away from it what a failure
// does not need.
type simPlan struct {
	kind     *simKind
	dice     sim.Dice
	pace     int // of requests and caches: 0 quick, 1 as in a busy cluster, 2 slow
	cronJobs []simCronJob
	edits    []simEdit
	mishaps  []simMishap
	upsets   []simUpset
	// lives, if not nil, is the life of children in place of what chance makes of it, in a world where nothing takes time.
	lives func(*sim.Change)
}

// simCronJob is a CronJob and how its Jobs fare.
type simCronJob struct {
	obj *batchv1.CronJob
	// quiet: nobody touches it or its Jobs.
	quiet bool
	// fails and hangs are how many of a hundred Jobs do that; runs is how long they run at most.
	fails, hangs int
	runs         time.Duration
	// stuck is which of its Jobs nobody can delete; 0: none.
	stuck int
	// created is when a user makes it.
	created time.Duration
}

// simEdit is something that a user does.
type simEdit struct {
	at      time.Duration
	cronJob int
	what    string
	arg     int
}

var simEdits = []string{
	"schedule", "zone", "policy", "deadline", "limits", "suspend", "resume", "template", "annotate", "break the schedule", "break the zone",
	"delete", "recreate", "delete a Job", "delete the latest Job", "delete the latest Job", "orphan a Job", "run by hand", "run by hand, suspended", "squat", "garbage", "nonsense",
}

// simMishap befalls some requests in a row.
type simMishap struct {
	from, count int
	what        sim.Mishap
}

// simUpset befalls a process, a machine or the server.
type simUpset struct {
	at, lasts time.Duration
	what      string
}

var simUpsets = []string{
	"no Jobs seen", "no CronJobs seen", "nothing seen", "relist", "crash", "handover", "two leaders", "standstill", "standstill and takeover",
	"clock forward", "clock back", "over quota", "no webhook", "no statuses", "no deletes", "server away",
}

// storm is how long things go wrong in a world; then it has to come to rest.
const storm = 6 * time.Minute

// simSchedules name minutes, but for the last one. Those of the first group fire often, so that a world of a few
// minutes sees many scheduled times; the others once, early or late in it.
var simSchedules = []string{
	"* * * * *", "*/2 * * * *", "1-59/2 * * * *", "*/3 * * * *", "1,2,4,6-59 * * * *", "*/5 * * * *", "3 12,21 * * *", "5 12,21 * * *", "@every 50s",
}

// often are how many of the schedules fire all the time.
const often = 6

// simZones differ by whole hours from each other.
var simZones = []string{"", "Etc/UTC", "Europe/Rome", "Asia/Tokyo", "America/New_York"}

func drawPlan(t *rapid.T) simPlan {
	within := func(most time.Duration, label string) time.Duration {
		return time.Duration(rapid.IntRange(0, int(most/time.Millisecond)).Draw(t, label)) * time.Millisecond
	}
	// Numbers are drawn small rather than large, so the greater part of a time is one of few.
	sometime := func(most time.Duration) time.Duration {
		return rapid.SampledFrom([]time.Duration{0, most / 5, 2 * most / 5, 3 * most / 5, 4 * most / 5}).Draw(t, "fifth") + within(most/5, "at")
	}
	p := simPlan{kind: drawKind(t), dice: sim.Dice(rapid.Uint64().Draw(t, "dice")), pace: rapid.IntRange(0, 2).Draw(t, "pace")}
	for i := range rapid.IntRange(2, 4).Draw(t, "CronJobs") {
		c := drawCronJob(t, fmt.Sprintf("c%d", i+1), within)
		if !p.kind.zones {
			c.obj.Spec.TimeZone = nil
		}
		p.cronJobs = append(p.cronJobs, c)
	}
	for range rapid.IntRange(0, 10).Draw(t, "edits") {
		p.edits = append(p.edits, simEdit{
			at: sometime(storm - 20*time.Second), cronJob: rapid.IntRange(0, len(p.cronJobs)-1).Draw(t, "CronJob"),
			what: rapid.SampledFrom(simEdits).Draw(t, "edit"), arg: rapid.IntRange(0, 20).Draw(t, "arg"),
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
			at: sometime(storm - time.Minute), lasts: sometime(3 * time.Minute), what: rapid.SampledFrom(simUpsets).Draw(t, "upset"),
		})
	}
	return p
}

func drawKind(t *rapid.T) *simKind {
	name := rapid.SampledFrom(simKindNames).Draw(t, "kind")
	return simKinds[slices.Index(simKindNames, name)]
}

func drawCronJob(t *rapid.T, name string, within func(time.Duration, string) time.Duration) simCronJob {
	one := func(of []string, label string) string { return rapid.SampledFrom(of).Draw(t, label) }
	c := simCronJob{created: within(20*time.Second, "created"), runs: time.Second + within(100*time.Second, "runs")}
	c.quiet = rapid.Bool().Draw(t, "quiet")
	b := make.CronJob(ns, name).Schedule(one(simSchedules[:often], "schedule"))
	if rapid.IntRange(0, 3).Draw(t, "rare") == 3 {
		b = b.Schedule(one(simSchedules[often:], "rare schedule"))
	}
	if zone := one(simZones, "zone"); zone != "" {
		b = b.TimeZone(zone)
	}
	b = b.Policy(rapid.SampledFrom([]batchv1.ConcurrencyPolicy{batchv1.AllowConcurrent, batchv1.ForbidConcurrent, batchv1.ReplaceConcurrent}).Draw(t, "policy"))
	b = b.History(int32(rapid.IntRange(0, 3).Draw(t, "keep successful")), int32(rapid.IntRange(0, 2).Draw(t, "keep failed")))
	if deadline := rapid.SampledFrom([]int64{0, 0, 0, 15, 45, 200}).Draw(t, "deadline"); deadline > 0 {
		b = b.Deadline(deadline)
	}
	c.fails = rapid.SampledFrom([]int{0, 30, 100}).Draw(t, "fails")
	if !c.quiet {
		c.hangs = rapid.SampledFrom([]int{0, 0, 30}).Draw(t, "hangs")
		c.stuck = rapid.SampledFrom([]int{0, 0, 1, 3}).Draw(t, "stuck")
		switch rapid.IntRange(0, 11).Draw(t, "broken") {
		case 9:
			b = b.Schedule("61 * * * *")
		case 10:
			b = b.TimeZone("Mars/Olympus")
		case 11:
			b = b.Schedule("TZ=")
		}
	}
	c.obj = b.New()
	if !c.quiet && rapid.IntRange(0, 3).Draw(t, "ttl") == 3 {
		c.obj.Spec.JobTemplate.Spec.TTLSecondsAfterFinished = new(int32(rapid.IntRange(0, 40).Draw(t, "ttl seconds")))
	}
	return c
}

// String is the plan in words.
func (p simPlan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "  kind %s, dice %d, pace %d\n", p.kind.Info().ShortName, p.dice, p.pace)
	for _, c := range p.cronJobs {
		s := &c.obj.Spec
		fmt.Fprintf(&b, "  at %s CronJob %s %q in %q, %s, deadline %d, keeps %d and %d, quiet %t, of 100 Jobs %d fail, %d hang, running up to %s, number %d is stuck, ttl %d\n",
			c.created, c.obj.Name, s.Schedule, ptr.Deref(s.TimeZone, ""), s.ConcurrencyPolicy, ptr.Deref(s.StartingDeadlineSeconds, -1),
			*s.SuccessfulJobsHistoryLimit, *s.FailedJobsHistoryLimit, c.quiet, c.fails, c.hangs, c.runs, c.stuck,
			ptr.Deref(s.JobTemplate.Spec.TTLSecondsAfterFinished, -1))
	}
	for _, e := range p.edits {
		fmt.Fprintf(&b, "  at %s user: %s %d of %s\n", e.at, e.what, e.arg, p.cronJobs[e.cronJob].obj.Name)
	}
	for _, m := range p.mishaps {
		fmt.Fprintf(&b, "  requests %d to %d: %s\n", m.from, m.from+m.count-1, m.what)
	}
	for _, u := range p.upsets {
		fmt.Fprintf(&b, "  at %s for %s: %s\n", u.at, u.lasts, u.what)
	}
	return b.String()
}
