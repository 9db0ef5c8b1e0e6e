// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/testkit/sim"
	"github.com/carillon-dev/carillon/schedule"
)

// truth is what really happened, as the server saw it, and the judge of what
// the controller makes of it: each write is judged when it happens. What holds
// when:
//
//  1. At most one Job for each UID of a CronJob and scheduled time. Its name locks it while the Job exists, and
//     lastScheduleTime after that. So it holds for a process that has seen the one or the other. Where somebody
//     deletes the Job before any status write could record its time, the process that was told of it remembers; only
//     its death loses the memory. Where two processes lead, or one takes over with an old cache, it holds unless the
//     Job has come and gone between what that cache shows and now.
//  2. Forbid never starts beside an unfinished Job, and Replace never beside one that it has not stopped. It holds
//     against every Job that the process made itself, whatever its caches show and whether or not it was told; and
//     against those of former processes, other leaders and users from the moment at which one of the caches shows the
//     Job or its entry in status.active. So two processes that lead at once may overlap for as long as their caches
//     lag.
//  3. When nothing stands between a scheduled time and its Job (a failing status write, an old cache, a Job that
//     cannot be deleted do not), the Job is made at once; when something did, the latest one is made when it is over.
//  4. Nothing starts for a time up to the edit that set the schedule or the zone, nor while suspended.
//  8. Each scheduled time of a CronJob that nobody touches has its Job or is reported as missed (sim_reported_test.go).
//
// In the end lastSuccessfulTime has each success whose Job is there, or that was shown to the process that leads, be it
// with the deletion of the Job (cronjob.md B13).
//
// The rest is judged by what is left (checkHistory, checkEnd) and by how the requests are protected (requested).
type truth struct {
	*simulation
	owners map[types.UID]*ownerTruth
	jobs   map[types.UID]*jobTruth
	// overlap: two processes led at once. stale: a process began with lists that were out of date.
	overlap, stale bool
	// blind is until when CronJobs are not seen, and blindFrom since when; jobless is until when Jobs are not seen.
	blindFrom, blind, jobless time.Duration
	// slowest is by how much a clock of the controller was behind that of the server, and fastest by how much ahead.
	slowest, fastest time.Duration
	// made counts the Jobs that the controller made. unsure are those whose create was not answered well.
	made   int
	unsure map[string]bool
	// unclear are the names of creates that were not answered well, whether or not they were carried out.
	unclear map[string]bool
	told    map[string]int
	// excess are the requests that events account for: each half hour a name that is taken is tried again, which takes
	// a look at the CronJob, the create, and a look at who has the name; and what was missed is recorded.
	excess int
	parsed map[[2]string]parsed
}

type ownerTruth struct {
	uid  types.UID
	name string
	// timetables are those that it had, the latest last.
	timetables []timetableTruth
	// edited is when anything in it was changed last, by the server's clock; touched is when it or its Jobs were.
	created, edited time.Time
	touched         time.Duration
	runs            map[int64]*jobTruth
	// told are the scheduled times of which it was told that they did not start.
	told       toldTruths
	latest     time.Time
	generation int64
	// deadlines: it had one at some time.
	deadlines bool
}

type timetableTruth struct {
	generation     int64
	schedule, zone string
	set            time.Time
}

type jobTruth struct {
	name, of, maker string
	owner           types.UID
	number          int
	scheduled       time.Time
	made, ended     time.Duration // ended: 0 while it is unfinished and there
	last            *batchv1.Job
	// lost: it was gone, or not its CronJob's any more, before its scheduled time was recorded.
	gone, lost, hangs bool
	// shown are the processes that were shown how it ended and that it is gone.
	shown []string
}

// rests reports whether it is a run by hand that runs nothing: what is suspended holds up nobody (B1).
func (j *jobTruth) rests() bool {
	return j.scheduled.IsZero() && ptr.Deref(j.last.Spec.Suspend, false) && j.last.Status.Active == 0
}

// orphaned reports whether somebody took the Job from its CronJob.
func (j *jobTruth) orphaned() bool { return metav1.GetControllerOfNoCopy(j.last) == nil }

// view is what the caches of a process showed when a sync began. Its owner has no UID if there was none.
type view struct {
	now      time.Time
	owner    cron.Owner
	status   cron.Memory
	children []types.UID
}

// endKnown reports whether the process that leads can know how the Job ended: it is there, or was shown to it when it
// went. It cannot know of one that went while it did not run, or between two lists of it.
func (t *truth) endKnown(j *jobTruth) bool {
	leader := t.leader()
	return !j.orphaned() && (!j.gone || leader != nil && slices.Contains(j.shown, leader.process.Name))
}

// witness notes what a process is shown of Jobs that go.
func (t *truth) witness(m *simManager) handlers {
	return handlers{DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[client.Object], _ queue) {
		// The last state that the cache had may be an older one, and a Job of a CronJob that it does not show is nobody's.
		child, err := m.kind.ReadChild(e.Object, m.kind.Info().Child, nil)
		if j := t.jobs[e.Object.GetUID()]; err == nil && child.Phase != cron.Unfinished && m.controller.ownerOf(e.Object) != nil {
			j.shown = append(j.shown, m.process.Name)
		}
	}}
}

func newTruth(s *simulation) *truth {
	t := &truth{simulation: s, owners: map[types.UID]*ownerTruth{}, jobs: map[types.UID]*jobTruth{}, unsure: map[string]bool{}, unclear: map[string]bool{},
		told: map[string]int{}, parsed: map[[2]string]parsed{}}
	s.server.OnChange(t.changed)
	s.server.OnRequest(t.requested)
	return t
}

func (t *truth) breaks(format string, args ...any) { t.world.Break(format, args...) }

// ours reports whether it was a process of the controller.
func ours(by string) bool { return strings.HasPrefix(by, "manager-") }

func (t *truth) manager(by string) *simManager {
	n, _ := strconv.Atoi(strings.TrimPrefix(by, "manager-"))
	return t.managers[n-1]
}

func (m *simManager) see(key types.NamespacedName) view {
	m.truth.clocks()
	v := view{now: m.process.Clock.Now()}
	if obj, ok := m.controller.owners.Get(key); ok {
		var err error
		if v.owner, _, v.status, err = m.kind.Read(obj, m.controller.readOptions); err != nil {
			panic(err)
		}
		for _, child := range m.controller.child.cache.ControlledBy(v.owner.UID) {
			v.children = append(v.children, child.GetUID())
		}
	}
	return v
}

// blinded notes that CronJobs are not seen for a while from now.
func (t *truth) blinded(lasts time.Duration) {
	now := t.world.Now()
	if t.blind < now-time.Minute {
		t.blindFrom = now
	}
	t.blind = max(t.blind, now+lasts)
}

// clocks notes how far clocks are apart.
func (t *truth) clocks() {
	for _, m := range t.managers {
		if !m.process.Dead() {
			ahead := m.process.Clock.Now().Sub(t.server.Clock.Now())
			t.slowest, t.fastest = min(t.slowest, ahead), max(t.fastest, ahead)
		}
	}
}

func (t *truth) touch(uid types.UID) { t.owners[uid].touched = t.world.Now() }

// befalls notes a request of which the sender is not told the truth.
func (t *truth) befalls(r sim.Request, m sim.Mishap) {
	if r.Verb == "create" && (m == sim.AnswerLost || m == sim.LateTimeout || m == sim.DiesAfter) {
		t.unsure[r.Name] = true
	}
}

// stuck reports whether a delete is of the one Job that nobody can delete.
func (t *truth) stuck(r sim.Request) bool {
	j := t.server.Get("Job", ns, r.Name)
	return j != nil && t.immovable(t.jobs[j.GetUID()])
}

func (t *truth) immovable(j *jobTruth) bool {
	i := slices.Index(t.keys, types.NamespacedName{Namespace: ns, Name: j.of})
	return i >= 0 && j.number > 0 && !t.movable && t.plan.cronJobs[i].stuck == j.number
}

// used reports whether the CronJob had that timetable before.
func (t *truth) used(uid types.UID, schedule, zone string) bool {
	return slices.ContainsFunc(t.owners[uid].timetables, func(had timetableTruth) bool { return had.schedule == schedule && had.zone == zone })
}

// requested judges how a request is protected.
func (t *truth) requested(r sim.Request) {
	if !ours(r.By) {
		return
	}
	if r.Verb == "get" && t.unclear[r.Name] {
		t.excess++ // what became of a create without an answer is read until that is known
	}
	if t.kind.existsFails && r.Verb == "create" && t.server.Get(r.Kind, r.Namespace, r.Name) != nil {
		t.excess += 3 // this, and what was looked at before
	}
	switch {
	case r.Namespace != ns, r.Name == "elsewhere":
		t.breaks("%s: a reference into another namespace is no reason for that", r)
	case r.Verb == "status" && (r.Version == "" || r.UID == ""):
		t.breaks("%s without a resource version and a UID", r)
	case r.Verb == "delete" && r.UID == "":
		t.breaks("%s without a UID", r)
	case r.Verb == "patch" && r.Kind == "CronJob" && slices.Contains(t.kind.custom, r.Kind) && r.UID != "":
		// the annotation of ours, which goes with the status where the API allows it
	case r.Verb == "list", r.Verb == "update", r.Verb == "patch",
		r.Kind == "CronJob" && r.Verb != "status" && r.Verb != "get", r.Kind == "Job" && r.Verb == "status":
		t.breaks("%s: that is not the business of the controller", r)
	}
}

func (t *truth) changed(c *sim.Change) {
	switch obj := c.New.(type) {
	case *batchv1.CronJob:
		old, _ := c.Old.(*batchv1.CronJob)
		t.ownerChanged(old, obj, c)
	case *batchv1.Job:
		old, _ := c.Old.(*batchv1.Job)
		t.jobChanged(old, obj, c)
	}
}

func (t *truth) ownerChanged(old, cj *batchv1.CronJob, c *sim.Change) {
	o := t.owners[cj.UID]
	if o == nil {
		o = &ownerTruth{uid: cj.UID, name: cj.Name, created: cj.CreationTimestamp.Time, runs: map[int64]*jobTruth{}}
		t.owners[cj.UID] = o
	}
	o.generation = cj.Generation
	if !ours(c.By) {
		o.touched = t.world.Now()
		if now := t.server.Clock.Now(); now.After(o.edited) { // not by a clock that was set back since
			o.edited = now
		}
		o.deadlines = o.deadlines || cj.Spec.StartingDeadlineSeconds != nil
		is := timetableTruth{cj.Generation, cj.Spec.Schedule, ptr.Deref(cj.Spec.TimeZone, ""), t.server.Clock.Now()}
		if n := len(o.timetables); n == 0 || o.timetables[n-1].schedule != is.schedule || o.timetables[n-1].zone != is.zone {
			o.timetables = append(o.timetables, is)
		}
		return
	}
	if c.Verb == "status" {
		t.statusWritten(o, old, cj, c.By)
	}
}

// statusWritten judges a status that the controller wrote.
func (t *truth) statusWritten(o *ownerTruth, old, cj *batchv1.CronJob, by string) {
	was, is := &old.Status, &cj.Status
	if back(was.LastScheduleTime, is.LastScheduleTime) {
		t.breaks("%s takes lastScheduleTime of %s back from %v to %v", by, cj.Name, was.LastScheduleTime, is.LastScheduleTime)
	}
	if back(was.LastSuccessfulTime, is.LastSuccessfulTime) {
		t.breaks("%s takes lastSuccessfulTime of %s back from %v to %v", by, cj.Name, was.LastSuccessfulTime, is.LastSuccessfulTime)
	}
	if last := is.LastScheduleTime; last != nil && !last.Equal(was.LastScheduleTime) && !t.ran(o, last.Time) {
		t.breaks("%s records %v as the last scheduled time of %s, for which no Job was made", by, last, cj.Name)
	}
	for i, ref := range is.Active {
		j := t.jobs[ref.UID]
		switch {
		case lists(is.Active[:i], ref.UID):
			t.breaks("%s lists %s twice in %s", by, ref.Name, cj.Name)
		case j == nil && lists(was.Active, ref.UID): // nonsense of somebody else, about which nothing is known yet
		case j == nil || j.owner != o.uid:
			t.breaks("%s lists %s (%s) in %s (%s), whose it is not", by, ref.Name, ref.UID, cj.Name, cj.UID)
		}
	}
	for _, ref := range was.Active {
		j := t.jobs[ref.UID]
		if j == nil || t.kind.rebuilt && (j.orphaned() || len(is.Active) == t.kind.maxActive) {
			continue
		}
		if j.ended == 0 && j.last.DeletionTimestamp == nil && !lists(is.Active, ref.UID) {
			t.breaks("%s drops %s, which runs, from %s", by, ref.Name, cj.Name)
		}
	}
}

func activeHas(active []cron.ActiveRun, uid types.UID) bool {
	return slices.ContainsFunc(active, func(r cron.ActiveRun) bool { return r.UID == uid })
}

func lists(refs []corev1.ObjectReference, uid types.UID) bool {
	return slices.ContainsFunc(refs, func(r corev1.ObjectReference) bool { return r.UID == uid })
}

func back(was, is *metav1.Time) bool { return was != nil && (is == nil || is.Before(was)) }

// had reports whether the CronJob ever had that schedule.
func (o *ownerTruth) had(schedule string) bool {
	return slices.ContainsFunc(o.timetables, func(t timetableTruth) bool { return t.schedule == schedule })
}

// ran reports whether there was a Job for the scheduled time, or for another one that shares its name (cronjob.md B7).
func (t *truth) ran(o *ownerTruth, at time.Time) bool {
	if o.runs[at.Unix()] != nil {
		return true
	}
	for tick := range o.runs {
		if tick/t.kind.nameUnit == at.Unix()/t.kind.nameUnit {
			return true
		}
	}
	return false
}

// nameOf is the name of the Job of a scheduled time.
func (t *truth) nameOf(owner string, at time.Time) string {
	return fmt.Sprintf("%s-%d", owner, at.Unix()/t.kind.nameUnit)
}

func (t *truth) jobChanged(old, job *batchv1.Job, c *sim.Change) {
	j := t.jobs[job.UID]
	if j == nil {
		j = &jobTruth{name: job.Name, maker: c.By, made: t.world.Now()}
		if ref := metav1.GetControllerOfNoCopy(job); ref != nil {
			j.of, j.owner = ref.Name, ref.UID
		}
		if at, err := time.Parse(time.RFC3339, job.Annotations[t.kind.Info().StampAnnotation]); err == nil {
			j.scheduled = at
		}
		t.jobs[job.UID] = j
	}
	j.last, j.gone = job, c.Gone
	if j.ended == 0 && (c.Gone || simFinished(job)) {
		j.ended = t.world.Now()
	}
	if (c.Gone || metav1.GetControllerOfNoCopy(job) == nil) && !t.recorded(j) {
		j.lost = true
	}
	switch {
	case !ours(c.By):
	case old == nil:
		t.jobMade(j, t.manager(c.By))
	case c.Verb == "delete":
		t.jobDeleted(j, old, t.manager(c.By))
	}
}

// recorded reports whether the status holds a Job's scheduled time, or a later one.
func (t *truth) recorded(j *jobTruth) bool {
	cj, _ := t.server.Get("CronJob", ns, j.of).(*batchv1.CronJob)
	return cj != nil && cj.UID == j.owner && cj.Status.LastScheduleTime != nil && !cj.Status.LastScheduleTime.Time.Before(j.scheduled)
}

// jobMade judges a run.
func (t *truth) jobMade(j *jobTruth, m *simManager) {
	t.made++
	o := t.owners[j.owner]
	v := m.views[types.NamespacedName{Namespace: ns, Name: j.of}]
	switch {
	case o == nil || j.scheduled.IsZero():
		t.breaks("%s is made for nobody, or for no scheduled time", j.name)
		return
	case v.owner.UID != j.owner:
		t.breaks("%s is made for %s, which the cache does not show", j.name, j.owner)
		return
	case j.name != t.nameOf(o.name, j.scheduled):
		t.breaks("%s is made for %v", j.name, j.scheduled)
	case !j.scheduled.After(o.created):
		t.breaks("%s is made for %v, before the CronJob was", j.name, j.scheduled)
	case j.scheduled.After(v.now) && j.scheduled.After(m.process.Clock.Now()):
		t.breaks("%s is made early", j.name)
	}
	t.noSecond(o, j, m, v)
	o.runs[j.scheduled.Unix()] = j
	if j.scheduled.After(o.latest) {
		o.latest = j.scheduled
	}
	t.noneBefore(o, j, v)
	now, _ := t.server.Get("CronJob", ns, o.name).(*batchv1.CronJob)
	if now == nil || now.UID != o.uid || now.Generation != v.owner.Generation {
		return // what the sync decided on is not known for certain
	}
	spec := &now.Spec
	if ptr.Deref(spec.Suspend, false) {
		t.breaks("guarantee 4: %s is made while %s is suspended", j.name, o.name)
	}
	if d := spec.StartingDeadlineSeconds; d != nil && *d < 1e6 && v.now.Sub(j.scheduled) >= time.Duration(*d)*time.Second {
		t.breaks("%s is made %s late, the deadline is %d s", j.name, v.now.Sub(j.scheduled), *d)
	}
	switch s, err := t.parse(spec); {
	case err != nil:
		t.breaks("guarantee 8: %s is made for a schedule that nobody can read", j.name)
	case spec.Schedule != simSchedules[8]:
		if last := s.LastBetween(v.now.Add(-25*time.Hour), v.now); !last.Equal(j.scheduled) {
			t.breaks("guarantee 3: %s is made for %v, the latest scheduled time is %v", j.name, j.scheduled, last)
		}
	}
	t.noOverlap(o, j, m, v, spec.ConcurrencyPolicy)
}

func (t *truth) parse(spec *batchv1.CronJobSpec) (schedule.Schedule, error) {
	key := [2]string{spec.Schedule, ptr.Deref(spec.TimeZone, "Etc/UTC")}
	if p, ok := t.parsed[key]; ok {
		return p.schedule, p.err
	}
	var p parsed
	var zone *time.Location
	if zone, p.err = schedule.LoadZone(key[1]); p.err == nil {
		p.schedule, p.err = schedule.Parse(spec.Schedule, zone)
	}
	t.parsed[key] = p
	return p.schedule, p.err
}

// parsed is a schedule as it was read, or why it could not be.
type parsed struct {
	schedule schedule.Schedule
	err      error
}

// noSecond is guarantee 1.
func (t *truth) noSecond(o *ownerTruth, j *jobTruth, m *simManager, v view) {
	first := o.runs[j.scheduled.Unix()]
	if first == nil {
		return
	}
	another := first.maker != j.maker || t.unsure[first.name]
	switch last := v.status.LastSchedule; {
	case first.lost && another:
		return
	case another && (t.overlap || t.stale) && (last == nil || last.Before(j.scheduled)):
		return
	}
	t.breaks("guarantee 1: %s makes %s (%s) for %v, for which %s made %s", m.process.Name, j.name, j.last.UID, j.scheduled, first.maker, first.last.UID)
}

// noneBefore is guarantee 4 for edits. Clocks of the controller that are behind take an edit for older than it is.
func (t *truth) noneBefore(o *ownerTruth, j *jobTruth, v view) {
	var set time.Time
	for _, had := range o.timetables[1:] {
		if had.generation <= v.owner.Generation {
			set = had.set
		}
	}
	if !set.IsZero() && !j.scheduled.After(set.Add(t.slowest)) {
		t.breaks("guarantee 4: %s is made for %v, but the schedule was set at %v", j.name, j.scheduled, set)
	}
}

// noOverlap is guarantee 2, and what Replace promises.
func (t *truth) noOverlap(o *ownerTruth, made *jobTruth, m *simManager, v view, policy batchv1.ConcurrencyPolicy) {
	if policy == batchv1.AllowConcurrent {
		return
	}
	for _, obj := range t.server.List("Job") {
		j := t.jobs[obj.GetUID()]
		ref := metav1.GetControllerOfNoCopy(obj)
		switch {
		case j == made, ref == nil || ref.UID != o.uid, j.ended != 0, j.rests():
		case policy == batchv1.ReplaceConcurrent && (obj.GetDeletionTimestamp() != nil || j.scheduled.IsZero()):
		case j.maker != m.process.Name && !slices.Contains(v.children, obj.GetUID()) && !activeHas(v.status.Active, obj.GetUID()):
			// somebody else made it, and no cache of this process showed it
		default:
			t.breaks("guarantee 2: %s, and %s makes %s beside %s (%s), which is unfinished", policy, m.process.Name, made.name, j.name, obj.GetUID())
		}
	}
}

// jobDeleted judges a delete of the controller.
func (t *truth) jobDeleted(j *jobTruth, old *batchv1.Job, m *simManager) {
	o := t.owners[j.owner]
	ref := metav1.GetControllerOfNoCopy(old)
	cj, _ := t.server.Get("CronJob", ns, j.of).(*batchv1.CronJob)
	v := m.views[types.NamespacedName{Namespace: ns, Name: j.of}]
	// That somebody took the Job from its CronJob a moment ago no cache shows yet, and a delete is bound to a UID only.
	if o == nil || ref == nil && !ours(j.maker) && !slices.Contains(v.children, old.UID) {
		t.breaks("%s deletes %s, which is not ours", m.process.Name, j.name)
		return
	}
	if cj == nil || cj.UID != j.owner {
		return
	}
	if len(m.halves) > 0 && m.halves[len(m.halves)-1] == "first" {
		if v.owner.UID == cj.UID && v.owner.Generation == cj.Generation && cj.Spec.ConcurrencyPolicy != batchv1.ReplaceConcurrent {
			t.breaks("%s stops %s under %s", m.process.Name, j.name, cj.Spec.ConcurrencyPolicy)
		}
		if j.scheduled.IsZero() {
			t.breaks("%s stops %s, which was started by hand", m.process.Name, j.name)
		}
		return
	}
	switch {
	case !simFinished(old):
		t.breaks("%s prunes %s, which is unfinished", m.process.Name, j.name)
	case old.DeletionTimestamp == nil && ref != nil && !j.scheduled.IsZero() && !t.recorded(j):
		t.breaks("%s prunes %s before its scheduled time is recorded", m.process.Name, j.name)
	case t.kind.successes && simSucceeded(old) && old.DeletionTimestamp == nil && back(old.Status.CompletionTime, cj.Status.LastSuccessfulTime):
		t.breaks("%s prunes %s before its success is recorded", m.process.Name, j.name)
	}
}

// said judges an event: the same thing is told once for each time that it was so.
func (t *truth) said(m *simManager, e corev1.Event) {
	o := t.owners[e.InvolvedObject.UID]
	if o == nil {
		t.breaks("event about a CronJob that never was: %s", e.Message)
		return
	}
	cause, most := e.Message, 1
	again := int(t.world.Now() / (30 * time.Minute)) // what lasts is told twice an hour
	if slices.ContainsFunc(t.plan.upsets, func(u simUpset) bool { return strings.HasPrefix(u.what, "clock") }) {
		again++ // by a clock that somebody sets
	}
	switch r := t.kind.Info().Traits.Events; e.Reason {
	case r.NotStarted.Reason:
		t.tells(m, o, e.Message)
	case r.FailedCreate.Reason, r.Foreign.Reason, r.FailedDelete.Reason, r.FailedGet.Reason, r.Forbidden.Reason:
		cause, _, _ = strings.Cut(cause, ": ")
		if e.Reason == r.FailedDelete.Reason && (t.overlap || t.stale) {
			most = 2 // of each of two Jobs of the name
		}
		if strings.Contains(e.Message, "not ours") {
			cause += " (foreign)"
			t.excess += 3
		}
		if e.Reason == r.FailedGet.Reason {
			return // told for each scheduled time at which it is in the way
		}
		if o.had(simSchedules[8]) && o.deadlines {
			return // the deadline moves the grid of @every (cronjob.md 3.4), so that each try is for another time
		}
		if o.had(simSchedules[8]) {
			most = 2 // two scheduled times of a minute share a name
		}
		most += again
	case r.Created.Reason, r.Deleted.Reason, r.Completed.Reason:
		if t.overlap || t.stale {
			most = 2 // there may have been two Jobs of the name (noSecond)
		}
	case r.BadSchedule.Reason, r.BadEdit.Reason, r.ZoneInSchedule.Reason, r.UnknownZone.Reason, r.NeverFires.Reason, r.BadTimetable.Reason:
		most = int(o.generation) + again // once for each of them
	}
	what := fmt.Sprintf("%s %s %s %s", m.process.Name, o.uid, e.Reason, cause)
	if t.told[what]++; t.told[what] > most {
		t.breaks("guarantee 7: %s tells of %s once more: %s %s", m.process.Name, o.name, e.Reason, e.Message)
	}
}

// slack is how late a Job may be at the slowest pace, because of nothing but latencies.
const slack = 15 * time.Second

// leader is the only process that lives, nil if there is none or another one.
func (t *truth) leader() (leader *simManager) {
	for _, m := range t.managers {
		if !m.process.Dead() && leader != nil {
			return nil
		}
		if !m.process.Dead() {
			leader = m
		}
	}
	return leader
}

// lag is how late what has happened may be in the status, or pruned, where nothing stands in the way of a write.
const lag = 75 * time.Second

// hindered reports whether something has kept statuses from being written, or history from being pruned, since then.
func (t *truth) hindered(since time.Duration) bool {
	return max(t.unwritable, t.slowed, t.jobless) > since
}

// backsOff reports whether so many syncs of the CronJob have failed in a row that the next one may be more than lag away:
// 5 ms doubled for each, 1000 s at most.
func (t *truth) backsOff(cj *batchv1.CronJob) bool {
	leader := t.leader()
	return leader != nil && leader.controller.backoff.NumRequeues(client.ObjectKeyFromObject(cj)) > 14
}

// checkWritten judges, of the CronJobs that nobody has touched lately, that what runs is listed and that history is
// kept. The status of a CronJob is written and its history pruned whether its starts are refused or not, and however
// old the cache of CronJobs is, unless somebody has changed the CronJob since: a write is bound to the version that was
// read (cronjob.md R19).
func (t *truth) checkWritten() {
	leader, since := t.leader(), t.world.Now()-lag
	if leader == nil || leader.began > since || t.world.Broken() != "" || t.calm || t.hindered(since) {
		return
	}
	for _, obj := range t.server.List("CronJob") {
		cj := obj.(*batchv1.CronJob)
		o := t.owners[cj.UID]
		unseen := t.blind > since && o.touched > t.blindFrom-time.Minute
		if o.touched > since || unseen || cj.DeletionTimestamp != nil || t.failsOverMistake(cj) || t.backsOff(cj) {
			continue
		}
		if t.blind <= since {
			t.checkLimits(cj, lag)
		}
		for _, obj := range t.server.List("Job") {
			j, ref := t.jobs[obj.GetUID()], metav1.GetControllerOfNoCopy(obj)
			if ref == nil || ref.UID != cj.UID || j.ended != 0 || j.made > since || j.scheduled.IsZero() || obj.GetDeletionTimestamp() != nil {
				continue
			}
			if !lists(cj.Status.Active, obj.GetUID()) && len(cj.Status.Active) != t.kind.maxActive && (!t.kind.failuresWriteNothing || t.troubled <= since) {
				t.breaks("%s runs for %s, and %s does not list it", j.name, lag, cj.Name)
			}
		}
	}
}

// checkServed is guarantee 3 for the scheduled times that have just passed, and for all when nothing has been in the
// way for longer than any delay after errors.
func (t *truth) checkServed() {
	leader, now := t.leader(), t.world.Now()
	if leader == nil || t.world.Broken() != "" || t.troubled > now-slack-10*time.Second {
		return
	}
	if leader.began > t.blindFrom-time.Minute && t.blind > now-time.Minute {
		return // its first list was out of date, and what came after that is not seen
	}
	window := 5 * time.Second
	if t.troubled < now-700*time.Second {
		window = 25 * time.Hour
	}
	until := leader.process.Clock.Now().Add(-slack)
	for _, obj := range t.server.List("CronJob") {
		cj := obj.(*batchv1.CronJob)
		o := t.owners[cj.UID]
		s, err := t.parse(&cj.Spec)
		if err != nil || cj.Spec.Schedule == simSchedules[8] || ptr.Deref(cj.Spec.Suspend, false) || cj.DeletionTimestamp != nil {
			continue
		}
		due := s.LastBetween(until.Add(-window), until)
		if due.IsZero() || !due.After(o.created) || !due.After(o.edited) || !o.latest.Before(due) || t.excused(cj, o, due) {
			continue
		}
		if window < time.Hour && !due.After(t.shown) {
			continue // it has passed before, perhaps in the midst of trouble, whose delays after errors last longer
		}
		if last := o.timetables[len(o.timetables)-1]; len(o.timetables) > 1 && !due.After(last.set.Add(t.fastest)) {
			continue // it had passed by the controller's clock, and an edit may count from when it is seen (B2)
		}
		t.breaks("guarantee 3: the run of %s for %v is not there", cj.Name, due)
	}
}

// excused tells whether something that the contract knows keeps a run from its start.
func (t *truth) excused(cj *batchv1.CronJob, o *ownerTruth, due time.Time) bool {
	now, lately := t.world.Now(), t.world.Now()-time.Minute
	if o.touched > lately || o.touched > t.blindFrom-time.Minute && t.blind > now-time.Minute {
		return true // not seen yet
	}
	if slices.ContainsFunc(o.told, func(told toldTruth) bool { return told.edit && !due.Before(told.first) && !due.After(told.last) }) {
		return true // reads failed until then, and an edit counts from when it is seen (B2)
	}
	if d := cj.Spec.StartingDeadlineSeconds; d != nil && (*d < 30 || t.troubled > now-t.server.Clock.Now().Sub(due)-15*time.Minute) {
		return true
	}
	if holder := t.server.Get("Job", ns, t.nameOf(o.name, due)); holder != nil {
		if ref := metav1.GetControllerOfNoCopy(holder); ref == nil || ref.UID != o.uid {
			return true
		}
	}
	for _, j := range t.jobs {
		if j.name == t.nameOf(o.name, due) && j.owner != o.uid {
			return true // a predecessor's, and gone by now: a clock that is ahead had made it early
		}
	}
	if cj.Spec.ConcurrencyPolicy == batchv1.AllowConcurrent {
		return false
	}
	if t.jobless > lately || cj.Spec.ConcurrencyPolicy == batchv1.ReplaceConcurrent && t.undeletable > lately {
		return true
	}
	for _, j := range t.jobs {
		if j.owner != o.uid || j.ended != 0 && j.ended < lately || j.rests() {
			continue
		}
		if cj.Spec.ConcurrencyPolicy == batchv1.ForbidConcurrent || t.immovable(j) || cj.Spec.JobTemplate.Spec.TTLSecondsAfterFinished != nil {
			return true
		}
	}
	return false
}

// failsOverMistake reports whether every sync fails because somebody wrote a schedule or a zone that nobody can read, in
// a kind that writes nothing then.
func (t *truth) failsOverMistake(cj *batchv1.CronJob) bool {
	if !t.kind.mistakesFail || ptr.Deref(cj.Spec.Suspend, false) {
		return false
	}
	s, err := t.parse(&cj.Spec)
	return err != nil || s.Next(t.server.Clock.Now()).IsZero()
}

// checkHistory is guarantee 6: of what ended that long ago, no more is left than the limits say; nor is it active.
func (t *truth) checkHistory(ago time.Duration) {
	if t.world.Broken() != "" || ago > 0 && t.hindered(t.world.Now()-ago) {
		return
	}
	for _, obj := range t.server.List("CronJob") {
		cj := obj.(*batchv1.CronJob)
		if t.failsOverMistake(cj) || ago > 0 && t.backsOff(cj) {
			continue
		}
		for _, ref := range cj.Status.Active {
			if ago > 0 && t.kind.failuresWriteNothing {
				break // as long as creates are refused nothing has to be written
			}
			// Nothing tells of the end of a Job that was taken from its CronJob, until the next sync looks.
			if j := t.jobs[ref.UID]; j != nil && j.ended != 0 && j.ended <= t.world.Now()-ago && cj.DeletionTimestamp == nil && !j.orphaned() {
				t.breaks("%s lists %s, which has ended", cj.Name, ref.Name)
			}
		}
		t.checkLimits(cj, ago)
	}
}

// checkLimits judges that of what ended that long ago no more is left than the limits say.
func (t *truth) checkLimits(cj *batchv1.CronJob, ago time.Duration) {
	left := map[bool][]string{}
	for _, obj := range t.server.List("Job") {
		j := t.jobs[obj.GetUID()]
		ref := metav1.GetControllerOfNoCopy(obj)
		if ref == nil || ref.UID != cj.UID || j.ended == 0 || j.ended > t.world.Now()-ago || t.immovable(j) || obj.GetDeletionTimestamp() != nil {
			continue
		}
		class := simSucceeded(j.last)
		left[class] = append(left[class], j.name)
	}
	for _, class := range []bool{true, false} {
		limit := cj.Spec.FailedJobsHistoryLimit
		if class {
			limit = cj.Spec.SuccessfulJobsHistoryLimit
		}
		if limit != nil && len(left[class]) > int(*limit) && cj.DeletionTimestamp == nil {
			t.breaks("guarantee 6: %s keeps %v, its limit is %d", cj.Name, left[class], *limit)
		}
	}
}

// checkEnd judges the statuses when all is calm.
func (t *truth) checkEnd() {
	t.checkHistory(0)
	if t.world.Broken() != "" {
		return
	}
	for _, obj := range t.server.List("CronJob") {
		cj := obj.(*batchv1.CronJob)
		o := t.owners[cj.UID]
		var running []string
		var least, succeeded, atMost time.Time
		for _, j := range t.jobs {
			if j.owner != cj.UID {
				continue
			}
			if j.ended == 0 && (!j.scheduled.IsZero() || t.kind.rebuilt) && !j.orphaned() {
				running = append(running, j.name)
			}
			if j.scheduled.After(least) && !j.lost {
				least = j.scheduled
			}
			if end := j.last.Status.CompletionTime; end != nil {
				if end.After(atMost) {
					atMost = end.Time
				}
				if t.endKnown(j) && end.After(succeeded) {
					succeeded = end.Time
				}
			}
		}
		var active []string
		for _, ref := range cj.Status.Active {
			if j := t.jobs[ref.UID]; j == nil || !j.orphaned() {
				active = append(active, ref.Name)
			}
		}
		slices.Sort(running)
		slices.Sort(active)
		last, success := cj.Status.LastScheduleTime, cj.Status.LastSuccessfulTime
		if n := t.kind.maxActive; t.kind.rebuilt && len(running) > n && len(active) == n {
			running = active
		}
		if !t.kind.successes {
			succeeded = time.Time{}
		}
		switch {
		case !slices.Equal(running, active):
			t.breaks("%s lists %v, and %v are unfinished", cj.Name, active, running)
		case last != nil && last.After(o.latest) && !t.ran(o, last.Time), !least.IsZero() && (last == nil || last.Time.Before(least)):
			t.breaks("lastScheduleTime of %s is %v; its latest run was for %v", cj.Name, last, o.latest)
		case success != nil && success.After(atMost), !succeeded.IsZero() && (success == nil || success.Time.Before(succeeded)):
			t.breaks("lastSuccessfulTime of %s is %v; its latest success was at %v", cj.Name, success, atMost)
		}
	}
}
