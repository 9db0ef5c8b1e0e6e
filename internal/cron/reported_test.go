// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron_test

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/cron"
)

// Guarantee 8 of the world: every scheduled time that did not start is told, once. It is judged where one process works
// at a time, nobody sets the clock, and the schedule names minutes. What is forgiven:
//
//   - what was missed before a process saw the CronJob for the first time, or before an edit of which it does not know
//     the schedule that went before;
//   - what a process that died was about to tell: an event is published after the write that says it was told;
//   - under Forbid, what a new process finds held up: another one has told that;
//   - what passed before a CronJob was found suspended.

// tick notes which scheduled times have passed since the last tick, by the spec that was in force. It is called
// whenever the time or the spec is about to be looked at.
func (w *world) tick() {
	c := w.server.cronJob
	if w.enumerated.IsZero() {
		w.enumerated = w.now
	}
	r := rhythm{}
	if c.owner.UID != "" && !c.owner.Deleting && !c.spec.Suspend {
		r = rhythmOf(c.spec)
	}
	for t := w.enumerated.Truncate(time.Minute).Add(time.Minute); r.minute != nil && !t.After(w.now); t = t.Add(time.Minute) {
		if r.minute(t.Minute()) && t.After(c.owner.Created) && t.After(c.edited) {
			w.ledger.unstarted[slot{c.owner.UID, t.Unix()}] = true
		}
	}
	w.enumerated = latest(w.enumerated, w.now)
}

// settled takes scheduled times from those that still have to start or to be told.
func (l *ledger) settled(of types.UID, first, last time.Time) {
	for s := range l.unstarted {
		if s.of == of && s.scheduled >= first.Unix() && s.scheduled <= last.Unix() {
			delete(l.unstarted, s)
		}
	}
}

// forgives settles everything up to t.
func (l *ledger) forgives(of types.UID, t time.Time) { l.settled(of, time.Unix(0, 0), t) }

// judged: what is told is judged in this world.
func (w *world) judged() bool { return w.alone && !w.clockSet }

// meets is called by a sync that sees another schedule than its process, or its annotation, knew.
func (a *attempt) meets() {
	known := a.served
	if n := noteOf(a.in.StoredStatus); known == "" && len(n.Schedules) > 0 {
		was := cron.Spec{Schedules: n.Schedules}
		if n.TimeZone != "" {
			was.TimeZone = &n.TimeZone
		}
		known = scheduleOf(was)
	}
	if known == scheduleOf(a.in.Spec) { // it has only been restarted
		return
	}
	// Managed fields tell less than they might where the same manager has changed something else since.
	vague := a.base.undated || a.in.Owner.ScheduleUnchangedSince.After(a.base.edited) || !a.in.Owner.ScheduleUnchangedSince.After(a.touched)
	if known == "" || known != a.base.previous || vague {
		a.w.ledger.forgives(a.in.Owner.UID, a.in.Now)
	}
}

var toldTimes = regexp.MustCompile(`^(?:The scheduled time|(\d+) scheduled times from (\S+) to) (\S+) (?:was|were) not started, reason \w+`)

func number(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

// tells judges what a sync says of scheduled times that did not start.
func (a *attempt) tells(plan cron.Plan) {
	w, of := a.w, a.in.Owner.UID
	for _, o := range plan.Outcomes {
		if o.Result == cron.Skipped {
			w.ledger.settled(of, o.First, o.Last)
		}
	}
	if a.in.Spec.Suspend || a.in.Owner.Deleting || a.in.Carry.Equal(cron.Carry{}) && a.in.Spec.Concurrency == batchv1.ForbidConcurrent {
		w.ledger.forgives(of, a.in.Now)
	}
	for _, n := range plan.Events {
		if n.Reason != "MissSchedule" {
			continue
		}
		found := toldTimes.FindStringSubmatch(n.Message)
		if found == nil {
			w.broken("guarantee 8: who should understand this? %s", n)
		}
		last, err := time.Parse(time.RFC3339, found[3])
		first := last
		if found[2] != "" && err == nil {
			first, err = time.Parse(time.RFC3339, found[2])
		}
		if err != nil {
			w.broken("guarantee 8: %v: %s", err, n)
		}
		if count := max(1, number(found[1])); w.judged() && !strings.Contains(n.Message, "reason edit") {
			a.tellsOnce(n, count, first, last)
		}
		if recorded := a.in.StoredStatus.LastSchedule; w.judged() && !strings.Contains(n.Message, "reason edit") && (recorded != nil && !last.After(*recorded) || !last.After(noteOf(a.in.StoredStatus).Missed)) {
			w.broken("guarantee 8: recorded already, and told again: %s", n)
		}
		w.ledger.settled(of, first, last)
	}
}

// tellsOnce judges one event: so many scheduled times as it says had not been told, and did not start.
func (a *attempt) tellsOnce(n cron.Event, count int, first, last time.Time) {
	w, r := a.w, rhythmOf(a.in.Spec)
	fires := 0
	for t := first.UTC(); r.minute != nil && !t.After(last); t = t.Add(time.Minute) {
		if r.minute(t.Minute()) {
			fires++
		}
	}
	if fires < count || w.server.cronJob.owner.Generation != a.in.Owner.Generation { // it speaks of a spec before this one
		return
	}
	var news []slot
	for t := first.UTC(); !t.After(last); t = t.Add(time.Minute) {
		time := slot{a.in.Owner.UID, t.Unix()}
		run := w.ledger.runs[time]
		switch {
		case !r.minute(t.Minute()), a.canKnow(run), w.ledger.missed[time] == a.maker(), w.ledger.missed[time] == recordedToo:
		default:
			news = append(news, time)
			w.ledger.missed[time] = a.maker()
		}
	}
	if len(news) < count {
		w.broken("guarantee 8: %d of these were told before, or did start: %s", count-len(news), n)
	}
	for _, time := range news {
		if len(news) == count && !a.failed[cron.StepRecord] { // no process has a reason to tell it again
			w.ledger.missed[time] = recordedToo
		}
	}
}

// canKnow tells whether a process can know that the run was started: it was told, or the child is there and is its
// CronJob's, or its time was recorded before it went.
func (a *attempt) canKnow(run *birth) bool {
	if run == nil || run.lost || !run.told && run.maker == a.maker() {
		return false
	}
	o, there := a.w.server.find(run.UID)
	return !there || o.Controller != nil
}

// recordedToo is by whom a miss was told that is recorded as told.
const recordedToo = "all"

// forgiven forgives what the process was about to tell.
func (p *process) forgiven() {
	for _, a := range append(slices.Clone(p.secondHalves), p.open) {
		if a != nil && a.recorded {
			p.w.ledger.forgives(a.in.Owner.UID, a.in.Now)
		}
	}
}

// allTold is the judgement of a world at peace.
func (w *world) allTold(p *process) {
	if !w.judged() {
		return
	}
	of := w.server.cronJob.owner.UID
	for s := range w.ledger.unstarted {
		t := time.Unix(s.scheduled, 0).UTC()
		collected := p.carry.IsUnreported(t) // it is told within half an hour
		if s.of == of && !w.ledger.names[of][w.nameOf(t)] && !t.After(p.last) && !collected {
			w.broken("guarantee 8: %v did not start, and nobody was told", t)
		}
	}
}
