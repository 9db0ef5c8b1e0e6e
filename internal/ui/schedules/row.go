// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedules

import (
	"fmt"
	"time"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
	"github.com/carillon-dev/carillon/internal/plan/status"
	"github.com/carillon-dev/carillon/internal/ui/page"
)

// perPage is how many schedules a page has.
const perPage = 50

// content is what the template shows.
type content struct {
	Query query
	Rows  []row
	// All is how many schedules there are, Found how many match.
	All, Found        int
	Namespaces, Kinds []string
	States            []stateLink
	Pager             page.Pager
	// Served is false if nobody could be asked for schedules; Origin says where runs are known from.
	Served bool
	Origin string
	// Unread says why the last runs are not known; "" if they are. StatusUnread says why it is not known what goes on,
	// NoneUnread why there may be schedules that are not known.
	Unread, StatusUnread, NoneUnread string
	// Quiet says how a schedule is of which there is nothing to say, NoRun that no run of it is known.
	Quiet, NoRun string
}

// missing takes in what could not be seen: unread is what may not be read, fault why it is not known what goes on.
func (c *content) missing(unread status.Unread, fault error) {
	c.Quiet, c.NoRun, c.NoneUnread = "in order", "none known", unread.Schedules
	if fault != nil {
		c.Quiet, c.StatusUnread = "not known", fault.Error()
	}
	if unread.Runs != "" {
		c.Quiet, c.NoRun = "not known", "not known"
	}
}

// stateLink leads to those of a state.
type stateLink struct {
	State state
	Text  string
	Count int
	URL   string
}

// row is one schedule.
type row struct {
	*entry
	URL    string
	Badges []badge
	// Waits says why there is no next time, "" if there is one.
	Waits string
	Strip strip
}

// badge is one word about a schedule.
type badge struct{ Class, Icon, Text, Title string }

// contentOf prepares a page of a choice.
func contentOf(found *choice, q query, known *index, now time.Time) *content {
	c := &content{All: found.all, Found: len(found.matches), Namespaces: found.namespaces, Kinds: found.kinds}
	pages := max(1, (c.Found+perPage-1)/perPage)
	q.Page = min(max(q.Page, 1), pages)
	c.Query = q
	for _, s := range states {
		if n := found.counts[s.State]; n > 0 || s.State == q.State || s.State == "" {
			c.States = append(c.States, stateLink{s.State, s.Text, n, q.InState(s.State)})
		}
	}
	from, to := (q.Page-1)*perPage, min(q.Page*perPage, c.Found)
	for i := range found.matches[from:to] {
		m := &found.matches[from+i]
		known.complete(m.entry, now)
		c.Rows = append(c.Rows, rowOf(m))
	}
	if q.Page > 1 {
		c.Pager.Previous = q.OnPage(q.Page - 1)
	}
	if q.Page < pages {
		c.Pager.Next = q.OnPage(q.Page + 1)
	}
	c.Pager.Text = fmt.Sprintf("%s to %s of %s", quantity.Grouped(from+1), quantity.Grouped(to), quantity.Grouped(c.Found))
	return c
}

func rowOf(m *match) row {
	r := row{entry: m.entry, URL: m.url()}
	if m.standing != nil {
		r.Badges = m.standing.badges()
	}
	switch {
	case !m.Next.IsZero():
	case m.is(blocked):
		r.Waits = "cannot run"
	case m.is(paused):
		r.Waits = m.standing.pausedWord()
	case m.Owner.Deleting:
		r.Waits = "being deleted"
	default:
		r.Waits = "no more times"
	}
	return r
}

// pausedWord is the word for what starts nothing: "paused" if failures are the cause, and "suspended" if somebody is.
func (s *standing) pausedWord() string {
	if s.states[paused] == string(cron.PauseFailures) {
		return "paused"
	}
	return "suspended"
}

// badges say how a schedule is, what matters most first.
func (s *standing) badges() []badge {
	var all []badge
	for _, one := range states[1:] {
		text, is := s.states[one.State]
		if !is {
			continue
		}
		switch one.State {
		case failing:
			b := badge{"failed", "cross", "failing", ""}
			if s.inARow > 1 {
				b.Text, b.Title = "failing, "+quantity.Grouped(s.inARow)+"×", "failed "+quantity.Grouped(s.inARow)+" times in a row"
			}
			all = append(all, b)
		case running:
			all = append(all, badge{"active", "play", "running", ""})
		case late:
			all = append(all, badge{"waits", "clock", "late", text})
		case missed:
			all = append(all, badge{"missed", "warning", "missed", text})
		case paused:
			b := badge{"", "pause", s.pausedWord(), ""}
			if text == string(cron.PauseFailures) {
				b.Class, b.Title = "waits", "too many runs in a row failed"
			}
			all = append(all, b)
		case blocked:
			all = append(all, badge{"failed", "stop", "cannot run", text})
		}
	}
	return all
}

// Order is the column by which the list is ordered; "" if it is by how well they match.
func (c *content) Order() string {
	if c.Query.Order == "" && c.Query.Text == "" {
		return string(byName)
	}
	return string(c.Query.Order)
}

// orderChoice is one that can be chosen.
type orderChoice struct{ Value, Text string }

// Orders are those that can be chosen.
func (c *content) Orders() []orderChoice {
	return []orderChoice{{"", "best match, name"}, {string(byName), "name"}, {string(byNext), "next time"}, {string(byLast), "last run"}, {string(byFailures), "failures in a row"}}
}

// StripRuns is how many runs a strip has.
func (c *content) StripRuns() int { return stripRuns }

// More counts the schedules of a Timetable that are not shown.
func (c *content) More(words []string) int { return len(words) - 3 }

// Hint says what to change if nothing matches.
func (c *content) Hint() string {
	if c.Query.State != "" && c.Query.Text == "" && c.Query.Namespace == "" && c.Query.Kind == "" {
		return "That is good news, or will be soon: nothing is in that state now."
	}
	return "All words have to be in its name, namespace, labels, expression or the words for it."
}
