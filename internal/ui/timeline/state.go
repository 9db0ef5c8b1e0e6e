// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/ui/page"
)

// choice is one of several that a viewer can make.
type choice struct{ Name, Text string }

// shows are which rows there can be, sorts their orders. The first of each is what nobody has to ask for.
var (
	shows = []choice{{"", "everything"}, {"running", "what runs"}, {"failing", "what failed last"}, {"paused", "what is suspended or paused"},
		{"jobs", "Jobs of their own"}, {"gone", "what is gone"}}
	sorts = []choice{{"", "namespace and name"}, {"next", "next time"}, {"failure", "last failure"}}
)

// State is what a viewer has chosen: all of it stands in the address.
type State struct {
	Zoom int
	// From is when the window begins; zero if it follows the time.
	From time.Time
	// Q is a part of the names that are looked for, or of "namespace/name".
	Q, Namespace string
	Show, Sort   string
	// Page counts the pages of rows from 1.
	Page int
	// Table: as tables in place of the picture.
	Table bool
}

// Years that a window may begin in: clocks of more distant ones are not known, and nothing is found there.
const firstYear, lastYear = 1970, 2200

// readState reads a query. The error is a page.Fault that says what is wrong with it.
func readState(q url.Values, zone *time.Location) (State, error) {
	s := State{Zoom: standard, Q: strings.TrimSpace(q.Get("q")), Namespace: strings.TrimSpace(q.Get("namespace")), Page: 1, Table: q.Get("as") == "table"}
	if name := q.Get("zoom"); name != "" {
		var ok bool
		if s.Zoom, ok = zoomOf(name); !ok {
			return s, page.BadInput("There is no zoom %q. There are 1h, 6h, 1d, 1w and 1mo.", name)
		}
	}
	if text := q.Get("from"); text != "" {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return s, page.BadInput("%q is no time. A time is written such as 2026-11-02T09:00:00Z.", text)
		}
		s.From = at.UTC()
	}
	if text := q.Get("date"); text != "" {
		at, err := time.Parse(time.DateOnly, text)
		if err != nil {
			return s, page.BadInput("%q is no date. A date is written such as 2026-11-02.", text)
		}
		s.From = dayOf(at.Year(), at.Month(), at.Day(), zone).UTC()
	}
	if y := s.From.In(zone).Year(); !s.From.IsZero() && (y < firstYear || y > lastYear) {
		return s, page.BadInput("The timeline shows the years %d to %d.", firstYear, lastYear)
	}
	var ok bool
	if s.Show, ok = choose(shows, q.Get("show")); !ok {
		return s, page.BadInput("There is nothing to show that is called %q.", q.Get("show"))
	}
	if s.Sort, ok = choose(sorts, q.Get("sort")); !ok {
		return s, page.BadInput("There is no order %q. There are next and failure; without one rows are in the order of their names.", q.Get("sort"))
	}
	if text := q.Get("page"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return s, page.BadInput("%q is no page.", text)
		}
		s.Page = n
	}
	return s, nil
}

func choose(all []choice, name string) (string, bool) {
	for _, c := range all {
		if c.Name == name {
			return c.Name, true
		}
	}
	return "", false
}

// URL is the address of a view in that state.
func (s State) URL() string {
	q := url.Values{}
	set := func(name, value string) {
		if value != "" {
			q.Set(name, value)
		}
	}
	if s.Zoom != standard {
		q.Set("zoom", zooms[s.Zoom].Name)
	}
	if !s.From.IsZero() {
		q.Set("from", s.From.UTC().Format(time.RFC3339))
	}
	set("q", s.Q)
	set("namespace", s.Namespace)
	set("show", s.Show)
	set("sort", s.Sort)
	if s.Page > 1 {
		q.Set("page", strconv.Itoa(s.Page))
	}
	if s.Table {
		q.Set("as", "table")
	}
	if len(q) == 0 {
		return "/timeline"
	}
	return "/timeline?" + q.Encode()
}

// Window is the window of the state.
func (s State) Window(now time.Time, zone *time.Location) window {
	if s.From.IsZero() {
		return following(&zooms[s.Zoom], now, zone)
	}
	return windowFrom(&zooms[s.Zoom], s.From, zone)
}

// moved is the state whose window begins n windows later, or earlier.
func (s State) moved(w window, n int) State {
	s.From = w.Zoom.later(w.From, w.Zone, n)
	return s
}

// zoomed is the state with another zoom around the same middle; around now if the window follows it.
func (s State) zoomed(to int, w window) State {
	if s.From.IsZero() {
		s.Zoom = to
		return s
	}
	return s.around(to, w.From.Add(w.Length()/2), w.Zone)
}

// around is the state with a zoom of which the window has that time in its middle.
func (s State) around(to int, t time.Time, zone *time.Location) State {
	z := &zooms[to]
	s.Zoom = to
	if z.days > 0 {
		from := dayStart(t, zone).In(zone)
		s.From = dayOf(from.Year(), from.Month(), from.Day()-z.days/2, zone).UTC()
		return s
	}
	s.From = gridFloor(t.Add(-z.span/2), z.grid, zone).UTC()
	return s
}
