// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/diagnosis"
)

// eventList is what events tell.
type eventList struct {
	Groups []eventGroup
	// Missing says why some or all could not be read; "" if they were.
	Missing string
}

// eventGroup is events about one kind of object that say the same kind of thing: the newest stands for all.
type eventGroup struct {
	Type, Reason, Message string
	// About is what the newest is about: "job/backup-29412345".
	About       string
	Count       int
	First, Last time.Time
}

// Warning tells whether it is a warning.
func (g *eventGroup) Warning() bool { return g.Type == "Warning" }

// eventsOf puts events together, those with the newest first.
func eventsOf(events []diagnosis.Event, missing string) eventList {
	type key struct{ kind, kindOfEvent, reason string }
	groups := map[key]*eventGroup{}
	for i := range events {
		e := &events[i]
		k := key{e.Kind, e.Type, e.Reason}
		g := groups[k]
		if g == nil {
			g = &eventGroup{Type: e.Type, Reason: e.Reason, First: e.First}
			groups[k] = g
		}
		g.Count += int(max(1, e.Count))
		if !e.First.IsZero() && e.First.Before(g.First) {
			g.First = e.First
		}
		if g.Message == "" || e.Last.After(g.Last) {
			g.Last, g.Message, g.About = e.Last, e.Message, strings.ToLower(e.Kind)+"/"+e.Name
		}
	}
	list := eventList{Missing: missing}
	for _, g := range groups {
		list.Groups = append(list.Groups, *g)
	}
	slices.SortFunc(list.Groups, func(a, b eventGroup) int {
		return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.About, b.About))
	})
	return list
}
