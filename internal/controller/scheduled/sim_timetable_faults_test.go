// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/kube/fence"
	"github.com/carillon-dev/carillon/internal/testkit/sim"
)

// mishap is what becomes of a request.
func (s *timetableWorld) mishap(r sim.Request) sim.Mishap {
	if r.Verb == "delete" && s.truth.stuck(r) {
		return sim.Webhook
	}
	// S1: what was sent while it might be has arrived by now, or does not any more.
	if m := s.managerOf(r.By); r.Verb != "get" && m.renewed != 0 && s.world.Now()-m.renewed > fence.MaxRenewalAge+fence.RequestTimeout {
		return sim.Unreachable
	}
	if m := outageOf(s.outages, s.world.Now(), r); m != sim.None {
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
			s.undeletable = max(s.undeletable, s.world.Now()+70*time.Second)
		}
		s.unwritable = max(s.unwritable, s.world.Now()+time.Minute)
		if m.what == sim.AnswerLost && r.Verb == "create" {
			s.cutOff(r)
		}
		return m.what
	}
	return sim.None
}

// cutOff lets the connection that broke while a create was under way take the watches with it, and the reads.
func (s *timetableWorld) cutOff(r sim.Request) {
	d, p := s.world.Dice, s.managerOf(r.By).process
	lasts := d.Between(0, 2*time.Minute, "cut off", uint64(r.Number))
	if !d.Chance(60, "cuts off", uint64(r.Number)) {
		return
	}
	p.Stall("", lasts)
	s.blinded(lasts)
	if d.Chance(70, "no reads", uint64(r.Number)) {
		s.outages["no reads"] = s.world.Now() + lasts
	}
}

// blinded notes that nothing is seen for a while, so that nothing is done in time.
func (s *timetableWorld) blinded(lasts time.Duration) {
	s.trouble(lasts + 40*time.Second)
	s.unwritable = max(s.unwritable, s.world.Now()+lasts+time.Minute)
}

// managerOf is the process of that name.
func (s *timetableWorld) managerOf(name string) *timetableManager {
	n, _ := strconv.Atoi(strings.TrimPrefix(name, "manager-"))
	return s.managers[n-1]
}

// replace starts a process, unless one lives besides old, which may be nil.
func (s *timetableWorld) replace(old *timetableManager) {
	for _, m := range s.managers {
		if m != old && !m.process.Dead() {
			return
		}
	}
	s.start(sim.Pick(s.world.Dice, []int{0, 0, 0, 3, 15}, "stale", uint64(len(s.managers))))
}

// leading is the process that was started last, if it lives.
func (s *timetableWorld) leading() *timetableManager {
	if m := s.managers[len(s.managers)-1]; !m.process.Dead() {
		return m
	}
	return nil
}

func (s *timetableWorld) upset(u simUpset) {
	m := s.leading()
	if m == nil || s.calm {
		return
	}
	p := m.process
	switch u.what {
	case "no Jobs seen", "no Widgets seen", "no Timetables seen", "no Calendars seen":
		p.Stall(strings.TrimSuffix(strings.TrimPrefix(u.what, "no "), "s seen"), u.lasts)
		s.blinded(u.lasts)
	case "nothing seen":
		p.Stall("", u.lasts)
		s.blinded(u.lasts)
	case "relist":
		p.Relist()
	case "crash":
		s.blinded(u.lasts / 4)
		p.Kill("by a crash")
		s.world.After(u.lasts/4, func() { s.replace(nil) })
	case "handover":
		p.Kill("giving the lease away")
		s.replace(nil)
	case "two leaders":
		s.twoLeaders(m, u.lasts)
	case "standstill":
		p.Pause(u.lasts)
		s.blinded(u.lasts)
	case "clock forward", "clock back":
		by := u.lasts
		if u.what == "clock back" {
			by = -by
		}
		s.world.Story.Tell("machine", "sets its clock by %s", by)
		s.blinded(max(0, -by))
		p.Clock.Step(by)
		s.truth.stepped(by)
	case "kind not granted":
		s.withdraw(m, u.lasts)
	default:
		s.world.Story.Tell("server", "%s for %s", u.what, u.lasts)
		until := s.world.Now() + u.lasts
		s.outages[u.what] = max(s.outages[u.what], until)
		s.unwritable = max(s.unwritable, until+u.lasts+time.Minute) // the delays after errors have grown
		if u.what == "no deletes" || u.what == "server away" {
			s.undeletable = max(s.undeletable, until+70*time.Second)
		}
		if u.what != "no statuses" && u.what != "no deletes" {
			s.trouble(2*u.lasts + 40*time.Second)
		}
	}
}

// twoLeaders lets a process lose its lease without noticing, and another one begin when it may. The former one goes on,
// or stands still until then, and starts and ends nothing any more (F1).
func (s *timetableWorld) twoLeaders(m *timetableManager, lasts time.Duration) {
	s.world.Story.Tell(m.process.Name, "renews its lease no more")
	m.renewed = s.world.Now()
	if s.world.Dice.Chance(50, "frozen", uint64(s.world.Now())) {
		m.process.Pause(fence.LeaseDuration + lasts/4)
	}
	s.blinded(fence.LeaseDuration)
	s.world.After(fence.LeaseDuration, func() {
		if !s.calm {
			s.replace(m)
		}
	})
	s.world.After(fence.LeaseDuration+lasts/2, func() {
		m.process.Kill("having lost the lease long ago")
		s.replace(nil) // the other one may have died meanwhile
	})
}

// withdraw takes the right to start one of the kinds away for a while.
func (s *timetableWorld) withdraw(m *timetableManager, lasts time.Duration) {
	kinds := slices.SortedFunc(maps.Keys(m.children), func(a, b schema.GroupVersionKind) int { return strings.Compare(a.Kind, b.Kind) })
	if len(kinds) == 0 {
		return
	}
	gvk := sim.Pick(s.world.Dice, kinds, "withdraw", uint64(s.world.Now()))
	k := m.controller.watches.byKind[gvk]
	if k == nil || !k.opened {
		return
	}
	s.world.Story.Tell("administrator", "takes %s away for %s", gvk.Kind, lasts)
	m.process.Stall(gvk.Kind, lasts)
	s.blinded(lasts)
	m.controller.watches.set(k, &adapter.ChildTrouble{Why: "nobody has granted it"})
	s.world.After(lasts, func() {
		if !m.process.Dead() {
			m.controller.watches.set(k, nil)
		}
	})
}
