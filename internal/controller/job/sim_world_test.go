// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/carillon-dev/carillon/internal/job"
	"github.com/carillon-dev/carillon/internal/kube/events"
	"github.com/carillon-dev/carillon/internal/kube/loadgate"
	"github.com/carillon-dev/carillon/internal/testkit/sim"
)

// simulation is a plan carried out.
type simulation struct {
	plan    simPlan
	world   *sim.World
	server  *sim.Server
	kubelet *sim.Kubelet
	truth   *truth
	options Options
	calm    bool

	processes []*sim.Process // all that ever were
	requests  int
	born      int
	keys      []types.NamespacedName
	pods      map[string]uint64 // pods made, by Job
}

// foreigner manages Jobs that are never ours.
const foreigner = "acme.io/jobs"

func newSimulation(plan simPlan) *simulation {
	w := sim.NewWorld(plan.dice)
	s := &simulation{plan: plan, world: w, server: sim.NewServer(w), pods: map[string]uint64{}}
	s.options = Options{Standalone: !plan.cluster, FanOut: 1}.withDefaults()
	if plan.small {
		s.options.MaxPodChanges, s.options.MaxUncounted = 2, 2
	}
	s.server.Trim = func(obj client.Object) client.Object {
		trimmed, err := TrimPod(obj)
		if err == nil {
			trimmed, err = TrimJob(&s.options)(trimmed)
		}
		if err != nil {
			panic(err)
		}
		return trimmed.(client.Object)
	}
	s.server.Validate = func(old, updated client.Object) string {
		if j, ok := updated.(*batchv1.Job); ok {
			if broken := job.CheckStatus(old.(*batchv1.Job), j); len(broken) > 0 {
				return fmt.Sprint(broken)
			}
		}
		return ""
	}
	s.truth = newTruth(s)
	s.server.NewCollector(func(n int) time.Duration {
		return w.Dice.Between(5*time.Millisecond, []time.Duration{500 * time.Millisecond, 5 * time.Second}[w.Dice.Roll(2, "gc", uint64(n))], "gc lag", uint64(n))
	}, "Job", "Pod")
	s.kubelet = s.server.NewKubelet(s.fate)
	s.server.OnChange(func(c *sim.Change) { s.expire(c) })
	for i, j := range plan.jobs {
		s.keys = append(s.keys, client.ObjectKeyFromObject(j.obj))
		w.At(j.created, func() { s.make(i) })
	}
	for _, e := range plan.edits {
		w.At(e.at, func() { s.edit(e) })
	}
	for _, u := range plan.upsets {
		w.At(u.at, func() { s.upset(u) })
	}
	s.start(0)
	return s
}

// run lets the world go by and tells what is broken in it.
func (s *simulation) run() string {
	w := s.world
	w.Run(storm)
	s.settle()
	for end := storm + 8*time.Hour; w.Now() < end && w.Broken() == "" && !s.truth.ended(); {
		w.Run(w.Now() + 20*time.Second)
		s.help()
		s.truth.checkFinalizers()
	}
	w.Run(w.Now() + 3*time.Minute)
	s.truth.checkFinalizers()
	s.truth.checkEnd()
	if w.Broken() == "" {
		before := s.requests
		w.Run(w.Now() + time.Hour)
		if n := s.requests - before; n > 0 {
			w.Break("%d requests in an hour in which there was nothing to do", n)
		}
	}
	return w.Broken()
}

// settle ends all that goes wrong and begins what lets Jobs end.
func (s *simulation) settle() {
	if s.world.Broken() != "" {
		return
	}
	s.calm = true
	s.world.Story.Tell("world", "calm")
	var living []*sim.Process
	for _, p := range s.processes {
		if !p.Dead() {
			p.Resume()
			living = append(living, p)
		}
	}
	for len(living) > 1 {
		living[0].Kill("having lost the lease")
		living = living[1:]
	}
	if len(living) == 0 {
		s.start(0)
	}
	s.help()
}

// help is a user who wants to see the end: what is suspended is resumed, what hangs is told to end.
func (s *simulation) help() {
	for _, obj := range s.server.List("Job") {
		j := obj.(*batchv1.Job)
		if j.DeletionTimestamp == nil && !job.Finished(j) && (ptr.Deref(j.Spec.Suspend, false) || *j.Spec.Parallelism == 0 && ptr.Deref(j.Spec.Completions, 1) > 0) {
			sim.Edit(s.server, "user", "set going", j.Namespace, j.Name, func(j *batchv1.Job) {
				j.Spec.Suspend = new(false)
				if *j.Spec.Parallelism == 0 {
					j.Spec.Parallelism = new(int32(1))
				}
			})
		}
	}
	for _, obj := range s.server.List("Pod") {
		if pod := obj.(*corev1.Pod); !job.PodFinished(pod) && s.world.Now()-s.truth.pods[pod.UID].made > 2*time.Minute {
			s.kubelet.Finish(pod)
		}
	}
}

// make is a user who creates a Job. Whoever manages a foreign one makes its pods at once.
func (s *simulation) make(i int) {
	j := s.plan.jobs[i].obj.DeepCopy()
	if err := s.server.Create("user", j); err != nil {
		return // one of this name is still there
	}
	if !foreign(ptr.Deref(j.Spec.ManagedBy, ""), s.plan.cluster) {
		return
	}
	for n := range 2 {
		pod := &corev1.Pod{ObjectMeta: j.Spec.Template.ObjectMeta, Spec: *j.Spec.Template.Spec.DeepCopy()}
		pod.Namespace, pod.Name, pod.Finalizers = j.Namespace, j.Name+"-foreign-"+strconv.Itoa(n), []string{job.Finalizer}
		pod.OwnerReferences = []metav1.OwnerReference{job.OwnerReference(j)}
		_ = s.server.Create("foreigner", pod) // one of this name may still be there
	}
}

// expire deletes finished Jobs whose time to live is over, as the TTL controller does.
func (s *simulation) expire(c *sim.Change) {
	j, ok := c.New.(*batchv1.Job)
	if !ok || c.Gone || j.Spec.TTLSecondsAfterFinished == nil || !job.Finished(j) || job.Finished(c.Old.(*batchv1.Job)) {
		return
	}
	s.world.After(time.Duration(*j.Spec.TTLSecondsAfterFinished)*time.Second, func() {
		// Another one of this name is not the one.
		_ = s.server.Delete("ttl", "Job", j.Namespace, j.Name, sim.Deletion{UID: j.UID, Propagation: metav1.DeletePropagationForeground})
	})
}

// fate is what becomes of the n-th pod of a Job.
func (s *simulation) fate(pod *corev1.Pod) sim.Fate {
	d := s.world.Dice
	name := pod.Labels[batchv1.JobNameLabel]
	i := slices.IndexFunc(s.plan.jobs, func(j simJob) bool { return j.obj.Name == name })
	if i < 0 {
		return sim.Fate{Node: "node-1"}
	}
	j := s.plan.jobs[i]
	s.pods[name]++
	about := []uint64{sim.Key(name), s.pods[name]}
	f := sim.Fate{
		Node:  sim.Pick(d, sim.Nodes(3), "node", about...),
		Bind:  d.Between(time.Millisecond, 300*time.Millisecond, "bind", about...),
		Start: d.Between(10*time.Millisecond, 2*time.Second, "start", about...),
		Run:   d.Between(0, j.runs, "run", about...),
	}
	if s.calm || j.quiet {
		return f
	}
	f.Stop = sim.Pick(d, []time.Duration{50 * time.Millisecond, 2 * time.Second, 20 * time.Second, 10 * time.Minute}, "stop", about...)
	f.StopExit = sim.Pick(d, []int32{143, 143, 0, exitIgnore}, "stop exit", about...)
	f.Skew = sim.Pick(d, []time.Duration{0, 0, -2 * time.Hour, 30 * time.Second, 2 * time.Hour}, "skew", sim.Key(f.Node))
	if d.Chance(j.fails, "fails", about...) {
		f.Exit = sim.Pick(d, []int32{exitFails, exitFails, exitFails, exitIgnore, exitFailIndex, exitFailJob}, "exit", about...)
	}
	if d.Chance(j.hangs, "hangs", about...) {
		f.Hangs = true
		if d.Chance(25, "unscheduled", about...) {
			f.Node = ""
		}
	}
	if d.Chance(j.doom, "doom", about...) {
		f.Doom = sim.Pick(d, []sim.Doom{sim.Evicted, sim.NodeLost}, "which doom", about...)
	}
	if pod.Spec.RestartPolicy == corev1.RestartPolicyOnFailure {
		f.Restarts = d.Roll(3, "restarts", about...)
	}
	return f
}

// start begins a new process, whose first lists may be stale.
func (s *simulation) start(stale int) *sim.Process {
	s.born++
	d, nth := s.world.Dice, uint64(s.born)
	clock := s.server.Clock
	if s.born > 1 && d.Chance(50, "own machine", nth) {
		clock = s.world.NewClock(sim.Pick(d, []time.Duration{0, 0, 1500 * time.Millisecond, -40 * time.Second, 3 * time.Minute}, "skew", nth))
	}
	p := s.server.NewProcess(fmt.Sprintf("manager-%d", s.born), clock, &s.requests)
	s.processes = append(s.processes, p)
	s.truth.started(p, stale)
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

	opts := s.options
	opts.Clock, opts.Events, opts.Gate = clock, &simSpeech{s, p}, loadgate.New(clock)
	jobs, pods := p.Follow("Job", jobIndexers(), stale), p.Follow("Pod", podIndexers(), stale)
	timers := &simTimers{simulation: s, began: map[types.NamespacedName]time.Time{}}
	c := newController(opts, p.Client, p.Client, timers, caches{jobs: jobs, pods: pods})
	main := p.NewQueue("sync", opts.RetryBase, opts.RetryMax, func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
		timers.began[r.NamespacedName] = clock.Now()
		return c.Reconcile(ctx, r)
	})
	orphans := p.NewQueue("orphan", opts.RetryBase, opts.RetryMax, c.reconcileOrphan)
	p.Wake(&timers.Timers, func() []types.NamespacedName { return s.keys }, func(key types.NamespacedName) {
		main.Add(reconcile.Request{NamespacedName: key})
	})
	sim.Handle(jobs, c.jobEvents(), main)
	sim.Handle(jobs, c.orphanJobEvents(), orphans)
	sim.Handle(pods, c.podEvents(), main)
	sim.Handle(pods, c.orphanPodEvents(), orphans)
	return p
}

// tardy is how long something takes at this world's pace; now and then much longer.
func (s *simulation) tardy(most []time.Duration, question string, about ...uint64) time.Duration {
	d, span := s.world.Dice, most[s.plan.pace]
	if s.plan.pace > 0 && d.Chance(2, "hiccup "+question, about...) {
		span *= 10
	}
	return d.Between(0, span, question, about...)
}

func (s *simulation) mishap(r sim.Request) sim.Mishap {
	if s.calm {
		return sim.None
	}
	for _, m := range s.plan.mishaps {
		if r.Number < m.from || r.Number >= m.from+m.count {
			continue
		}
		if m.what == sim.DiesBefore || m.what == sim.DiesAfter {
			s.world.After(s.world.Dice.Between(0, 5*time.Second, "restart", uint64(r.Number)), func() { s.replace(nil) })
		}
		s.truth.mishaps++
		s.truth.befallen = r.Number
		return m.what
	}
	return sim.None
}

// replace starts a process, unless one lives besides old, which may be nil.
func (s *simulation) replace(old *sim.Process) {
	for _, p := range s.processes {
		if p != old && !p.Dead() {
			return
		}
	}
	s.start(s.staleness())
}

// staleness is how old the first lists of the next process are.
func (s *simulation) staleness() int {
	return sim.Pick(s.world.Dice, []int{0, 0, 0, 3, 15}, "stale", uint64(s.born))
}

// newest is the process that was started last, if it lives.
func (s *simulation) newest() *sim.Process {
	if p := s.processes[len(s.processes)-1]; !p.Dead() {
		return p
	}
	return nil
}

func (s *simulation) upset(u simUpset) {
	p := s.newest()
	if p == nil || s.calm {
		return
	}
	switch u.what {
	case "no pods seen":
		p.Stall("Pod", u.lasts)
	case "no Jobs seen":
		p.Stall("Job", u.lasts)
	case "nothing seen":
		p.Stall("", u.lasts)
	case "relist":
		p.Relist()
	case "crash":
		p.Kill("by a crash")
		s.world.After(u.lasts/4, func() { s.replace(nil) })
	case "handover":
		p.Kill("giving the lease away")
		s.replace(nil)
	case "two leaders":
		s.truth.overlap = true
		s.replace(p)
		s.world.After(u.lasts/2, func() { p.Kill("having lost the lease long ago") })
	case "standstill":
		p.Pause(u.lasts)
	case "standstill and takeover":
		s.truth.overlap = true
		p.Pause(u.lasts)
		s.replace(p)
		s.world.After(u.lasts+s.world.Dice.Between(0, 2*time.Second, "lease", uint64(u.lasts)), func() { p.Kill("having lost the lease") })
	case "clock forward":
		s.world.Story.Tell("machine", "sets its clock forward by %s", u.lasts)
		p.Clock.Step(u.lasts)
	case "clock back":
		s.world.Story.Tell("machine", "sets its clock back by %s", u.lasts)
		p.Clock.Step(-u.lasts)
	}
}

// simTimers are timers that each sync sets in the future, as it sees it.
type simTimers struct {
	sim.Timers
	*simulation
	began map[types.NamespacedName]time.Time
}

func (t *simTimers) Wake(key types.NamespacedName, at time.Time) {
	if !at.After(t.began[key]) {
		t.world.Break("a sync of %s wants to be woken at %s, which is not after it began", key, at)
	}
	t.Timers.Wake(key, at)
}

// simSpeech hears what a process says.
type simSpeech struct {
	*simulation
	process *sim.Process
}

func (s *simSpeech) Event(n events.Event) {
	if s.process.Dead() || s.world.Broken() != "" {
		return
	}
	s.world.Story.Tell(s.process.Name, "says of %s: %s %s", n.About.Name, n.Reason, n.Message)
	s.truth.said(n)
}

func (s *simSpeech) Forget(types.UID) {}
