// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedules

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/status"
)

// object names a schedule as a status does.
type object struct{ namespace, reference string }

// standing is how a schedule is.
type standing struct {
	states map[state]string // with what there is to say of each; "" for nothing
	// inARow is how often it failed one time after the other.
	inARow int
}

// statesOf says how schedules are. Those of which there is nothing to say are left out.
func statesOf(s *status.Status) map[object]*standing {
	all := map[object]*standing{}
	add := func(o status.Object, is state, text string) *standing {
		k := object{o.Namespace, o.Reference}
		if all[k] == nil {
			all[k] = &standing{states: map[state]string{}}
		}
		all[k].states[is] = text
		return all[k]
	}
	for i := range s.Failed {
		if f := &s.Failed[i]; f.Persists() {
			add(f.Object, failing, "").inARow = f.InARow
		}
	}
	if !s.Stopped {
		for i := range s.Running {
			add(s.Running[i].Object, running, "")
		}
	}
	for i := range s.Late {
		add(s.Late[i].Object, late, s.Late[i].Message)
	}
	for i := range s.Missed {
		if s.Missed[i].Missed {
			add(s.Missed[i].Object, missed, s.Missed[i].Message)
		}
	}
	for i := range s.Paused {
		add(s.Paused[i].Object, paused, string(s.Paused[i].Cause))
	}
	for i := range s.Blocked {
		add(s.Blocked[i].Object, blocked, s.Blocked[i].Message)
	}
	return all
}

// match is a schedule that matches a question.
type match struct {
	*entry
	standing *standing // nil if there is nothing to say
	// rank is how well it matches a search: 0 by its whole name, and less well on.
	rank int
}

func (m match) is(s state) bool {
	if m.standing == nil {
		return s == ""
	}
	_, is := m.standing.states[s]
	return is || s == ""
}

// choice are the schedules that match.
type choice struct {
	matches []match
	// counts are how many match in each state, if nobody asked for one.
	counts map[state]int
	// all is how many there are; namespaces and kinds are those that they have, in order.
	all               int
	namespaces, kinds []string
}

// only gives the one that matches, if one alone does.
func (c *choice) only() (*entry, bool) {
	if len(c.matches) != 1 {
		return nil, false
	}
	return c.matches[0].entry, true
}

// choose gives those of all that a question asks for, in its order.
func choose(all []entry, standings map[object]*standing, q query) *choice {
	c := &choice{all: len(all), counts: map[state]int{}}
	namespaces, kinds := map[string]bool{}, map[string]bool{}
	words := strings.Fields(strings.ToLower(q.Text))
	for i := range all {
		e := &all[i]
		namespaces[e.Owner.Namespace], kinds[e.Kind] = true, true
		if q.Namespace != "" && e.Owner.Namespace != q.Namespace || q.Kind != "" && e.Kind != q.Kind {
			continue
		}
		rank, found := e.rank(words)
		if !found {
			continue
		}
		m := match{entry: e, standing: standings[object{e.Owner.Namespace, e.Reference()}], rank: rank}
		for _, s := range states {
			if m.is(s.State) {
				c.counts[s.State]++
			}
		}
		if m.is(q.State) {
			c.matches = append(c.matches, m)
		}
	}
	c.namespaces, c.kinds = sortedKeys(namespaces), sortedKeys(kinds)
	slices.SortStableFunc(c.matches, q.compare)
	return c
}

// rank tells whether all words are in what an entry is found by, and how well.
func (e *entry) rank(words []string) (rank int, found bool) {
	for _, word := range words {
		if !strings.Contains(e.text, word) {
			return 0, false
		}
	}
	if len(words) == 0 {
		return 0, true
	}
	switch whole := strings.Join(words, " "); {
	case e.name == whole, e.Owner.Namespace+"/"+e.name == whole, e.Kind+"/"+e.name == whole:
		return 0, true
	case strings.HasPrefix(e.name, words[0]):
		return 1, true
	case strings.Contains(e.name, words[0]):
		return 2, true
	}
	return 3, true
}

// compare orders matches as a question asks.
func (q query) compare(a, b match) int {
	by := 0
	switch q.Order {
	case "":
		by = cmp.Compare(a.rank, b.rank)
	case byNext:
		by = earliest(a.Next, b.Next)
	case byLast:
		by = -lastOf(a.entry).Compare(lastOf(b.entry))
	case byFailures:
		by = -cmp.Compare(a.failed(), b.failed())
	}
	return cmp.Or(by, cmp.Compare(a.Owner.Namespace, b.Owner.Namespace), cmp.Compare(a.Owner.Name, b.Owner.Name), cmp.Compare(a.Kind, b.Kind))
}

// failed is how often it failed one time after the other.
func (m match) failed() int {
	if m.standing == nil {
		return 0
	}
	return m.standing.inARow
}

// earliest orders times; none comes last.
func earliest(a, b time.Time) int {
	if a.IsZero() || b.IsZero() {
		return cmp.Compare(asInt(a.IsZero()), asInt(b.IsZero()))
	}
	return a.Compare(b)
}

func asInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// lastOf is the last scheduled time that was started, as the object tells; zero if none was.
func lastOf(e *entry) time.Time {
	if last := e.Memory.LastSchedule; last != nil {
		return *last
	}
	return time.Time{}
}

func sortedKeys(set map[string]bool) []string {
	keys := make([]string, 0, len(set))
	for k := range set {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
