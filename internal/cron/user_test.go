// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron_test

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/carillon-dev/carillon/internal/cron"
)

var (
	policies  = []batchv1.ConcurrencyPolicy{batchv1.AllowConcurrent, batchv1.ForbidConcurrent, batchv1.ReplaceConcurrent, batchv1.ForbidConcurrent}
	keeps     = []*int32{new(int32(0)), new(int32(1)), nil, new(int32(3))}
	deadlines = []*int64{nil, new(int64(600)), new(int64(90)), new(int64(10))}
)

// apply makes a CronJob under the name, a new one each time.
func (w *world) apply() {
	c := cronJob{owner: cron.Owner{Namespace: "batch", Name: "tick", UID: w.server.uid("cj"), Generation: 1,
		Created: w.now.Truncate(time.Second), ScheduleUnchangedSince: w.now.Truncate(time.Second)}}
	c.spec = cron.Spec{Concurrency: choose(w, "policy", policies), Deadline: choose(w, "deadline", deadlines),
		KeepSuccessful: choose(w, "keep successful", keeps), KeepFailed: choose(w, "keep failed", keeps)}
	w.used = map[[2]string]bool{}
	w.reschedule(&c)
	c.edited = time.Time{}
	w.server.set(c)
	delete(w.ledger.silenced, c.owner.UID)
	w.tell("user", "creates the CronJob %s: %s", c.owner.UID, describe(c.spec))
}

// scheduleOf tells schedule and zone.
func scheduleOf(s cron.Spec) string {
	if s.TimeZone != nil {
		return s.Schedules[0] + " in " + *s.TimeZone
	}
	return s.Schedules[0]
}

func describe(s cron.Spec) string {
	text := scheduleOf(s)
	text += ", " + string(s.Concurrency)
	if s.Deadline != nil {
		text += ", deadline " + (time.Duration(*s.Deadline) * time.Second).String()
	}
	for _, class := range []struct {
		name string
		keep *int32
	}{{"successful", s.KeepSuccessful}, {"failed", s.KeepFailed}} {
		if class.keep != nil {
			text += ", keeps " + string('0'+*class.keep) + " " + class.name
		}
	}
	if s.Suspend {
		text += ", suspended"
	}
	return text
}

// reschedule sets a schedule and a zone that this CronJob never had together: nobody can tell that a schedule was
// changed to another one and back while nobody looked.
func (w *world) reschedule(c *cronJob) bool {
	r, place := rhythms[w.roll("rhythm", len(rhythms))], places[0]
	if w.kind != "T" && w.odds("elsewhere", 2) {
		place = choose(w, "place", places)
	}
	c.undated = false
	if c.spec.TimeZone != nil && w.odds("the zone goes", 1) {
		// The manager that owned nothing but the time zone takes it away, and its entry is gone.
		for i := range rhythms {
			if rhythms[i].text == c.spec.Schedules[0] {
				r, place, c.undated = rhythms[i], places[0], true
			}
		}
	}
	if w.used[[2]string{r.text, place}] {
		c.undated = false
		return false
	}
	w.used[[2]string{r.text, place}] = true
	if len(c.spec.Schedules) > 0 {
		c.previous = scheduleOf(c.spec)
	}
	c.spec.Schedules, c.spec.TimeZone = []string{r.text}, nil
	if place != "" {
		c.spec.TimeZone = &place
	}
	c.edited = w.now
	w.ledger.silence(c.owner.UID, w.now)
	return true
}

// edit changes the spec.
func (w *world) edit() {
	w.tick()
	c := w.server.cronJob
	if c.owner.UID == "" {
		w.apply()
		return
	}
	touches := w.odds("by the owner of the schedule", 1)
	switch w.roll("edit", 8) {
	case 0, 1:
		c.spec.Suspend = !c.spec.Suspend
	case 2:
		c.spec.Concurrency = choose(w, "policy", policies)
	case 3:
		c.spec.KeepSuccessful, c.spec.KeepFailed = choose(w, "keep successful", keeps), choose(w, "keep failed", keeps)
	case 4:
		c.spec.Deadline = choose(w, "deadline", deadlines)
	default:
		if !w.reschedule(&c) {
			return
		}
		touches = !c.undated
	}
	if touches {
		c.owner.ScheduleUnchangedSince = w.now.Truncate(time.Second)
	}
	c.owner.Generation++
	w.server.set(c)
	w.tell("user", "edits the CronJob: %s", describe(c.spec))
}

// meddle is what users, the garbage collector, the TTL controller and broken clients do to the objects of the
// namespace.
func (w *world) meddle() {
	s := w.server
	switch w.roll("meddle", 8) {
	case 0, 1: // somebody, or its TTL, removes a child
		for _, name := range s.names() {
			if w.odds("removed", 1) {
				w.outsiderDeletes(name)
				return
			}
		}
	case 2:
		w.byHand()
	case 3:
		w.foreign()
	case 4:
		w.release()
	case 5: // the status is not only ours
		if c := s.cronJob; c.owner.UID != "" {
			refs := slices.Clone(c.state.Active)
			refs = append(refs, refs...)
			c.state.Active = append(refs, corev1.ObjectReference{Kind: "Job", Namespace: "other", Name: "elsewhere", UID: "elsewhere"},
				corev1.ObjectReference{Kind: "Job", Namespace: "batch", Name: "no-such", UID: "no-such"})
			s.set(c)
			w.tell("outsider", "writes nonsense into status.active")
		}
	case 6: // somebody takes a child away from its CronJob
		for _, name := range s.names() {
			if o := s.children[name]; o.Controller != nil && w.odds("orphaned", 2) {
				o.Controller = nil
				s.put(o)
				w.tell("outsider", "orphans %s (%s)", name, o.UID)
				return
			}
		}
	default:
		w.remove()
	}
}

// outsiderDeletes removes an object as others do, with rights that we may not have.
func (w *world) outsiderDeletes(name string) {
	o, ok := w.server.children[name]
	if !ok {
		return
	}
	w.tell("outsider", "deletes %s (%s)", name, o.UID)
	o.stubborn = false
	w.server.children[name] = o
	if err := w.server.delete(name, o.UID); err != nil {
		w.broken("an outsider cannot delete %s: %v", name, err)
	}
}

// byHand makes a run by hand: a child without a scheduled time; sometimes it has a copied stamp, or the name of a run
// to come.
func (w *world) byHand() {
	c := w.server.cronJob
	if c.owner.UID == "" {
		return
	}
	o := object{Child: cron.Child{APIVersion: "batch/v1", Kind: "Job", Namespace: "batch", Name: "by-hand",
		Controller: controlledBy(w.traits, c.owner.UID), Created: w.now, Started: new(w.now)}, of: c.owner.UID, maker: "user"}
	if w.odds("copied stamp", 2) && !w.traits.TrustStamp {
		o.Stamp = w.now.Add(time.Minute).Truncate(time.Minute).Format(time.RFC3339)
	} else if w.odds("its name", 3) {
		o.Name = w.nameOf(w.comingTime(c))
		w.ledger.claimed[o.of] = latest(w.ledger.claimed[o.of], w.comingTime(c))
	}
	if o.Name == "by-hand" && w.odds("suspended", 2) {
		o.Suspended, o.Status = true, "Suspended"
	}
	if o, err := w.server.create(o); err == nil {
		w.ledger.born(o)
		w.tell("user", "runs %s (%s) by hand, suspended: %v", o.Name, o.UID, o.Suspended)
	}
}

// foreign makes an object of somebody else, often with the name of a run to come.
func (w *world) foreign() {
	o := object{Child: cron.Child{APIVersion: "batch/v1", Kind: "Job", Namespace: "batch", Name: "tick-1", Created: w.now,
		Started: new(w.now), Stamp: w.now.Truncate(time.Minute).Format(time.RFC3339)}, maker: "stranger", of: "stranger"}
	if w.odds("its name", 1) {
		o.Name = w.nameOf(w.comingTime(w.server.cronJob))
	}
	if w.odds("controlled", 1) {
		o.Controller = controlledBy(w.traits, "cj-0")
	}
	if w.odds("finished", 1) {
		o.Phase = cron.Complete
	}
	if o, err := w.server.create(o); err == nil {
		w.tell("stranger", "creates %s (%s)", o.Name, o.UID)
	}
}

func (w *world) comingTime(c cronJob) time.Time {
	if c.owner.UID == "" || !rhythmOf(c.spec).fires() {
		return w.now
	}
	return rhythmOf(c.spec).next(w.now)
}

// release lets go what is on its way out: finalizers are removed, garbage is collected.
func (w *world) release() {
	for _, name := range w.server.names() {
		if o := w.server.children[name]; o.doomed || o.held && o.Deleting {
			w.tell("server", "lets %s (%s) go", name, o.UID)
			w.server.drop(name)
		}
	}
}

// remove deletes the CronJob: at once, its children following in the background or left alone; or in the foreground.
func (w *world) remove() {
	c := w.server.cronJob
	switch {
	case c.owner.UID == "":
		w.apply()
		return
	case !c.owner.Deleting && w.odds("foreground", 1):
		c.owner.Deleting = true
		w.server.set(c)
		w.tell("user", "deletes the CronJob in the foreground")
		return
	}
	orphaned := w.odds("orphaned", 1)
	for _, name := range w.server.names() {
		if o := w.server.children[name]; o.Controller != nil && o.Controller.UID == c.owner.UID {
			o.doomed = !orphaned
			if orphaned {
				o.Controller = nil
			}
			w.server.put(o)
		}
	}
	w.server.set(cronJob{})
	w.tell("user", "deletes the CronJob, children orphaned: %v", orphaned)
	if w.odds("made again", 1) {
		w.apply()
	}
}

// finishSome lets children end.
func (w *world) finishSome() {
	for _, name := range w.server.names() {
		if o := w.server.children[name]; o.running() && w.odds("ends", 1) {
			w.finish(o)
		}
	}
}

func (w *world) finish(o object) {
	phase := cron.Complete
	if w.odds("fails", 2) {
		phase = cron.Failed
	}
	o = w.server.finish(o, w.now, phase)
	w.tell(o.Name, "(%s) ends: %s", o.UID, o.Phase)
}
