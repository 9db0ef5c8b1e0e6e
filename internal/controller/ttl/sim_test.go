// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package ttl

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/carillon-dev/carillon/internal/testkit/make"
	"github.com/carillon-dev/carillon/internal/testkit/replay"
	"github.com/carillon-dev/carillon/internal/testkit/sim"
	"github.com/carillon-dev/carillon/internal/ttl"
)

// An ordinary run replays the same worlds; see package replay.
func TestMain(m *testing.M) { os.Exit(replay.Run(m, 1000)) }

// Whatever fails, dies, lags or is edited, and however wrong the clocks are: no Job is deleted before its time to live
// is over, none that has not finished, and never another one of the same name; and every Job goes in the end (TTL-004
// to TTL-013, TTL-016 to TTL-019). A failure shows its seed:
//
//	go test ./internal/controller/ttl -run TestSimulation -rapid.seed=…
func TestSimulation(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := newSimulation(rt)
		if broken := s.run(); broken != "" {
			rt.Fatalf("%s\n\nThe story:\n%s", broken, s.world.Story)
		}
	})
}

// simulation is some Jobs that finish by themselves, and processes that delete them.
type simulation struct {
	world    *sim.World
	server   *sim.Server
	process  *sim.Process
	mishaps  map[int]sim.Mishap
	lag      time.Duration
	requests int
	born     int
	calm     bool
	// showed is what the clock of the process showed before it was last set back, until then.
	showed time.Time
	until  time.Duration
}

const storm = 10 * time.Minute

var simNames = []string{"a", "b", "c"}

func newSimulation(rt *rapid.T) *simulation {
	w := sim.NewWorld(sim.Dice(rapid.Uint64().Draw(rt, "dice")))
	s := &simulation{world: w, server: sim.NewServer(w), mishaps: map[int]sim.Mishap{}}
	s.server.NewCollector(func(int) time.Duration { return time.Second }, "Job")
	s.server.OnRequest(s.judge)
	s.lag = rapid.SampledFrom([]time.Duration{time.Millisecond, time.Second, time.Minute}).Draw(rt, "lag")
	at := func(label string) time.Duration {
		return time.Duration(rapid.IntRange(0, int(storm/time.Second)).Draw(rt, label)) * time.Second
	}
	seconds := func() *int32 { return new(int32(rapid.IntRange(0, 120).Draw(rt, "ttl"))) }
	for range rapid.IntRange(1, 8).Draw(rt, "Jobs") {
		name := rapid.SampledFrom(simNames).Draw(rt, "name")
		j, runs := make.Job(ns, name).TTL(*seconds()).New(), at("runs")/8
		if rapid.IntRange(0, 5).Draw(rt, "managed by") == 5 {
			j.Spec.ManagedBy = new("acme.io/jobs") // TTL-021
		}
		w.At(at("created")/2, func() {
			if s.server.Create("user", j) == nil {
				w.After(runs, func() { s.finish(j) })
			}
		})
	}
	for range rapid.IntRange(0, 6).Draw(rt, "edits") {
		name, ttl, what := rapid.SampledFrom(simNames).Draw(rt, "name"), seconds(), rapid.SampledFrom([]string{"raise", "remove", "delete"}).Draw(rt, "edit")
		w.At(at("at"), func() { s.edit(name, what, ttl) })
	}
	for range rapid.IntRange(0, 6).Draw(rt, "mishaps") {
		s.mishaps[rapid.IntRange(1, 20).Draw(rt, "request")] = rapid.SampledFrom(sim.Mishaps()).Draw(rt, "mishap")
	}
	for range rapid.IntRange(0, 4).Draw(rt, "upsets") {
		what, lasts := rapid.SampledFrom([]string{"stall", "crash", "forward", "back", "relist"}).Draw(rt, "upset"), at("lasts")/10
		w.At(at("at"), func() { s.upset(what, lasts) })
	}
	s.start(0)
	return s
}

// finish is what the Job controller writes in the end.
func (s *simulation) finish(j *batchv1.Job) {
	sim.Edit(s.server, "job-controller", "status", j.Namespace, j.Name, func(now *batchv1.Job) {
		if now.UID != j.UID {
			return
		}
		at := metav1.NewTime(s.server.Clock.Now())
		now.Status.StartTime = &at
		now.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: at}}
	})
}

func (s *simulation) edit(name, what string, ttl *int32) {
	switch what {
	case "raise":
		sim.Edit(s.server, "user", what, ns, name, func(j *batchv1.Job) { j.Spec.TTLSecondsAfterFinished = ttl })
	case "remove":
		sim.Edit(s.server, "user", what, ns, name, func(j *batchv1.Job) { j.Spec.TTLSecondsAfterFinished = nil })
	case "delete":
		_ = s.server.Delete("user", "Job", ns, name, sim.Deletion{Propagation: metav1.DeletePropagationBackground}) // there may be none
	}
}

// start begins a process, whose first list may be stale and whose clock may be wrong.
func (s *simulation) start(stale int) {
	s.born++
	clock := s.world.NewClock(sim.Pick(s.world.Dice, []time.Duration{0, 0, -90 * time.Second, 45 * time.Second}, "skew", uint64(s.born)))
	p := s.server.NewProcess(fmt.Sprintf("ttl-%d", s.born), clock, &s.requests)
	s.process = p
	p.Lag = func(_ string, n int) time.Duration {
		return s.world.Dice.Between(0, s.lag, "lag", uint64(s.born), uint64(n))
	}
	p.Client.Latency = func(r sim.Request) (there, back time.Duration) {
		most := min(s.lag, 5*time.Second)
		return s.world.Dice.Between(0, most, "there", uint64(r.Number)), s.world.Dice.Between(0, most, "back", uint64(r.Number))
	}
	p.Client.Mishap = func(r sim.Request) sim.Mishap {
		if s.calm {
			return sim.None
		}
		m := s.mishaps[r.Number]
		if m == sim.DiesBefore || m == sim.DiesAfter {
			s.world.After(5*time.Second, func() { s.replace() })
		}
		return m
	}
	jobs := p.Follow("Job", nil, stale)
	opts := Options{Clock: clock}.withDefaults()
	timers := &sim.Timers{}
	c := newController(opts, p.Client, p.Client, timers, func(key types.NamespacedName) *batchv1.Job {
		obj, _, _ := jobs.GetByKey(key.String())
		j, _ := obj.(*batchv1.Job)
		return j
	})
	q := p.NewQueue("ttl", opts.RetryBase, opts.RetryMax, c.Reconcile)
	p.Wake(timers, func() (keys []types.NamespacedName) {
		for _, name := range simNames {
			keys = append(keys, types.NamespacedName{Namespace: ns, Name: name})
		}
		return keys
	}, func(key types.NamespacedName) { q.Add(reconcile.Request{NamespacedName: key}) })
	sim.Handle(jobs, c.jobEvents(), q)
}

func (s *simulation) replace() {
	if s.process.Dead() {
		s.start(sim.Pick(s.world.Dice, []int{0, 0, 2, 10}, "stale", uint64(s.born)))
	}
}

func (s *simulation) upset(what string, lasts time.Duration) {
	if s.process.Dead() {
		return
	}
	switch what {
	case "stall":
		s.process.Stall("Job", lasts)
	case "crash":
		s.process.Kill("by a crash")
		s.world.After(lasts, s.replace)
	case "forward", "back":
		by := map[string]time.Duration{"forward": lasts, "back": -lasts}[what]
		s.world.Story.Tell("machine", "sets the clock of %s by %s", s.process.Name, by)
		if by < 0 {
			s.showed, s.until = s.process.Clock.Now(), s.world.Now()+time.Minute
		}
		s.process.Clock.Step(by)
	case "relist":
		s.process.Relist()
	}
}

// judge finds deletions that are wrong, and whatever else is not ours to do.
func (s *simulation) judge(r sim.Request) {
	if !strings.HasPrefix(r.By, "ttl-") {
		return
	}
	switch {
	case r.Verb == "get":
		return
	case r.Verb != "delete":
		s.world.Break("%s", r)
		return
	case r.UID == "" || r.Version == "":
		s.world.Break("%s without saying which one, and in which state", r)
	}
	j, _ := s.server.Get("Job", r.Namespace, r.Name).(*batchv1.Job)
	if j == nil || j.UID != r.UID || j.ResourceVersion != r.Version {
		return // refused
	}
	now := s.process.Clock.Now()
	if s.world.Now() < s.until && s.showed.After(now) {
		now = s.showed // the clock was set back while the request was under way
	}
	if d := ttl.Decide(j, now); d.Action != ttl.Delete {
		s.world.Break("%s, which is to be kept: %v until %s, the process' clock shows %s", r, d.Action, d.ExpireAt, now)
	}
}

func (s *simulation) run() string {
	w := s.world
	w.Run(storm)
	s.calm = true
	w.Story.Tell("world", "calm")
	s.process.Resume()
	s.replace()
	w.Run(storm + 2*time.Hour)
	for _, obj := range s.server.List("Job") {
		if j := obj.(*batchv1.Job); j.Spec.TTLSecondsAfterFinished != nil && len(j.Status.Conditions) > 0 {
			w.Break("%s is still there, its time to live is long over", j.Name)
		}
	}
	before := s.requests
	w.Run(w.Now() + time.Hour)
	if n := s.requests - before; n > 0 {
		w.Break("%d requests in an hour in which there was nothing to do", n)
	}
	return w.Broken()
}
