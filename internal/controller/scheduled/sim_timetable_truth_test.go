// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/kind/timetable"
	"github.com/carillon-dev/carillon/internal/testkit/sim"
	"github.com/carillon-dev/carillon/schedule/timeset"
)

type (
	clientObject = client.Object
	madeEvent    = event.TypedCreateEvent[client.Object]
	changedEvent = event.TypedUpdateEvent[client.Object]
)

// timetablesTruth is what really happened, as the server saw it, and the judge of what the controller makes of it by the
// guarantees of timetable.md 1.2. The scheduled times are those of package timeset, which has an oracle of its own; all
// else is told from the server's history alone.
//
//	TG1, TG2, TG4  when a child is made (sim_timetable_starts_test.go)
//	TG3, TG6       every few seconds, and when the trouble is over (sim_timetable_served_test.go)
//	TG5            with each status that is written (sim_timetable_counts_test.go)
//	TG7            by the queues, by timers that are set (wakes), and by the requests of an hour in which little happens
//	TG8            because all of this holds for one Timetable whatever the others are
type timetablesTruth struct {
	*timetableWorld
	owners   map[types.UID]*timetableOwner
	children map[types.UID]*childTruth
	hangs    map[types.UID]*unstructured.Unstructured
	compiled map[string]*timingTruth
	// byVersion are all that Timetables ever were; what caches keep of them is another form.
	byVersion map[string]*timetable.Object
	// taken are the kinds and names that somebody else has taken.
	taken map[string]bool
	// made counts the children that the controller made, sent its requests but for deletes, and unwritten those of them
	// that were to write a status and did not.
	made, sent, unwritten int
	// fastest and slowest are how far a clock was ahead of that of the server, or behind.
	fastest, slowest time.Duration
}

// timetableOwner is a Timetable.
type timetableOwner struct {
	uid      types.UID
	name     string
	created  time.Time
	versions []*timetableVersion
	runs     map[int64]*runTruth
	obj      *timetable.Object
	// touched is when anybody else did anything to it, its Calendar or its children.
	touched time.Duration
	// began is when its first status was written: what had been started by then may be too old to count.
	began time.Duration
	// first is the instant up to which no scheduled time is counted: the first cursor, before the times that went with it.
	first time.Time
	// waited are the times that some status had waiting; counted is how many times are decided, by the last status.
	waited  map[int64]bool
	counted int64
	// roomSince is since when there is room for another run; negative: there is none.
	roomSince time.Duration
}

// timetableVersion is what was asked for from some instant on.
type timetableVersion struct {
	generation int64
	set        time.Time
	at         time.Duration
	spec       *v1alpha1.TimetableSpec
	timing     *timingTruth
	// served: some status said so.
	served bool
}

// timingTruth is a timing.
type timingTruth struct {
	fingerprint string
	// times are nil if the timing cannot be read; excluded are those that exclusions take out.
	times, excluded *timeset.Set
}

func (t *timingTruth) names(at time.Time) bool { return t.times != nil && t.times.Has(at) }

// runTruth is a run: the children that were made for a scheduled time.
type runTruth struct {
	time     time.Time
	attempts []*childTruth
	// over: a status was written that says so.
	over bool
}

func (r *runTruth) newest() *childTruth { return r.attempts[len(r.attempts)-1] }

type childTruth struct {
	kind, name, maker string
	owner             types.UID
	number            int
	scheduled         time.Time
	attempt           int
	made, ended, left time.Duration
	endedAt           time.Time
	last              *unstructured.Unstructured
	// gone: it is no more, or is nobody's. recorded: a status has told of its time before that. meddled: a user has
	// deleted it or taken it away. stopped: the controller has deleted it before it knew of its end, which may come
	// unseen then. stopper is the process that did so last.
	gone, finished, succeeded, recorded, meddled, stopped bool
	stopper                                               string
}

// timetableView is what the caches of a process showed when a sync began.
type timetableView struct {
	began  time.Duration
	now    time.Time
	obj    *timetable.Object
	timing *timingTruth
	// before is the timing of the sync before it, nil if there was none.
	before *timingTruth
}

func newTimetablesTruth(s *timetableWorld) *timetablesTruth {
	t := &timetablesTruth{timetableWorld: s, owners: map[types.UID]*timetableOwner{}, children: map[types.UID]*childTruth{},
		hangs: map[types.UID]*unstructured.Unstructured{}, compiled: map[string]*timingTruth{},
		byVersion: map[string]*timetable.Object{}, taken: map[string]bool{}}
	s.server.OnChange(t.changed)
	s.server.OnRequest(t.requested)
	return t
}

func (t *timetablesTruth) breaks(format string, args ...any) { t.world.Break(format, args...) }

// timing is what an object asks for beside a Calendar, which may be nil.
func (t *timetablesTruth) timing(tt *timetable.Object, calendar *v1alpha1.Calendar) *timingTruth {
	calendars := map[string]*timeset.Calendar{}
	if calendar != nil {
		calendars[calendar.Name] = timetable.ReadCalendar(calendar)
	}
	spec, obstacle := timetable.Timing(tt, &tt.Spec, calendars, simTimetableKind.MinInterval)
	fingerprint := spec.Fingerprint()
	key := tt.Name + fingerprint + spec.Jitter.String() // jitter, which the name is a part of, is no part of what names times
	known := t.compiled[key]
	if known == nil {
		known = &timingTruth{fingerprint: fingerprint}
		if obstacle == nil {
			if known.times, _ = timetable.Times(spec); known.times != nil {
				known.excluded = known.times.Excluded()
			}
		}
		t.compiled[key] = known
	}
	return known
}

func (m *timetableManager) see(key types.NamespacedName) *timetableView {
	m.truth.clocks()
	v := &timetableView{began: m.world.Now(), now: m.process.Clock.Now()}
	if obj, ok := m.controller.latest(key); ok {
		v.obj = m.truth.byVersion[obj.GetResourceVersion()]
		v.timing = m.truth.timing(v.obj, m.cachedCalendar())
	}
	if before := m.views[key]; before != nil { // whose second half may be still to come
		v.before = before.timing
	}
	return v
}

func (m *timetableManager) cachedCalendar() *v1alpha1.Calendar {
	obj, there, _ := m.calendar.GetByKey(ns + "/holidays")
	if !there {
		return nil
	}
	return obj.(*v1alpha1.Calendar)
}

// clocks notes how far clocks are apart.
func (t *timetablesTruth) clocks() {
	for _, m := range t.managers {
		if !m.process.Dead() {
			ahead := m.process.Clock.Now().Sub(t.server.Clock.Now())
			t.slowest, t.fastest = min(t.slowest, ahead), max(t.fastest, ahead)
		}
	}
}

// stepped notes that a clock was set.
func (t *timetablesTruth) stepped(by time.Duration) {
	t.slowest, t.fastest = t.slowest-max(by, -by), t.fastest+max(by, -by)
	t.clocks()
}

// requested judges how a request is protected.
func (t *timetablesTruth) requested(r sim.Request) {
	if !ours(r.By) {
		return
	}
	if r.Verb != "delete" {
		t.sent++
	}
	if r.Verb == "status" {
		t.unwritten++
	}
	switch {
	case r.Namespace != ns:
		t.breaks("%s in another namespace", r)
	case r.Verb == "status" && (r.Version == "" || r.UID == ""):
		t.breaks("%s without a resource version and a UID", r)
	case r.Verb == "delete" && r.UID == "":
		t.breaks("%s without a UID", r)
	case r.Verb == "list", r.Verb == "update", r.Verb == "patch", r.Kind == "Timetable" && r.Verb != "status" && r.Verb != "get", r.Kind == "Calendar":
		t.breaks("%s: that is not the business of the controller", r)
	}
}

func (t *timetablesTruth) changed(c *sim.Change) {
	switch obj := c.New.(type) {
	case *timetable.Object:
		t.ownerChanged(obj, c)
	case *v1alpha1.Calendar:
		for _, key := range t.keys {
			if tt, _ := t.server.Get("Timetable", ns, key.Name).(*timetable.Object); tt != nil && len(timetable.Calendars(&tt.Spec)) > 0 {
				t.owners[tt.UID].touched = t.world.Now()
				t.enterVersion(t.owners[tt.UID], tt)
			}
		}
	case *unstructured.Unstructured:
		if c.By == "stranger" {
			t.taken[obj.GetKind()+"/"+obj.GetName()] = true
		}
		t.childChanged(obj, c)
	}
}

func (t *timetablesTruth) calendarNow() *v1alpha1.Calendar {
	calendar, _ := t.server.Get("Calendar", ns, "holidays").(*v1alpha1.Calendar)
	return calendar
}

func (t *timetablesTruth) enterVersion(o *timetableOwner, tt *timetable.Object) {
	o.versions = append(o.versions, &timetableVersion{generation: tt.Generation, set: t.server.Clock.Now(), at: t.world.Now(), spec: &tt.Spec,
		timing: t.timing(tt, t.calendarNow())})
}

func (t *timetablesTruth) ownerChanged(tt *timetable.Object, c *sim.Change) {
	o := t.owners[tt.UID]
	if o == nil {
		o = &timetableOwner{uid: tt.UID, name: tt.Name, created: tt.CreationTimestamp.Time, runs: map[int64]*runTruth{}, waited: map[int64]bool{}}
		t.owners[tt.UID] = o
	}
	before := o.obj
	o.obj = tt
	t.byVersion[tt.ResourceVersion] = tt
	if c.Verb == "status" {
		t.unwritten--
		t.world.Story.Tell("status", "%s", statusInWords(&tt.Status))
		t.statusWritten(o, before, tt, c.By)
	} else {
		o.touched = t.world.Now()
		if before == nil || before.Generation != tt.Generation {
			t.enterVersion(o, tt)
		}
	}
	t.measure(o)
}

// leader is the process that serves and has its lease, if there is one.
func (t *timetablesTruth) leader() *timetableManager {
	if m := t.leading(); m != nil && m.renewed == 0 {
		return m
	}
	return nil
}

// asked are the versions that a sync of a view may have decided on: what it showed, and what came since, perhaps
// beside an older Calendar.
func (t *timetablesTruth) asked(o *timetableOwner, m *timetableManager, v *timetableView) []*timetableVersion {
	list := []*timetableVersion{{generation: v.obj.Generation, spec: &v.obj.Spec, timing: v.timing}}
	if o.obj.Generation > v.obj.Generation {
		list = append(list, &timetableVersion{generation: o.obj.Generation, spec: &o.obj.Spec, timing: t.timing(o.obj, m.cachedCalendar())})
	}
	for _, version := range o.versions {
		if version.at >= v.began || version.generation > v.obj.Generation {
			list = append(list, version)
		}
	}
	if now := t.timing(v.obj, m.cachedCalendar()); now != v.timing {
		list = append(list, &timetableVersion{generation: v.obj.Generation, spec: &v.obj.Spec, timing: now})
	}
	return list
}

// all and most go over versions.
func allOf(versions []*timetableVersion, is func(*timetableVersion) bool) bool {
	return !slices.ContainsFunc(versions, func(v *timetableVersion) bool { return !is(v) })
}

// childChanged notes what became of a child.
func (t *timetablesTruth) childChanged(child *unstructured.Unstructured, c *sim.Change) {
	truth := t.children[child.GetUID()]
	if truth == nil {
		truth = &childTruth{kind: child.GetKind(), name: child.GetName(), maker: c.By, made: t.world.Now()}
		if ref := metav1.GetControllerOfNoCopy(child); ref != nil {
			truth.owner = ref.UID
			t.numbers[ref.Name]++
			truth.number = t.numbers[ref.Name]
		}
		t.children[child.GetUID()] = truth
	}
	truth.last = child
	o := t.owners[truth.owner]
	if childEnded(child) && !truth.finished {
		truth.finished, truth.succeeded, truth.ended, truth.endedAt = true, childSucceeded(child), t.world.Now(), t.server.Clock.Now()
	}
	if !truth.gone && (c.Gone || metav1.GetControllerOfNoCopy(child) == nil) && o != nil {
		truth.gone, truth.left = true, t.world.Now()
		if truth.attempt > 0 {
			truth.recorded = t.records(o, truth) && !notStarted(&o.obj.Status, truth.scheduled)
		}
	}
	switch {
	case o == nil:
	case !ours(c.By):
		if c.By == "user" {
			o.touched = t.world.Now()
			truth.meddled = true
		}
	case c.Old == nil:
		t.childMade(o, truth, child, t.managerOf(c.By))
	case c.Verb == "delete":
		t.childDeleted(o, truth, t.managerOf(c.By))
	}
	if o != nil {
		t.measure(o)
	}
}

// records tells whether the status of a Timetable tells of an attempt.
func (t *timetablesTruth) records(o *timetableOwner, c *childTruth) bool {
	s := &o.obj.Status
	for _, a := range s.Active {
		if a.ScheduledTime.Time.Equal(c.scheduled) {
			return int(a.Attempt) >= c.attempt
		}
	}
	return decidedBy(s, c.scheduled)
}

// decidedBy tells whether a status has decided a time, and it does not wait.
func decidedBy(s *v1alpha1.TimetableStatus, at time.Time) bool {
	if s.Cursor == nil || s.Cursor.Time.Before(at) {
		return false
	}
	return !slices.ContainsFunc(s.Waiting, func(w v1alpha1.WaitingTime) bool { return w.ScheduledTime.Time.Equal(at) })
}

// notStarted tells whether a status has decided a time as one of which nothing is known to have started. A run of a kind
// that the template names no more, which no status told of, is counted so by a process that begins later (5.7).
func notStarted(s *v1alpha1.TimetableStatus, at time.Time) bool {
	covers := func(e v1alpha1.LedgerEntry) bool {
		return e.ScheduledTime.Time.Equal(at) || e.Until != nil && e.ScheduledTime.Time.Before(at) && !e.Until.Time.Before(at)
	}
	started := func(e v1alpha1.LedgerEntry) bool { return e.ScheduledTime.Time.Equal(at) && e.Run != "" }
	return slices.ContainsFunc(s.Ledger, covers) && !slices.ContainsFunc(s.Ledger, started)
}

// stuck reports whether a delete is of the one child that nobody can delete.
func (t *timetablesTruth) stuck(r sim.Request) bool {
	there := t.server.Get(r.Kind, ns, r.Name)
	return there != nil && t.immovable(t.children[there.GetUID()])
}

func (t *timetablesTruth) immovable(c *childTruth) bool {
	o := t.owners[c.owner]
	if o == nil || t.movable {
		return false
	}
	plan := t.planned(o.name)
	return plan != nil && c.number > 0 && plan.stuck == c.number
}

// endHanging has what hangs end soon.
func (t *timetablesTruth) endHanging() {
	var uids []types.UID
	for uid := range t.hangs {
		uids = append(uids, uid)
	}
	slices.Sort(uids)
	for _, uid := range uids {
		child := t.hangs[uid]
		t.world.After(30*time.Second, func() { t.end(child, "Broken") })
	}
}

// statusInWords is what a status says that decisions remember.
func statusInWords(s *v1alpha1.TimetableStatus) string {
	var b strings.Builder
	short := func(at metav1.Time) string { return at.UTC().Format("15:04:05") }
	if s.Cursor != nil {
		b.WriteString("cursor " + short(*s.Cursor))
	}
	b.WriteString(" counts " + jsonOf(s.Counts))
	for _, a := range s.Active {
		b.WriteString(" active " + a.Name)
		if a.RetryAt != nil {
			b.WriteString(" again at " + short(*a.RetryAt))
		}
		b.WriteString(a.Stopping)
	}
	for _, w := range s.Waiting {
		b.WriteString(" waiting " + short(w.ScheduledTime) + " " + w.Reason)
	}
	for i, n := range s.Next {
		if i == 0 {
			b.WriteString(" next")
		}
		b.WriteString(" " + short(n.Time))
	}
	for i, e := range s.Ledger {
		if i < 3 {
			b.WriteString(" [" + short(e.ScheduledTime) + " " + string(e.Result) + " " + e.Reason)
			if e.Until != nil {
				b.WriteString(" until " + short(*e.Until))
			}
			b.WriteString("]")
		}
	}
	for _, c := range s.Conditions {
		if (c.Type == "Ready" || c.Type == "Paused") && (c.Status == "True") == (c.Type == "Paused") {
			b.WriteString(" " + c.Type + "=" + string(c.Status) + "/" + c.Reason)
		}
	}
	if s.Timing != nil {
		b.WriteString(" timing " + s.Timing.Fingerprint)
	}
	return b.String()
}
