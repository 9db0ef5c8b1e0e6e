// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/kube/lister"
	"github.com/carillon-dev/carillon/internal/kube/loadgate"
	"github.com/carillon-dev/carillon/internal/kube/ownwrites"
	"github.com/carillon-dev/carillon/internal/testkit/sim"
)

// simulation is a plan carried out.
type simulation struct {
	plan   simPlan
	kind   *simKind
	world  *sim.World
	server *sim.Server
	truth  *truth
	// calm: nothing goes wrong any more. movable: also what nobody could delete can be deleted.
	calm, movable bool
	// outages are what the server cannot do, and until when.
	outages map[string]time.Duration
	// troubled is until when something stands between a scheduled time and its Job; undeletable the same for deletes.
	troubled, undeletable time.Duration
	// unwritable is until when a failing status write, or a failing delete, may wait for its next try.
	unwritable time.Duration
	// shown is the latest time that a clock has shown before it was set back.
	shown time.Time
	// slowed is until when slow requests may hold up all workers, and what they would write.
	slowed time.Duration

	managers []*simManager // all that ever were
	requests int
	keys     []types.NamespacedName
	jobs     map[types.NamespacedName]uint64 // Jobs made, by CronJob
}

// simManager is a process of the controller.
type simManager struct {
	*simulation
	process          *sim.Process
	began            time.Duration
	controller       *reconciler
	owners, children *sim.Cache
	statusWriter     *sim.Queue
	// halves are the halves of syncs that are under way, the innermost last; views is what the caches showed when
	// the latest sync over a CronJob began.
	halves []string
	views  map[types.NamespacedName]view
	// since is when a status write began to stand back for starts.
	since map[types.NamespacedName]time.Duration
	voice *voice
}

const ns = "batch"

func newSimulation(plan simPlan) *simulation {
	w := sim.NewWorld(plan.dice)
	s := &simulation{plan: plan, kind: plan.kind, world: w, server: sim.NewServer(w), outages: map[string]time.Duration{}, jobs: map[types.NamespacedName]uint64{}}
	s.server.Trim, s.server.Served, s.server.Stored = s.kind.trim(), s.kind.served, s.kind.stored
	s.server.Custom, s.server.Validate = s.kind.custom, s.kind.refuses
	s.truth = newTruth(s)
	s.server.NewCollector(func(n int) time.Duration {
		if plan.lives != nil {
			return 0
		}
		return w.Dice.Between(5*time.Millisecond, []time.Duration{500 * time.Millisecond, 5 * time.Second}[w.Dice.Roll(2, "gc", uint64(n))], "gc lag", uint64(n))
	}, "CronJob", "Job")
	s.server.OnChange(s.live)
	for i, c := range plan.cronJobs {
		s.keys = append(s.keys, client.ObjectKeyFromObject(c.obj))
		w.At(c.created, func() { s.make(i) })
	}
	for _, e := range plan.edits {
		w.At(e.at, func() { s.edit(e) })
	}
	for _, u := range plan.upsets {
		w.At(u.at, func() { s.upset(u) })
	}
	s.start(0)
	s.look()
	return s
}

// refusal is how long after the storm creates may still be refused, while all else works again.
const refusal = 100 * time.Second

// run lets the world go by and tells what is broken in it.
func (s *simulation) run() string {
	w := s.world
	defer func() {
		for _, m := range s.managers {
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
	s.truth.checkTold()
	s.quieten()
	w.Run(storm + 25*time.Minute) // longer than any delay after errors
	s.truth.checkEnd()
	if w.Broken() == "" {
		runs, before, told := s.truth.made, s.requests, s.truth.excess
		w.Run(w.Now() + time.Hour)
		runs = s.truth.made - runs
		// The start, its record, that of its end, and a delete for what is too much then; the annotation with the first
		// record, where it does not go with it; and what is told even now.
		if n := s.requests - before - (s.truth.excess - told) - min(1, len(s.kind.custom)); n > 4*runs {
			w.Break("guarantee 7: %d requests in an hour in which there were %d runs and nothing else to do", n, runs)
		}
		if runs != 1 {
			w.Break("guarantee 3: %d runs in an hour in which there was one to do", runs)
		}
	}
	s.truth.checkEnd()
	return w.Broken()
}

// look has the truth look every few seconds whether scheduled times were served.
func (s *simulation) look() {
	s.truth.checkServed()
	s.truth.checkWritten()
	s.world.After(5*time.Second, s.look)
}

// settle ends all that goes wrong, except that creates may be refused a bit longer.
func (s *simulation) settle() {
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
	var living []*simManager
	for _, m := range s.managers {
		if !m.process.Dead() {
			m.process.Resume()
			living = append(living, m)
		}
	}
	for len(living) > 1 {
		living[0].process.Kill("having lost the lease")
		living = living[1:]
	}
	if len(living) == 0 {
		s.start(0)
	}
	for _, obj := range s.server.List("Job") {
		if j := obj.(*batchv1.Job); !simFinished(j) && s.truth.jobs[j.UID].hangs {
			s.world.After(30*time.Second, func() { s.end(j.Name, j.UID, true) })
		}
	}
}

// quieten is a user who wants peace: what fires often is suspended, and one CronJob fires once an hour. What could not
// be deleted can be by now, and what rests is deleted: each sync looks for it on the server (K8a).
func (s *simulation) quieten() {
	if s.world.Broken() != "" {
		return
	}
	s.world.Story.Tell("world", "quiet")
	s.movable = true
	for _, obj := range s.server.List("Job") {
		if s.truth.jobs[obj.GetUID()].rests() {
			_ = s.server.Delete("user", "Job", ns, obj.GetName(), sim.Deletion{Propagation: metav1.DeletePropagationBackground})
		}
	}
	for i := range s.plan.cronJobs {
		name := s.plan.cronJobs[i].obj.Name
		cj, _ := s.server.Get("CronJob", ns, name).(*batchv1.CronJob)
		switch {
		case i == 0 && cj == nil:
			s.make(i)
			fallthrough
		case i == 0:
			s.change(i, "hourly", func(cj *batchv1.CronJob) {
				cj.Spec.Schedule, cj.Spec.TimeZone, cj.Spec.Suspend = "55 * * * *", nil, new(false)
				cj.Spec.StartingDeadlineSeconds = nil
			})
		case cj != nil && (!slices.Contains(simSchedules[often:8], cj.Spec.Schedule) /* those are over */ || s.truth.failsOverMistake(cj)):
			s.change(i, "suspend", func(cj *batchv1.CronJob) { cj.Spec.Suspend = new(true) })
		}
	}
}

// start begins a new process, whose first lists may be stale.
func (s *simulation) start(stale int) *simManager {
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

	m := &simManager{simulation: s, process: p, began: s.world.Now(), views: map[types.NamespacedName]view{}, since: map[types.NamespacedName]time.Duration{}}
	m.owners, m.children = p.Follow("CronJob", toolscache.Indexers{}, stale), p.Follow("Job", toolscache.Indexers{}, stale)
	r, err := newReconciler(s.kind.Kind, s.kind.scheme)
	if err != nil {
		panic(err)
	}
	owners, errOwners := lister.Over(m.owners)
	children, errChildren := lister.Over(m.children)
	if errOwners != nil || errChildren != nil {
		panic(fmt.Sprint(errOwners, errChildren))
	}
	r.owners, r.child.cache = owners, children
	r.ownWrites, r.child.writes = ownwrites.New[client.Object](owners.Progress), ownwrites.New[client.Object](children.Progress)
	r.live, r.writer, r.removals = p.Client, p.Client, 1
	r.clock, r.readOptions, r.gate, r.log = clock, adapter.ReadOptions{Zone: time.UTC}, loadgate.New(impatient{clock}), logr.Discard()
	m.voice = newVoice()
	r.recorder = m.voice.Recorder
	timers := &sim.Timers{}
	r.timers = timers
	r.begin()
	m.controller = r
	main := p.NewQueue("sync", time.Second, time.Minute, m.first)
	m.statusWriter = p.NewQueue("books", time.Second, time.Minute, m.second)
	q := queue(main)
	r.queue.Store(&q)
	p.Wake(timers, func() []types.NamespacedName { return s.keys }, func(key types.NamespacedName) {
		r.ring([]types.NamespacedName{key})
		main.Add(reconcile.Request{NamespacedName: key})
	})
	sim.Handle(m.owners, r.ownerHandlers(), main)
	sim.Handle(m.children, s.truth.witness(m), main)
	sim.Handle(m.children, r.childHandlers(r.child), main)
	s.managers = append(s.managers, m)
	s.trouble(40 * time.Second)
	return m
}

// impatient is a clock on which every wait is over at once: status writes stand back on the agenda (second).
type impatient struct{ *sim.Clock }

func (i impatient) After(time.Duration) <-chan time.Time {
	over := make(chan time.Time, 1)
	over <- i.Now()
	return over
}

// first makes the first half of a sync.
func (m *simManager) first(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	key := request.NamespacedName
	m.views[key] = m.see(key)
	m.halves = append(m.halves, "first")
	result, err := m.controller.Reconcile(ctx, request)
	m.halves = m.halves[:len(m.halves)-1]
	m.listen()
	if m.controller.statusQueue.waiting() > 0 {
		m.statusWriter.Add(request)
	}
	return result, err
}

// second makes the second halves that are open for some CronJob, when no start is due or under way, or after it has
// stood back for as long as it does.
func (m *simManager) second(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	r, key, now := m.controller, request.NamespacedName, m.world.Now()
	if r.statusQueue.waiting() == 0 {
		return reconcile.Result{}, nil
	}
	if standsBack(r, m.since, key, now) {
		return reconcile.Result{RequeueAfter: maxDefer / 8}, nil
	}
	m.halves = append(m.halves, "second")
	r.statusQueue.next(ctx)
	m.halves = m.halves[:len(m.halves)-1]
	m.listen()
	if r.statusQueue.waiting() > 0 {
		m.statusWriter.Add(request) // what was done may have been another's, which its own request then does not find
	}
	return reconcile.Result{}, nil
}

// standsBack tells whether a status write over a CronJob stands back for starts, as it does for a while. since is when
// each one began to.
func standsBack(r *reconciler, since map[types.NamespacedName]time.Duration, key types.NamespacedName, now time.Duration) bool {
	if began, waits := since[key]; !waits {
		since[key] = now
	} else if now-began >= maxDefer {
		delete(since, key)
	}
	if _, waits := since[key]; waits && r.gate.Busy() {
		return true
	}
	delete(since, key)
	return false
}

// listen has what was said written down.
func (m *simManager) listen() {
	for _, e := range m.voice.hear() {
		if m.process.Dead() || m.world.Broken() != "" {
			m.truth.unheard(e)
			continue
		}
		m.world.Story.Tell(m.process.Name, "says of %s: %s %s", e.InvolvedObject.Name, e.Reason, e.Message)
		m.truth.said(m, e)
	}
}

// trouble notes that starts may fail or be late for a while from now.
func (s *simulation) trouble(lasts time.Duration) {
	s.troubled = max(s.troubled, s.world.Now()+lasts)
}

// tardy is how long something takes at this world's pace; now and then much longer.
func (s *simulation) tardy(most []time.Duration, question string, about ...uint64) time.Duration {
	if s.plan.lives != nil {
		return 0
	}
	return tardy(s.world.Dice, s.plan.pace, most, question, about...)
}

// tardy is how long something takes at a pace, which is 0, 1 or 2; now and then much longer.
func tardy(d sim.Dice, pace int, most []time.Duration, question string, about ...uint64) time.Duration {
	span := most[pace]
	if pace > 0 && d.Chance(2, "hiccup "+question, about...) {
		span *= 10
	}
	return d.Between(0, span, question, about...)
}

// mishap is what becomes of a request.
func (s *simulation) mishap(r sim.Request) sim.Mishap {
	if r.Verb == "delete" && s.truth.stuck(r) {
		return sim.Webhook
	}
	if m := s.outage(r); m != sim.None {
		s.truth.unclear[r.Name] = s.truth.unclear[r.Name] || r.Verb == "create"
		return m
	}
	if s.calm {
		return sim.None
	}
	for _, m := range s.plan.mishaps {
		if r.Number < m.from || r.Number >= m.from+m.count {
			continue
		}
		dies := m.what == sim.DiesBefore || m.what == sim.DiesAfter
		if dies {
			s.world.After(s.world.Dice.Between(0, 5*time.Second, "restart", uint64(r.Number)), func() { s.replace(nil) })
		}
		switch {
		case r.Verb == "create", r.Verb == "get", m.what == sim.Slow, dies:
			s.trouble(40 * time.Second)
		case r.Verb == "delete":
			s.undeletable = max(s.undeletable, s.world.Now()+40*time.Second)
			s.unwritable = max(s.unwritable, s.world.Now()+time.Minute) // when it is tried again
		}
		if m.what == sim.AnswerLost && r.Verb == "create" {
			s.cutOff(r)
		}
		if m.what == sim.Slow {
			s.slowed = s.world.Now() + 3*time.Minute
		}
		s.truth.befalls(r, m.what)
		s.truth.unclear[r.Name] = s.truth.unclear[r.Name] || r.Verb == "create"
		return m.what
	}
	return sim.None
}

// cutOff lets the connection that broke while a create was under way take the watches with it, and the reads.
func (s *simulation) cutOff(r sim.Request) {
	d, p := s.world.Dice, s.truth.manager(r.By).process
	lasts := d.Between(0, 2*time.Minute, "cut off", uint64(r.Number))
	if !d.Chance(60, "cuts off", uint64(r.Number)) {
		return
	}
	p.Stall("", lasts)
	s.truth.blinded(lasts)
	s.truth.jobless = max(s.truth.jobless, s.world.Now()+lasts)
	if d.Chance(70, "no reads", uint64(r.Number)) {
		s.outages["no reads"] = s.world.Now() + lasts
		s.trouble(lasts + 5*time.Second)
	}
}

// outage is what becomes of a request because of what the server cannot do just now.
func (s *simulation) outage(r sim.Request) sim.Mishap { return outageOf(s.outages, s.world.Now(), r) }

// outageOf is the same of a server that cannot do some things until then.
func outageOf(outages map[string]time.Duration, now time.Duration, r sim.Request) sim.Mishap {
	lasts := func(what string) bool { return outages[what] > now }
	switch {
	case lasts("server away"):
		return sim.Unreachable
	case r.Verb == "get" && lasts("no reads"):
		return sim.Unreachable
	case r.Verb == "create" && lasts("over quota"):
		return sim.Quota
	case r.Verb == "create" && lasts("no webhook"):
		return sim.Webhook
	case r.Verb == "status" && lasts("no statuses"):
		return sim.Refused
	case r.Verb == "delete" && lasts("no deletes"):
		return sim.Webhook
	}
	return sim.None
}

// replace starts a process, unless one lives besides old, which may be nil.
func (s *simulation) replace(old *simManager) {
	for _, m := range s.managers {
		if m != old && !m.process.Dead() {
			return
		}
	}
	stale := sim.Pick(s.world.Dice, []int{0, 0, 0, 3, 15}, "stale", uint64(len(s.managers)))
	s.truth.stale = s.truth.stale || stale > 0
	s.start(stale)
}

// leading is the process that was started last, if it lives.
func (s *simulation) leading() *simManager {
	if m := s.managers[len(s.managers)-1]; !m.process.Dead() {
		return m
	}
	return nil
}

func (s *simulation) upset(u simUpset) {
	m := s.leading()
	if m == nil || s.calm {
		return
	}
	p := m.process
	switch u.what {
	case "no Jobs seen":
		p.Stall("Job", u.lasts)
		s.truth.jobless = max(s.truth.jobless, s.world.Now()+u.lasts)
	case "no CronJobs seen":
		p.Stall("CronJob", u.lasts)
		s.truth.blinded(u.lasts)
	case "nothing seen":
		p.Stall("", u.lasts)
		s.truth.blinded(u.lasts)
		s.truth.jobless = max(s.truth.jobless, s.world.Now()+u.lasts)
	case "relist":
		p.Relist()
	case "crash":
		s.trouble(u.lasts/4 + 40*time.Second)
		p.Kill("by a crash")
		s.world.After(u.lasts/4, func() { s.replace(nil) })
	case "handover":
		p.Kill("giving the lease away")
		s.replace(nil)
	case "two leaders":
		s.truth.overlap = true
		s.replace(m)
		s.trouble(u.lasts/2 + 40*time.Second)
		s.world.After(u.lasts/2, func() {
			p.Kill("having lost the lease long ago")
			s.replace(nil) // the other one may have died meanwhile
		})
	case "standstill":
		p.Pause(u.lasts)
		s.unwritable = max(s.unwritable, s.world.Now()+u.lasts)
		s.truth.blinded(u.lasts)
		s.trouble(u.lasts + 40*time.Second)
	case "standstill and takeover":
		s.truth.overlap = true
		p.Pause(u.lasts)
		s.truth.blinded(u.lasts)
		s.replace(m)
		s.trouble(u.lasts + 40*time.Second)
		s.world.After(u.lasts+s.world.Dice.Between(0, 2*time.Second, "lease", uint64(u.lasts)), func() {
			p.Kill("having lost the lease")
			s.replace(nil)
		})
	case "clock forward", "clock back":
		by := u.lasts
		if u.what == "clock back" {
			by = -by
		}
		s.world.Story.Tell("machine", "sets its clock by %s", by)
		s.trouble(40 * time.Second)
		// What waits for the next try finds out within ten seconds that the clock was set, and waits for the time it shows.
		s.unwritable = max(s.unwritable, s.world.Now()) + max(0, -by) + 10*time.Second
		if by < 0 && s.shown.Before(p.Clock.Now()) {
			s.shown = p.Clock.Now()
		}
		p.Clock.Step(by)
		if p.Clock == s.server.Clock {
			s.truth.slowest += min(0, by) // what was stamped before is in the future now
		}
		s.truth.clocks()
	default:
		s.world.Story.Tell("server", "%s for %s", u.what, u.lasts)
		until := s.world.Now() + u.lasts
		if u.what == "no statuses" || u.what == "no deletes" || u.what == "server away" {
			s.unwritable = max(s.unwritable, until+u.lasts) // the delays after errors have grown
		}
		s.outages[u.what] = max(s.outages[u.what], until)
		switch u.what {
		case "no deletes":
			s.undeletable = max(s.undeletable, until+5*time.Second)
		case "no statuses":
		default:
			s.trouble(u.lasts + 5*time.Second)
			s.undeletable = max(s.undeletable, until+5*time.Second)
		}
	}
}

// live is the life of a Job: it starts, and ends, or hangs; and then its time to live runs out.
func (s *simulation) live(c *sim.Change) {
	if s.plan.lives != nil {
		s.plan.lives(c)
		return
	}
	j, ok := c.New.(*batchv1.Job)
	if !ok || c.Gone {
		return
	}
	d := s.world.Dice
	if c.Old == nil {
		t := s.truth.jobs[j.UID]
		key := types.NamespacedName{Namespace: ns, Name: t.of}
		s.jobs[key]++
		about := []uint64{sim.Key(t.of), s.jobs[key]}
		i := slices.Index(s.keys, key)
		if i < 0 {
			return // nobody's
		}
		planned := s.plan.cronJobs[i]
		t.number = int(s.jobs[key])
		if ptr.Deref(j.Spec.Suspend, false) {
			return // it rests until somebody resumes it, and nobody does
		}
		begin := d.Between(5*time.Millisecond, 2*time.Second, "begin", about...)
		s.world.After(begin, func() { s.begin(j.Name, j.UID) })
		if t.hangs = !s.calm && d.Chance(planned.hangs, "hangs", about...); t.hangs {
			return
		}
		fails := d.Chance(planned.fails, "fails", about...)
		s.world.After(begin+d.Between(0, planned.runs, "runs", about...), func() { s.end(j.Name, j.UID, fails) })
		return
	}
	if ttl := j.Spec.TTLSecondsAfterFinished; ttl != nil && simFinished(j) && !simFinished(c.Old.(*batchv1.Job)) {
		s.world.After(time.Duration(*ttl)*time.Second, func() {
			// Another one of this name is not the one.
			_ = s.server.Delete("ttl", "Job", ns, j.Name, sim.Deletion{UID: j.UID, Propagation: metav1.DeletePropagationForeground})
		})
	}
}

// begin and end are what the Job controller writes.
func (s *simulation) begin(name string, uid types.UID) {
	if j, _ := s.server.Get("Job", ns, name).(*batchv1.Job); j == nil || j.UID != uid {
		return
	}
	now := metav1.NewTime(s.server.Clock.Now())
	sim.Edit(s.server, "job-controller", "status", ns, name, func(j *batchv1.Job) {
		j.Status.StartTime, j.Status.Active = &now, 1
	})
}

func (s *simulation) end(name string, uid types.UID, failed bool) {
	if j, _ := s.server.Get("Job", ns, name).(*batchv1.Job); j == nil || j.UID != uid || simFinished(j) {
		return
	}
	now := metav1.NewTime(s.server.Clock.Now())
	sim.Edit(s.server, "job-controller", "status", ns, name, func(j *batchv1.Job) {
		j.Status.Active = 0
		c := batchv1.JobCondition{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: now}
		if failed {
			c.Type = batchv1.JobFailed
			j.Status.Failed = 1
		} else {
			j.Status.CompletionTime, j.Status.Succeeded = &now, 1
		}
		j.Status.Conditions = append(j.Status.Conditions, c)
	})
}

func simFinished(j *batchv1.Job) bool {
	return slices.ContainsFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool {
		return (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue
	})
}

func simSucceeded(j *batchv1.Job) bool {
	return simFinished(j) && j.Status.CompletionTime != nil && ptr.Deref(j.Status.Ready, 0) == 0
}
