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

// wakesInTime is the first half of guarantee 3, and guarantee 7: the next sync comes no later than the next scheduled
// time, however this one went, and it lies in the future.
func (a *attempt) wakesInTime(plan cron.Plan) {
	w, in := a.w, a.in
	if !plan.Wake.IsZero() && !plan.Wake.After(in.Now) {
		w.broken("guarantee 7: now it is %v, and the timer is set to %v", in.Now, plan.Wake)
	}
	r := rhythmOf(in.Spec)
	if in.Spec.Suspend || in.Owner.Deleting || !r.fires() || a.tooMany(r) {
		return
	}
	from := latest(latest(in.Now, in.Owner.Created), w.ledger.silenced[in.Owner.UID])
	for _, t := range []*time.Time{in.StoredStatus.LastSchedule, a.w.server.cronJob.state.LastSchedule} {
		if t != nil {
			from = latest(from, *t)
		}
	}
	from = latest(latest(from, w.ledger.latest[in.Owner.UID]), w.ledger.claimed[in.Owner.UID])
	if next := r.next(from); plan.Wake.IsZero() || plan.Wake.After(next) {
		w.broken("guarantee 3: the timer is set to %v, the next scheduled time is %v", plan.Wake, next)
	}
}

// tooMany: this kind rests when too much was missed (T10).
func (a *attempt) tooMany(r rhythm) bool {
	period := max(r.every, time.Second)
	if r.minute != nil {
		period = time.Minute
	}
	base := a.in.Owner.Created
	if last := a.in.StoredStatus.LastSchedule; last != nil {
		base = *last
	}
	return a.w.traits.ManyRefused && a.in.Now.Sub(base) > 100*period
}

// nothingIsLost is the second half of guarantee 3: when a sync has done its starts, the latest scheduled time has been
// served, unless the contract says that it is not, or the sync failed and will be repeated. A sync may fail only if a
// request did that a start depends on: never because of a status write or a prune.
func (a *attempt) nothingIsLost(plan cron.Plan) {
	w, in := a.w, a.in
	c := w.server.cronJob
	if c.owner.UID != in.Owner.UID || c.owner.Generation != in.Owner.Generation || c.owner.Deleting || in.Owner.Deleting {
		return
	}
	r := rhythmOf(in.Spec)
	if in.Spec.Suspend || !r.fires() || a.tooMany(r) {
		return
	}
	due := in.Now.Add(-r.every) // some time after this one
	if r.minute != nil {
		due = r.last(in.Now)
	} else if w.traits.NameUnit == time.Minute {
		due = due.Add(-time.Minute) // two times of one minute share a name (B7)
	}
	if d := in.Spec.Deadline; d != nil {
		limit := time.Duration(*d) * time.Second
		if limit < r.every || !due.Add(limit).After(in.Now) && r.minute != nil {
			return
		}
	}
	silenced := latest(w.ledger.silenced[in.Owner.UID], in.Owner.Created)
	switch served := latest(w.ledger.latest[in.Owner.UID], w.ledger.claimed[in.Owner.UID]); {
	case r.every > 0 && !due.Add(time.Nanosecond).After(silenced), r.minute != nil && !due.After(silenced):
		return
	case r.every > 0 && served.After(due), r.minute != nil && !served.Before(due), r.every > 0 && a.namedBetween(due, in.Now), r.minute != nil && w.ledger.names[in.Owner.UID][w.nameOf(due)]:
		return
	}
	switch {
	case in.Spec.Concurrency == batchv1.ForbidConcurrent && a.blocked, a.foreign:
		return
	case a.again(plan):
	case plan.Err == nil:
		w.broken("guarantee 3: the run of %v is lost: it did not start, and the sync is not repeated:\n%s", due, plan)
	case a.failed[cron.StepRead], a.failed[cron.StepStart], a.failed[cron.StepStop], a.gone:
	default:
		w.broken("guarantee 3: nothing that matters failed, and the run of %v did not start: %v", due, plan.Err)
	}
}

// again: the sync read the CronJob live, saw that its schedule was changed, and has left all the rest to another one,
// at once.
func (a *attempt) again(plan cron.Plan) bool {
	return a.looked && plan.Wake.After(a.in.Now) && !plan.Wake.After(a.in.Now.Add(time.Millisecond)) && scheduleOf(a.in.Spec) != a.began
}

// namedBetween tells whether some child of the CronJob, also one that was started by hand, has or had a name of a
// scheduled time from due to now.
func (a *attempt) namedBetween(due, now time.Time) bool {
	names := a.w.ledger.names[a.in.Owner.UID]
	for ; due.Before(now); due = due.Add(a.w.traits.NameUnit) {
		if names[a.w.nameOf(due)] {
			return true
		}
	}
	return names[a.w.nameOf(now)]
}

// cleaned is guarantee 6: a sync whose own deletes and writes work leaves no more finished children than the limits
// say, whatever became of its start; a child that nobody can delete delays no other.
func (a *attempt) cleaned(plan cron.Plan) {
	w := a.w
	if a.again(plan) || a.failed[cron.StepRead] || a.failed[cron.StepRecord] || a.failed[cron.StepPrune] || a.failed[cron.StepStop] ||
		a.in.Owner.Deleting && w.traits.DeletedIsIgnored || !rhythmOf(a.in.Spec).fires() && !w.traits.RecordDespiteError {
		return // the last one: a sync that fails over a user's mistake writes nothing, so it prunes no proof (V26)
	}
	for phase, keep := range map[cron.ChildPhase]*int32{cron.Complete: a.in.Spec.KeepSuccessful, cron.Failed: a.in.Spec.KeepFailed} {
		var left []string
		for uid, k := range a.known {
			o, ok := w.server.find(uid)
			if ok && k.of == a.in.Owner.UID && k.Controller != nil && k.Phase == phase && !o.Deleting && !a.stuck[uid] {
				left = append(left, o.Name)
			}
		}
		if keep != nil && len(left) > int(*keep) {
			slices.Sort(left)
			w.broken("guarantee 6: %v are left, the limit is %d; the sync said %v", left, *keep, plan.Err)
		}
	}
}

// undisturbed: the sync saw the present, and nobody else changed it meanwhile.
func (a *attempt) undisturbed() bool {
	return a.fresh && a.w.server.version == a.version+a.writes && a.w.server.cronJob.owner.UID == a.in.Owner.UID
}

// truthful: after a sync that went well and saw everything, status.active lists exactly the children that the schedule
// started and that have not ended, and another sync at the same instant would do and say nothing (guarantee 7).
func (a *attempt) truthful(plan cron.Plan) {
	w := a.w
	if plan.Err != nil || a.again(plan) || !a.undisturbed() || a.in.Owner.Deleting && w.traits.DeletedIsIgnored {
		return
	}
	if a.nth != a.syncs {
		return // another sync has begun since, and knows more
	}
	active := w.server.cronJob.state.Active
	for _, ref := range active {
		if o, ok := w.server.find(ref.UID); !ok || !o.running() {
			w.broken("status.active lists %s, which is finished or gone", ref.Name)
		}
	}
	for _, name := range w.server.names() {
		o := w.server.children[name]
		if o.of == a.in.Owner.UID && o.Controller != nil && o.running() && !o.Deleting && !o.scheduled.IsZero() && !lists(active, o.UID) {
			w.broken("%s (%s) runs, and status.active does not list it", o.Name, o.UID)
		}
	}
	if a.foreign || len(a.stuck) > 0 {
		return // a name that a stranger has, and a delete that fails, are tried again in each sync (Q1)
	}
	for uid := range a.deleted {
		if _, stays := w.server.find(uid); stays {
			return // its mark is news for the next sync
		}
	}
	cronJobs, families := a.seesCronJob, a.seesFamily
	a.catchUp()
	c := a.cronJob()
	in := cron.Input{Now: a.in.Now, Traits: w.traits, Owner: c.owner, Spec: c.spec, StoredStatus: c.state, Carry: a.carry}
	for _, o := range a.family() {
		in.Children = append(in.Children, o.Child)
	}
	a.seesCronJob, a.seesFamily = cronJobs, families
	again := cron.Decide(in)
	for range maxRounds {
		if again.NextStep() != cron.StepRead {
			break
		}
		for _, l := range again.Read {
			if o, ok := w.server.children[l.Name]; l.Owner {
				in.AddReadOwnerResult(c.owner, c.spec, c.state, nil)
			} else if ok {
				in.AddReadChildResult(l, &o.Child, nil)
			} else {
				in.AddReadChildResult(l, nil, nil)
			}
		}
		again = cron.Decide(in)
	}
	if again.NextStep() != cron.StepPublish || again.Err != nil {
		w.broken("guarantee 7: the same sync again would do something:\n%s", again)
	}
	for _, n := range again.Events {
		if n.DedupKey == "" {
			w.broken("guarantee 7: the same sync again would say %s", n)
		}
	}
}

// published: each act is reported once, and nothing else is reported without a key that names its cause (B6).
func (a *attempt) published(plan cron.Plan) {
	var created, deleted int
	for _, n := range plan.Events {
		switch {
		case n.Type == corev1.EventTypeWarning && n.DedupKey == "":
			a.w.broken("a warning without a key: %s", n)
		case n.Reason == a.w.traits.Events.FailedCreate.Reason && a.unanswered.UID != "" && !a.failed[cron.StepRead]:
			// One that an outsider has taken from its CronJob meanwhile is a stranger's.
			if o, there := a.w.server.find(a.unanswered.UID); there && o.Controller != nil {
				a.w.broken("%s is there, although: %s", a.unanswered.Name, n)
			}
		case n.DedupKey != "":
		case n.Reason == a.w.traits.Events.Created.Reason:
			created++
		default:
			deleted++
		}
	}
	if told := a.started != nil; created > 0 && !told || created > 1 {
		a.w.broken("%d children are reported as created", created)
	}
	if deleted > len(a.deleted) {
		a.w.broken("%d children are reported as deleted, %d were", deleted, len(a.deleted))
	}
}
