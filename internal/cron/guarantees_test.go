// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron_test

import (
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/cron"
)

// ledger is the memory that no process has: what the guarantees are checked against.
type ledger struct {
	runs map[slot]*birth
	// latest is the latest scheduled time with a run, names are those of all children that there ever were.
	latest map[types.UID]time.Time
	names  map[types.UID]map[string]bool
	// claimed is the latest scheduled time of which a run that was started by hand has the name.
	claimed map[types.UID]time.Time
	// silenced: times up to this one may be silent because of an edit, by whatever clock it was made.
	silenced time.Time
}

// slot is one scheduled time of one CronJob.
type slot struct {
	of        types.UID
	scheduled int64
}

// birth is the child of a run.
type birth struct {
	object
	// told: its maker knows of it. lost: it was gone before its scheduled time was recorded.
	told, lost bool
}

func newLedger() ledger {
	return ledger{runs: map[slot]*birth{}, latest: map[types.UID]time.Time{}, names: map[types.UID]map[string]bool{},
		claimed: map[types.UID]time.Time{}}
}

func (l *ledger) born(o object) {
	if l.names[o.of] == nil {
		l.names[o.of] = map[string]bool{}
	}
	l.names[o.of][o.Name] = true
	if !o.scheduled.IsZero() {
		l.runs[slot{o.of, o.scheduled.Unix()}] = &birth{object: o}
		l.latest[o.of] = latest(l.latest[o.of], o.scheduled)
	}
}

func (l *ledger) of(o object) *birth {
	if b := l.runs[slot{o.of, o.scheduled.Unix()}]; b != nil && b.UID == o.UID {
		return b
	}
	return &birth{}
}

func (l *ledger) told(o object) { l.of(o).told = true }

// gone notes that an object has left the server.
func (l *ledger) gone(o object, c cronJob) {
	recorded := c.owner.UID == o.of && c.state.LastSchedule != nil && !c.state.LastSchedule.Before(o.scheduled)
	l.of(o).lost = !recorded
}

func (l *ledger) silence(now time.Time) { l.silenced = latest(l.silenced, now) }

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// recordedAt is the version in which lastScheduleTime came to t, zero if it did not.
func (s *server) recordedAt(of types.UID, t time.Time) int {
	for _, c := range s.cronJobs {
		if last := c.state.LastSchedule; c.owner.UID == of && last != nil && !last.Before(t) {
			return c.version
		}
	}
	return 0
}

// mayStart checks a child that the server has just made.
func (a *attempt) mayStart(start cron.Start, o object) {
	w := a.w
	spec, scheduled := a.in.Spec, start.Time.UTC().Format(time.RFC3339)
	if start.Time.After(a.in.Now) {
		w.broken("a run is started early")
	}
	if d := spec.Deadline; d != nil && !start.Time.Add(time.Duration(*d)*time.Second).After(a.in.Now) {
		w.broken("the deadline of %s has passed", scheduled)
	}
	if !start.Time.After(a.in.Owner.Created) {
		w.broken("%s is not later than the creation of the CronJob", scheduled)
	}
	if spec.Suspend || a.in.Owner.Deleting {
		w.broken("suspended or being deleted, it starts a run")
	}
	switch r := rhythmOf(spec); {
	case !r.fires():
		w.broken("a schedule that never fires starts a run")
	case r.minute != nil && !r.last(a.in.Now).Equal(start.Time):
		w.broken("%s is not the latest scheduled time, which is %v", scheduled, r.last(a.in.Now))
	case r.every > 0 && !start.Time.Add(r.every).After(a.in.Now):
		w.broken("%s is not the latest scheduled time", scheduled)
	}
	if start.Name != w.nameOf(start.Time) {
		w.broken("%s is not the name for %s", start.Name, scheduled)
	}
	if edited := a.base.edited; !edited.IsZero() && !start.Time.After(edited) {
		w.broken("guarantee 4: it runs for %s, but the schedule was set at %v", scheduled, edited)
	}
	a.noSecond(o)
	a.noOverlap(o)
	w.ledger.born(o)
}

// noSecond is guarantee 1.
func (a *attempt) noSecond(o object) {
	first := a.w.ledger.runs[slot{o.of, o.scheduled.Unix()}]
	if first == nil {
		return
	}
	another := first.maker != a.maker() || !first.told
	if first.lost && another {
		return // deleted by somebody before anybody could record it, and the process that knew it died
	}
	if known := a.w.server.recordedAt(o.of, o.scheduled); another && !a.w.alone && a.base.version < known {
		return // another process served it, and this one's cache has seen neither the child nor the record
	}
	a.w.broken("guarantee 1: a second child for %v; the first was %s", o.scheduled, first.UID)
}

// noOverlap is guarantee 2, and what Replace promises.
func (a *attempt) noOverlap(o object) {
	policy := a.in.Spec.Concurrency
	for _, name := range a.w.server.names() {
		other := a.w.server.children[name]
		switch _, seen := a.known[other.UID]; {
		case other.UID == o.UID, other.of != o.of, !other.running(), policy == batchv1.AllowConcurrent:
		case other.Controller == nil: // taken away from the CronJob
		case policy == batchv1.ReplaceConcurrent && other.Deleting:
		case other.maker != a.maker() && !seen && !lists(a.in.State.Active, other.UID):
			// somebody else made it, and no cache of this process shows it
		default:
			a.w.broken("guarantee 2: %s, and %s (%s) is unfinished", policy, other.Name, other.UID)
		}
	}
}

func lists(refs []corev1.ObjectReference, uid types.UID) bool {
	return slices.ContainsFunc(refs, func(r corev1.ObjectReference) bool { return r.UID == uid })
}

// mayDelete checks a delete before it is carried out.
func (a *attempt) mayDelete(phase cron.PlanPhase, s cron.Step) {
	w := a.w
	o, ok := w.server.children[s.Name]
	if !ok || o.UID != s.UID {
		return
	}
	if o.of != a.in.Owner.UID {
		w.broken("%s is not ours to delete", s.Name)
	}
	if phase == cron.PhaseStop {
		if a.in.Spec.Concurrency != batchv1.ReplaceConcurrent {
			w.broken("%s is stopped under %s", s.Name, a.in.Spec.Concurrency)
		}
		return
	}
	if o.running() {
		w.broken("%s is pruned while it runs", s.Name)
	}
	if a.known[s.UID].Deleting {
		w.broken("%s is on its way out already", s.Name)
	}
	keep := a.in.Spec.KeepSuccessful
	if o.Phase == cron.Failed {
		keep = a.in.Spec.KeepFailed
	}
	n := int32(0)
	for uid, k := range a.known {
		if k.of == o.of && k.Phase == o.Phase && !a.deleted[uid] {
			n++
		}
	}
	if keep == nil || n <= *keep {
		w.broken("%s is pruned, but the limit is not exceeded", s.Name)
	}
	state := w.server.cronJob.state
	if w.server.cronJob.owner.UID != o.of {
		return
	}
	if !o.scheduled.IsZero() && (state.LastSchedule == nil || state.LastSchedule.Before(o.scheduled)) {
		w.broken("B3: %s is pruned before its scheduled time is recorded", s.Name)
	}
	if w.traits.HasSuccess && o.Finished != nil && (state.LastSuccessful == nil || state.LastSuccessful.Before(*o.Finished)) {
		w.broken("B3: %s is pruned before its success is recorded", s.Name)
	}
}

// mayRecord checks a status that has been written.
func (a *attempt) mayRecord(before cronJob, r cron.Record) {
	w := a.w
	if o := a.started; o != nil && (!r.Status || r.State.LastSchedule == nil || r.State.LastSchedule.Before(o.scheduled) ||
		!lists(r.State.Active, o.UID)) {
		w.broken("the record of the pass that started %s does not have it", o.Name)
	}
	if !r.Status {
		return
	}
	if backwards(before.state.LastSchedule, r.State.LastSchedule) {
		w.broken("lastScheduleTime goes back")
	}
	if backwards(before.state.LastSuccessful, r.State.LastSuccessful) {
		w.broken("lastSuccessfulTime goes back")
	}
	for i, ref := range r.State.Active {
		if lists(r.State.Active[:i], ref.UID) {
			w.broken("%s is listed twice", ref.Name)
		}
		if ref.Namespace == "other" {
			w.broken("%s of another namespace is listed", ref.Name)
		}
		if o, ok := w.server.find(ref.UID); ok && o.of != a.in.Owner.UID && !lists(before.state.Active, ref.UID) {
			w.broken("%s is not ours to list", ref.Name)
		}
	}
	for _, ref := range before.state.Active {
		o, ok := w.server.find(ref.UID)
		if orphaned := o.Controller == nil; orphaned && w.traits.ActiveRebuilt {
			continue // this kind lists its children, and nothing else
		}
		if ok && o.running() && !o.Deleting && !lists(r.State.Active, ref.UID) {
			w.broken("%s runs and is dropped from the list", ref.Name)
		}
	}
}

// staleStatus checks a conflict: a cache that shows a child which its CronJob does not list is behind, so the CronJob
// has to be read live (K8a, V8). Otherwise a cache that stands still would keep the books from being written.
func (a *attempt) staleStatus() {
	if a.w.traits.ActiveRebuilt || a.looked || a.w.server.cronJob.owner.UID != a.in.Owner.UID {
		return
	}
	for _, c := range a.in.Children {
		o := a.known[c.UID]
		if o.of == a.uid && o.maker != a.maker() && c.Controller != nil && c.Phase == cron.Unfinished && !lists(a.base.state.Active, c.UID) {
			a.w.broken("%s is not listed in a status that is old, and nobody looks at the present one", c.Name)
		}
	}
}

// looksInside: a reference to another namespace is no reason to read anything.
func (a *attempt) looksInside(l cron.Look) {
	if l.Name == "elsewhere" || l.Namespace != "batch" {
		a.w.broken("%s of another namespace is read", l.Name)
	}
}

// wakesInTime is the first half of guarantee 3, and guarantee 7: the next pass comes no later than the next scheduled
// time, however this one went, and it lies in the future.
func (a *attempt) wakesInTime(plan cron.Plan) {
	w, in := a.w, a.in
	if !plan.Wake.IsZero() && !plan.Wake.After(in.Now) {
		w.broken("guarantee 7: now it is %v, and the alarm is set to %v", in.Now, plan.Wake)
	}
	r := rhythmOf(in.Spec)
	if in.Spec.Suspend || in.Owner.Deleting || !r.fires() || a.tooMany(r) {
		return
	}
	from := latest(latest(in.Now, in.Owner.Created), w.ledger.silenced)
	for _, t := range []*time.Time{in.State.LastSchedule, a.w.server.cronJob.state.LastSchedule} {
		if t != nil {
			from = latest(from, *t)
		}
	}
	from = latest(latest(from, w.ledger.latest[in.Owner.UID]), w.ledger.claimed[in.Owner.UID])
	if next := r.next(from); plan.Wake.IsZero() || plan.Wake.After(next) {
		w.broken("guarantee 3: the alarm is set to %v, the next scheduled time is %v", plan.Wake, next)
	}
}

// tooMany: this kind rests when too much was missed (T10).
func (a *attempt) tooMany(r rhythm) bool {
	period := max(r.every, time.Second)
	if r.minute != nil {
		period = time.Minute
	}
	base := a.in.Owner.Created
	if last := a.in.State.LastSchedule; last != nil {
		base = *last
	}
	return a.w.traits.ManyRefused && a.in.Now.Sub(base) > 100*period
}

// nothingIsLost is the second half of guarantee 3: when a pass has done its starts, the latest scheduled time has been
// served, unless the contract says that it is not, or the pass failed and will be repeated. A pass may fail only if a
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
	silenced := latest(w.ledger.silenced, in.Owner.Created)
	switch served := latest(w.ledger.latest[in.Owner.UID], w.ledger.claimed[in.Owner.UID]); {
	case r.every > 0 && !due.Add(time.Nanosecond).After(silenced), r.minute != nil && !due.After(silenced):
		return
	case r.every > 0 && served.After(due), r.minute != nil && !served.Before(due), r.every > 0 && a.namedBetween(due, in.Now), r.minute != nil && w.ledger.names[in.Owner.UID][w.nameOf(due)]:
		return
	}
	switch {
	case in.Spec.Concurrency == batchv1.ForbidConcurrent && a.blocked, a.foreign:
		return
	case plan.Err == nil:
		w.broken("guarantee 3: the run of %v is lost: it did not start, and the pass is not repeated", due)
	case a.failed[cron.PhaseLook], a.failed[cron.PhaseStart], a.failed[cron.PhaseStop], a.gone:
	default:
		w.broken("guarantee 3: nothing that matters failed, and the run of %v did not start: %v", due, plan.Err)
	}
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

// cleaned is guarantee 6: a pass whose own deletes and writes work leaves no more finished children than the limits say,
// whatever became of its start; a child that nobody can delete delays no other.
func (a *attempt) cleaned(plan cron.Plan) {
	w := a.w
	if a.failed[cron.PhaseLook] || a.failed[cron.PhaseRecord] || a.failed[cron.PhasePrune] || a.failed[cron.PhaseStop] ||
		a.in.Owner.Deleting && w.traits.DeletedIsIgnored || !rhythmOf(a.in.Spec).fires() && !w.traits.RecordDespiteError {
		return // the last one: a pass that fails over a user's mistake writes nothing, so it prunes no proof (V26)
	}
	for phase, keep := range map[cron.Phase]*int32{cron.Complete: a.in.Spec.KeepSuccessful, cron.Failed: a.in.Spec.KeepFailed} {
		var left []string
		for uid, k := range a.known {
			o, ok := w.server.find(uid)
			if ok && k.of == a.in.Owner.UID && k.Controller != nil && k.Phase == phase && !o.Deleting && !a.stuck[uid] {
				left = append(left, o.Name)
			}
		}
		if keep != nil && len(left) > int(*keep) {
			slices.Sort(left)
			w.broken("guarantee 6: %v are left, the limit is %d; the pass said %v", left, *keep, plan.Err)
		}
	}
}

// undisturbed: the pass saw the present, and nobody else changed it meanwhile.
func (a *attempt) undisturbed() bool {
	return a.fresh && a.w.server.version == a.version+a.writes && a.w.server.cronJob.owner.UID == a.in.Owner.UID
}

// truthful: after a pass that went well and saw everything, status.active lists exactly the children that the schedule
// started and that have not ended, and another pass at the same instant would do and say nothing (guarantee 7).
func (a *attempt) truthful(plan cron.Plan) {
	w := a.w
	if plan.Err != nil || !a.undisturbed() || a.in.Owner.Deleting && w.traits.DeletedIsIgnored {
		return
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
		return // a name that a stranger has, and a delete that fails, are tried again in each pass (Q1)
	}
	for uid := range a.deleted {
		if _, stays := w.server.find(uid); stays {
			return // its mark is news for the next pass
		}
	}
	cronJobs, families := a.seesCronJob, a.seesFamily
	a.catchUp()
	c := a.cronJob()
	in := cron.Input{Now: a.in.Now, Traits: w.traits, Owner: c.owner, Spec: c.spec, State: c.state, Seen: a.memo}
	for _, o := range a.family() {
		in.Children = append(in.Children, o.Child)
	}
	a.seesCronJob, a.seesFamily = cronJobs, families
	again := cron.Decide(in)
	for range maxRounds {
		if again.Next() != cron.PhaseLook {
			break
		}
		for _, l := range again.Look {
			if o, ok := w.server.children[l.Name]; l.Owner {
				in.SawOwner(c.owner, c.spec, c.state, nil)
			} else if ok {
				in.SawChild(l, &o.Child, nil)
			} else {
				in.SawChild(l, nil, nil)
			}
		}
		again = cron.Decide(in)
	}
	if again.Next() != cron.PhaseSpeak || again.Err != nil {
		w.broken("guarantee 7: the same pass again would do something:\n%s", again)
	}
	for _, n := range again.Speak {
		if n.Key == "" {
			w.broken("guarantee 7: the same pass again would say %s", n)
		}
	}
}

// spoken: each act is reported once, and nothing else is reported without a key that names its cause (B6).
func (a *attempt) spoken(plan cron.Plan) {
	var created, deleted int
	for _, n := range plan.Speak {
		switch {
		case n.Type == corev1.EventTypeWarning && n.Key == "":
			a.w.broken("a warning without a key: %s", n)
		case n.Reason == a.w.traits.Events.FailedCreate.Reason && a.unanswered.UID != "" && !a.failed[cron.PhaseLook]:
			if _, there := a.w.server.find(a.unanswered.UID); there {
				a.w.broken("%s is there, although: %s", a.unanswered.Name, n)
			}
		case n.Key != "":
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

// nameOf is the name of the child of a scheduled time.
func (w *world) nameOf(t time.Time) string {
	return fmt.Sprintf("tick-%d", t.Unix()/int64(w.traits.NameUnit/time.Second))
}
