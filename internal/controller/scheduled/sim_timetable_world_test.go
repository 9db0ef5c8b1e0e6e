// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-logr/logr"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/kind/timetable"
	"github.com/carillon-dev/carillon/internal/kube/fence"
	"github.com/carillon-dev/carillon/internal/kube/lister"
	"github.com/carillon-dev/carillon/internal/kube/loadgate"
	"github.com/carillon-dev/carillon/internal/kube/ownwrites"
	"github.com/carillon-dev/carillon/internal/testkit/sim"
)

// The kind that worlds of Timetables serve, as a manager does.
var (
	simTimetableKind = timetable.Kind{MinInterval: 10 * time.Second}
	simCalendarKind  = simTimetableKind.DependencyKinds()[0]
	timetableScheme  = func() *runtime.Scheme {
		scheme := runtime.NewScheme()
		if err := simTimetableKind.AddToScheme(scheme); err != nil {
			panic(err)
		}
		return scheme
	}()
)

// childKindNames are the kinds of all children in a world.
var childKindNames = []string{"Job", "Widget", "Pod"}

// timetableWorld is a plan of Timetables carried out.
type timetableWorld struct {
	plan   timetablePlan
	world  *sim.World
	server *sim.Server
	truth  *timetablesTruth
	// calm: nothing goes wrong any more. movable: also what nobody could delete can be deleted.
	calm, movable bool
	// outages are what the server cannot do, and until when.
	outages map[string]time.Duration
	// troubled is until when something stands between a scheduled time and its child; unwritable the same for records,
	// and undeletable for deletes.
	troubled, unwritable, undeletable time.Duration

	managers []*timetableManager // all that ever were
	keys     []types.NamespacedName
	requests int
	numbers  map[string]int // of children that were made, by the name of their Timetable
}

// timetableManager is a process of the controller.
type timetableManager struct {
	*timetableWorld
	process          *sim.Process
	began            time.Duration
	controller       *reconciler
	owners, calendar *sim.Cache
	children         map[schema.GroupVersionKind]*sim.Cache
	main, books      *sim.Queue
	since            map[types.NamespacedName]time.Duration
	views            map[types.NamespacedName]*timetableView
	halves           []string
	voice            *voice
	// reach is how many changes of Timetables and Calendars the caches have to show before anything is done (F2).
	reach [2]int
	// renewed is when the process last renewed its lease; 0: it goes on doing so.
	renewed time.Duration
}

func newTimetableWorld(plan timetablePlan) *timetableWorld {
	w := sim.NewWorld(plan.dice)
	w.Start = plan.begins
	s := &timetableWorld{plan: plan, world: w, server: sim.NewServer(w), outages: map[string]time.Duration{}, numbers: map[string]int{}}
	trim := Trim(simTimetableKind)
	s.server.Custom = []string{"Timetable", "Widget"}
	s.server.Served, s.server.Stored = servedChild, storedChild
	s.server.Trim = func(obj client.Object) client.Object {
		if child, ok := obj.(*unstructured.Unstructured); ok {
			return simTimetableKind.TrimChild(servedChild(child), child.GroupVersionKind())
		}
		trimmed, err := trim(obj)
		if err != nil {
			panic(err)
		}
		return trimmed.(client.Object)
	}
	s.truth = newTimetablesTruth(s)
	s.server.NewCollector(func(n int) time.Duration {
		if plan.lives != nil {
			return 0
		}
		return w.Dice.Between(5*time.Millisecond, []time.Duration{500 * time.Millisecond, 5 * time.Second}[w.Dice.Roll(2, "gc", uint64(n))], "gc lag", uint64(n))
	}, append([]string{"Timetable"}, childKindNames...)...)
	s.server.OnChange(s.live)
	for i, c := range plan.timetables {
		s.keys = append(s.keys, client.ObjectKeyFromObject(c.obj))
		w.At(c.created, func() { s.make(i) })
	}
	for _, e := range plan.edits {
		w.At(e.at, func() { s.edit(e) })
	}
	for _, u := range plan.upsets {
		w.At(u.at, func() { s.upset(u) })
	}
	if plan.dice.Chance(70, "begins with a Calendar") {
		_ = s.server.Create("user", calendarOf(plan.begins, plan.begins, 0))
	}
	s.start(0)
	s.look()
	return s
}

// The server stores all children without a Go type of their kind, and the controller may use one.
func storedChild(obj client.Object) client.Object {
	job, ok := obj.(*batchv1.Job)
	if !ok {
		return obj
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(job)
	must(err)
	delete(content, "status")
	child := &unstructured.Unstructured{Object: content}
	child.SetGroupVersionKind(batchv1.SchemeGroupVersion.WithKind("Job"))
	return child
}

func servedChild(obj client.Object) client.Object {
	child, ok := obj.(*unstructured.Unstructured)
	if !ok || child.GetKind() != "Job" {
		return obj
	}
	job := &batchv1.Job{}
	content := child.DeepCopy()
	if status, ok := content.Object["status"].(map[string]any); ok {
		delete(status, "phase") // which is for us
	}
	must(runtime.DefaultUnstructuredConverter.FromUnstructured(content.Object, job))
	return job
}

// run lets the world go by and tells what is broken in it.
func (s *timetableWorld) run() string {
	w := s.world
	defer func() {
		for _, m := range s.managers {
			m.voice.hear()
			m.voice.giveBack()
		}
	}()
	w.Run(storm)
	s.settle()
	w.Run(storm + refusal)
	s.truth.checkHistory(lag)
	clear(s.outages)
	w.Run(storm + 2*refusal)
	s.truth.checkHistory(lag)
	s.quieten()
	w.Run(storm + 25*time.Minute) // longer than any delay after errors
	s.truth.checkEnd()
	if w.Broken() == "" {
		runs, before, unwritten := s.truth.made, s.truth.sent, s.truth.unwritten
		w.Run(w.Now() + time.Hour)
		runs = s.truth.made - runs
		unwritten = s.truth.unwritten - unwritten
		// The start, its record, and that of its end, which may be asked for twice when a wake-up comes in between; what is too
		// much then is deleted beside that.
		if n := s.truth.sent - before; n-unwritten > 3*runs || unwritten > runs {
			w.Break("TG7: %d requests in an hour in which there were %d runs and nothing else to do", n, runs)
		}
		if runs != 1 {
			w.Break("TG3: %d runs in an hour in which there was one to do", runs)
		}
	}
	s.truth.checkEnd()
	return w.Broken()
}

// look has the truth look every few seconds whether scheduled times were served.
func (s *timetableWorld) look() {
	s.truth.checkServed()
	s.truth.checkTimeouts()
	s.world.After(5*time.Second, s.look)
}

// settle ends all that goes wrong, except that creates may be refused a bit longer.
func (s *timetableWorld) settle() {
	if s.world.Broken() != "" {
		return
	}
	s.calm = true
	s.world.Story.Tell("world", "calm")
	now := s.world.Now()
	for what, until := range s.outages {
		if refuses := what == "over quota" || what == "no webhook"; !refuses || until <= now {
			delete(s.outages, what)
		} else {
			s.outages[what] = storm + refusal
			s.troubled = max(s.troubled, storm+refusal)
		}
	}
	s.troubled = max(min(s.troubled, storm+refusal), now+5*time.Second)
	var living []*timetableManager
	for _, m := range s.managers {
		if !m.process.Dead() {
			m.process.Resume()
			living = append(living, m)
		}
	}
	for len(living) > 0 && (len(living) > 1 || living[0].renewed != 0) {
		living[0].process.Kill("having lost the lease")
		living = living[1:]
	}
	if len(living) == 0 {
		s.start(0)
	}
	s.truth.endHanging()
}

// quieten is a user who wants peace: one Timetable fires once an hour, the others are suspended. What could not be
// deleted can be by now.
func (s *timetableWorld) quieten() {
	if s.world.Broken() != "" {
		return
	}
	s.world.Story.Tell("world", "quiet")
	s.movable = true
	for i := range s.plan.timetables {
		name := s.plan.timetables[i].obj.Name
		if i > 0 {
			s.change(name, "suspend", func(tt *timetable.Object) { tt.Spec.Suspend, tt.Spec.SuspendUntil = true, nil })
			continue
		}
		if s.server.Get("Timetable", ns, name) == nil {
			s.make(i)
		}
		s.change(name, "hourly", func(tt *timetable.Object) {
			spec := &tt.Spec
			spec.Schedules, spec.TimeZone, spec.Suspend, spec.SuspendUntil = cronOf("55 * * * *")(s.plan.begins), "UTC", false, nil
			spec.Window, spec.Exclude, spec.Jitter, spec.StartingDeadline, spec.Retry, spec.PauseAfterFailures = nil, nil, nil, nil, nil, nil
			spec.Template.Metadata.Labels, spec.Timeout = nil, nil
		})
	}
	for _, obj := range s.server.List("Widget") {
		if s.formerKind(obj) && !s.truth.endRecorded(obj.GetUID()) { // nobody knows any more when it has ended
			_ = s.server.Delete("user", "Widget", ns, obj.GetName(), sim.Deletion{})
		}
	}
}

// formerKind tells whether a Widget was made for a Timetable that starts another kind by now.
func (s *timetableWorld) formerKind(obj client.Object) bool {
	c := s.truth.children[obj.GetUID()]
	if c == nil || c.kind != "Widget" || s.truth.owners[c.owner] == nil {
		return false
	}
	tt, _ := s.server.Get("Timetable", ns, s.truth.owners[c.owner].name).(*timetable.Object)
	return tt != nil && tt.Spec.Template.Kind != "Widget"
}

// start begins a new process, whose first lists may be stale.
func (s *timetableWorld) start(stale int) *timetableManager {
	d, nth := s.world.Dice, uint64(len(s.managers)+1)
	clock := s.server.Clock
	if nth > 1 && s.plan.lives == nil && d.Chance(50, "own machine", nth) {
		clock = s.world.NewClock(sim.Pick(d, []time.Duration{0, 0, 1500 * time.Millisecond, -40 * time.Second, 3 * time.Minute}, "skew", nth))
	}
	p := s.server.NewProcess(fmt.Sprintf("manager-%d", nth), clock, &s.requests)
	p.Lag = func(kind string, n int) time.Duration {
		return s.tardy([]time.Duration{5 * time.Millisecond, 200 * time.Millisecond, 3 * time.Second}, kind, nth, uint64(n))
	}
	p.Echo = func(kind string, n int) time.Duration {
		return s.tardy([]time.Duration{0, time.Millisecond, 20 * time.Millisecond}, "echo "+kind, nth, uint64(n))
	}
	p.Client.Latency = func(r sim.Request) (there, back time.Duration) {
		slow := []time.Duration{500 * time.Microsecond, 5 * time.Millisecond, 300 * time.Millisecond}
		return s.tardy(slow, "there", uint64(r.Number)), s.tardy(slow, "back", uint64(r.Number))
	}
	p.Client.Mishap = s.mishap

	m := &timetableManager{timetableWorld: s, process: p, began: s.world.Now(), views: map[types.NamespacedName]*timetableView{},
		since: map[types.NamespacedName]time.Duration{}, children: map[schema.GroupVersionKind]*sim.Cache{}}
	m.owners, m.calendar = p.Follow("Timetable", toolscache.Indexers{}, stale), p.Follow("Calendar", toolscache.Indexers{}, stale)
	m.reach = [2]int{len(s.server.Log("Timetable")), len(s.server.Log("Calendar"))}
	r, err := newReconciler(simTimetableKind, timetableScheme)
	must(err)
	owners, err := lister.Over(m.owners)
	must(err)
	calendars, err := lister.Over(m.calendar)
	must(err)
	depend, err := newDependencies(simTimetableKind, owners)
	must(err)
	depend.caches[simCalendarKind] = calendars
	r.owners, r.ownWrites = owners, ownwrites.New[client.Object](owners.Progress)
	r.live, r.writer, r.removals = p.Client, fencedClient{p.Client, m}, 1
	r.clock, r.gate, r.log = clock, loadgate.New(impatient{clock}), logr.Discard()
	r.readOptions = adapter.ReadOptions{Zone: time.UTC, Dependency: depend.get}
	m.voice = newVoice()
	r.recorder = m.voice.Recorder
	// Nothing runs beside anything else in a world: the world opens the watches (openWatches).
	never, cancel := context.WithCancel(context.Background())
	cancel()
	r.watches = newChildWatches(never, simTimetableKind, nil, m.lookAt, patient{clock}, logr.Discard())
	timers := &sim.Timers{}
	r.timers = wakes{timers, m}
	r.begin()
	m.controller = r
	m.main = p.NewQueue("sync", time.Second, time.Minute, m.first)
	m.books = p.NewQueue("books", time.Second, time.Minute, m.second)
	q := queue(m.main)
	r.queue.Store(&q)
	p.Wake(timers, func() []types.NamespacedName { return s.keys }, func(key types.NamespacedName) {
		r.ring([]types.NamespacedName{key})
		m.main.Add(reconcile.Request{NamespacedName: key})
	})
	sim.Handle(m.owners, r.ownerHandlers(), m.main)
	sim.Handle(m.owners, handlers{CreateFunc: m.afterCreate, UpdateFunc: m.afterUpdate}, m.main)
	sim.Handle(m.calendar, depend.handlers(simCalendarKind), m.main)
	s.managers = append(s.managers, m)
	s.trouble(40 * time.Second)
	return m
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// lookAt has syncs made over some Timetables, in an order that does not depend on chance.
func (m *timetableManager) lookAt(keys []types.NamespacedName) {
	slices.SortFunc(keys, func(a, b types.NamespacedName) int { return cmp.Compare(a.Name, b.Name) })
	m.controller.enqueueAll(keys)
}

// openWatches opens, each after a time of its own, the watches of kinds that are needed by now.
func (m *timetableManager) openWatches() {
	watches := m.controller.watches
	for _, gvk := range slices.SortedFunc(maps.Keys(watches.byKind), func(a, b schema.GroupVersionKind) int { return cmp.Compare(a.Kind, b.Kind) }) {
		if m.children[gvk] != nil {
			continue
		}
		k := watches.byKind[gvk]
		stale := sim.Pick(m.world.Dice, []int{0, 0, 2, 10}, "stale "+gvk.Kind, uint64(len(m.managers)))
		wanted := len(m.server.Log(gvk.Kind))
		cache := m.process.Follow(gvk.Kind, toolscache.Indexers{}, stale)
		cache.Only = func(obj client.Object) bool { return obj.GetLabels()[v1alpha1.LabelTimetableUID] != "" }
		m.children[gvk] = cache
		l, err := lister.Over(cache)
		must(err)
		sim.Handle(cache, m.controller.childHandlers(&k.childKind), m.main)
		m.trouble(40 * time.Second)
		m.opensWhen(k, cache, wanted, l)
	}
}

// opensWhen lets a watch count as open when its cache shows what there was when it was begun (F2).
func (m *timetableManager) opensWhen(k *childWatch, cache *sim.Cache, wanted int, l *lister.Lister) {
	m.world.After(50*time.Millisecond, func() {
		switch {
		case m.process.Dead() || m.world.Broken() != "":
		case cache.Reached(wanted):
			k.objects.replace(l)
			m.controller.watches.set(k, nil)
		default:
			m.trouble(40 * time.Second)
			m.opensWhen(k, cache, wanted, l)
		}
	})
}

// patient is a clock on which no wait ever ends: what lingers stays.
type patient struct{ *sim.Clock }

func (patient) After(time.Duration) <-chan time.Time { return nil }

// wakes are timers of which each one that is set by the first half of a sync has to be later than that (TG7).
type wakes struct {
	*sim.Timers
	m *timetableManager
}

func (w wakes) Wake(key types.NamespacedName, at time.Time) {
	if n := len(w.m.halves); n > 0 && w.m.halves[n-1] == "first" && !at.After(w.m.views[key].now) {
		w.m.world.Break("TG7: a sync of %s at %s asks for one at %s", key.Name, w.m.views[key].now.Format(time.RFC3339Nano), at.Format(time.RFC3339Nano))
	}
	w.Timers.Wake(key, at)
}

// fencedClient refuses what package fence refuses in a manager: creates, deletes of what is unfinished, and statuses, of a
// process that has not renewed its lease, and the former also on a decision that has become old.
type fencedClient struct {
	*sim.Client
	m *timetableManager
}

func (c fencedClient) refusal() error {
	m := c.m
	if age := m.world.Now() - m.renewed; m.renewed != 0 && age > fence.MaxRenewalAge {
		return &fence.Refusal{Reason: fence.LeaseNotRenewed, Age: age}
	}
	return nil
}

func (c fencedClient) Create(ctx context.Context, obj client.Object, options ...client.CreateOption) error {
	var o client.CreateOptions
	if o.ApplyOptions(options); len(o.DryRun) > 0 {
		return c.Client.Create(ctx, obj, options...)
	}
	if err := c.refusal(); err != nil {
		return err
	}
	if err := c.old(obj.GetOwnerReferences()[0].Name); err != nil {
		return err
	}
	return c.Client.Create(ctx, obj, options...)
}

func (c fencedClient) old(owner string) error {
	if v := c.m.views[types.NamespacedName{Namespace: ns, Name: owner}]; c.m.world.Now()-v.began > fence.MaxDecisionAge {
		return &fence.Refusal{Reason: fence.DecisionTooOld, Age: c.m.world.Now() - v.began}
	}
	return nil
}

func (c fencedClient) Delete(ctx context.Context, obj client.Object, options ...client.DeleteOption) error {
	there, _ := c.m.server.Get(sim.KindOf(obj), ns, obj.GetName()).(*unstructured.Unstructured)
	if there != nil && !childEnded(there) {
		if err := c.refusal(); err != nil {
			return err
		}
	}
	return c.Client.Delete(ctx, obj, options...)
}

func (c fencedClient) SubResource(name string) client.SubResourceClient {
	return fencedStatus{c.Client.SubResource(name), c}
}

type fencedStatus struct {
	client.SubResourceClient
	fenced fencedClient
}

func (s fencedStatus) Patch(ctx context.Context, obj client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
	if err := s.fenced.refusal(); err != nil {
		return err
	}
	return s.SubResourceClient.Patch(ctx, obj, patch, options...)
}

func (m *timetableManager) afterCreate(context.Context, madeEvent, queue) { m.openWatches() }

func (m *timetableManager) afterUpdate(context.Context, changedEvent, queue) { m.openWatches() }

// first makes the first half of a sync, once the caches show what there was when this process began to lead.
func (m *timetableManager) first(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	if !m.owners.Reached(m.reach[0]) || !m.calendar.Reached(m.reach[1]) {
		m.trouble(40 * time.Second)
		return reconcile.Result{RequeueAfter: 100 * time.Millisecond}, nil
	}
	key := request.NamespacedName
	m.views[key] = m.see(key)
	m.halves = append(m.halves, "first")
	result, err := m.controller.Reconcile(ctx, request)
	m.halves = m.halves[:len(m.halves)-1]
	m.openWatches()
	m.listen()
	if m.controller.statusQueue.waiting() > 0 {
		m.books.Add(request)
	}
	return result, err
}

// second makes the second halves that are open for some Timetable.
func (m *timetableManager) second(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	if m.controller.statusQueue.waiting() == 0 {
		return reconcile.Result{}, nil
	}
	if standsBack(m.controller, m.since, request.NamespacedName, m.world.Now()) {
		return reconcile.Result{RequeueAfter: maxDefer / 8}, nil
	}
	m.halves = append(m.halves, "second")
	m.controller.statusQueue.next(ctx)
	m.halves = m.halves[:len(m.halves)-1]
	m.listen()
	if m.controller.statusQueue.waiting() > 0 {
		m.books.Add(request)
	}
	return reconcile.Result{}, nil
}

// listen has what was said written down.
func (m *timetableManager) listen() {
	for _, e := range m.voice.hear() {
		if !m.process.Dead() && m.world.Broken() == "" {
			m.world.Story.Tell(m.process.Name, "says of %s: %s %s", e.InvolvedObject.Name, e.Reason, e.Message)
		}
	}
}

// trouble notes that starts may fail or be late for a while from now.
func (s *timetableWorld) trouble(lasts time.Duration) {
	s.troubled = max(s.troubled, s.world.Now()+lasts)
}

// tardy is how long something takes at this world's pace; now and then much longer.
func (s *timetableWorld) tardy(most []time.Duration, question string, about ...uint64) time.Duration {
	if s.plan.lives != nil {
		return 0
	}
	return tardy(s.world.Dice, s.plan.pace, most, question, about...)
}

// Whoever makes a Timetable, and whoever changes one.
func (s *timetableWorld) make(i int) {
	obj := s.plan.timetables[i].obj.DeepCopy()
	if err := s.server.Create("user", obj); err == nil {
		s.world.Story.Tell("user", "%s is %s", obj.Name, jsonOf(&obj.Spec))
	}
}

func (s *timetableWorld) change(name, what string, edit func(*timetable.Object)) {
	sim.Edit(s.server, "user", what, ns, name, func(tt *timetable.Object) {
		edit(tt)
		s.world.Story.Tell("user", "%s will be %s", name, jsonOf(&tt.Spec))
	})
}

// live is the life of a child: it starts, and ends, or hangs.
func (s *timetableWorld) live(c *sim.Change) {
	if s.plan.lives != nil {
		s.plan.lives(c)
		return
	}
	child, ok := c.New.(*unstructured.Unstructured)
	if !ok || c.Gone || metav1.GetControllerOfNoCopy(child) == nil {
		return
	}
	d, uid := s.world.Dice, sim.Key(string(child.GetUID()))
	plan := s.planned(metav1.GetControllerOfNoCopy(child).Name)
	switch {
	case plan == nil:
	case c.Old == nil:
		s.world.After(0, func() { s.hold(child, plan) })
		runs := d.Between(500*time.Millisecond, plan.runs, "runs", uid)
		fails := d.Chance(plan.fails, "fails", uid)
		if seconds, limited, _ := unstructured.NestedInt64(child.Object, "spec", "activeDeadlineSeconds"); limited {
			if limit := time.Duration(seconds) * time.Second; d.Chance(plan.hangs, "hangs", uid) || runs > limit {
				s.world.After(limit, func() { s.end(child, "DeadlineExceeded") })
				return
			}
		} else if d.Chance(plan.hangs, "hangs", uid) && !s.calm {
			s.truth.hangs[child.GetUID()] = child
			return
		}
		how := "Done"
		if fails {
			how = "Broken"
		}
		s.world.After(runs, func() { s.end(child, how) })
	case child.GetDeletionTimestamp() != nil && c.Old.GetDeletionTimestamp() == nil && slices.Contains(child.GetFinalizers(), slowFinalizer):
		s.world.After(d.Between(0, plan.lingers, "lingers", uid), func() { s.letGo(child) })
	}
}

// slowFinalizer keeps a child that is deleted for a while, as what it runs does.
const slowFinalizer = "example.com/slow"

func (s *timetableWorld) hold(child *unstructured.Unstructured, plan *simTimetable) {
	if plan.lingers > 0 {
		s.editChild(child, "hold", func(u *unstructured.Unstructured) { u.SetFinalizers(append(u.GetFinalizers(), slowFinalizer)) })
	}
}

func (s *timetableWorld) letGo(child *unstructured.Unstructured) {
	s.editChild(child, "let go", func(u *unstructured.Unstructured) {
		u.SetFinalizers(slices.DeleteFunc(u.GetFinalizers(), func(f string) bool { return f == slowFinalizer }))
	})
}

// editChild changes a child, unless it is gone.
func (s *timetableWorld) editChild(child *unstructured.Unstructured, what string, edit func(*unstructured.Unstructured)) {
	if now := s.server.Get(child.GetKind(), ns, child.GetName()); now == nil || now.GetUID() != child.GetUID() {
		return
	}
	sim.EditKind(s.server, "its controller", what, child.GetKind(), ns, child.GetName(), func(obj client.Object) { edit(obj.(*unstructured.Unstructured)) })
}

// planned is what the plan says of a Timetable; nil if it says nothing.
func (s *timetableWorld) planned(name string) *simTimetable {
	i := slices.IndexFunc(s.plan.timetables, func(c simTimetable) bool { return c.obj.Name == name })
	if i < 0 {
		return nil
	}
	return &s.plan.timetables[i]
}

// end ends a child: Done, Broken, or for a Job DeadlineExceeded.
func (s *timetableWorld) end(child *unstructured.Unstructured, how string) {
	now := s.server.Clock.Now().UTC().Format(time.RFC3339)
	s.editChild(child, "ends: "+how, func(u *unstructured.Unstructured) {
		if childEnded(u) {
			return
		}
		status := map[string]any{"phase": how}
		switch u.GetKind() {
		case "Pod":
			status["phase"] = map[bool]string{true: "Succeeded", false: "Failed"}[how == "Done"]
		case "Job":
			condition := map[string]any{"type": "Complete", "status": "True", "lastTransitionTime": now}
			if how == "Done" {
				status["completionTime"] = now
			} else {
				condition["type"], condition["reason"] = "Failed", how
			}
			status["conditions"] = []any{condition}
		}
		u.Object["status"] = status
	})
}

// childEnded tells whether a child has ended, and childSucceeded how.
func childEnded(u *unstructured.Unstructured) bool {
	status, _ := u.Object["status"].(map[string]any)
	return len(status) > 0
}

func childSucceeded(u *unstructured.Unstructured) bool {
	phase, _, _ := unstructured.NestedString(u.Object, "status", "phase")
	completed, _, _ := unstructured.NestedString(u.Object, "status", "completionTime")
	return phase == "Succeeded" || u.GetKind() != "Job" && phase == "Done" || completed != ""
}
