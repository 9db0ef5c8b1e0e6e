// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package timeline is the page with schedules as rows and time as columns.
//
//   - timeline.go  the handler
//   - state.go     what the viewer has chosen, as the address has it
//   - window.go    the time that is shown, in the days and hours of the viewer
//   - axis.go      its head: days, hours, changes of the clock
//   - row.go       whose runs each row has, and which rows in which order
//   - gather.go    what is read for it
//   - chart.go     what one row shows: runs, times without one, times to come
//   - lane.go      runs that overlap
//   - cell.go      very many runs, counted
//   - future.go    times to come
//   - shape.go     all that with its places in the picture; view.go for the template, text.go in words
//
// What is drawn follows from data, a window and one now; gather.go alone reads.
package timeline

import (
	"embed"
	"net/http"
	"slices"

	"github.com/carillon-dev/carillon/internal/client/lookup"
	"github.com/carillon-dev/carillon/internal/plan/workload"
	"github.com/carillon-dev/carillon/internal/ui/page"
)

//go:embed *.html *.css *.js
var files embed.FS

var (
	tmpl = page.Parse(files, "timeline.html")
	_    = page.AddAssets(files, "timeline.css", "timeline.js")
)

// Register puts it on the site.
func Register(s *page.Site) {
	s.Handle("GET /timeline", func(w http.ResponseWriter, r *http.Request) error {
		zone := page.ZoneOf(r)
		state, err := readState(r.URL.Query(), zone)
		if err != nil {
			return err
		}
		v, err := look(r, s, state)
		if err != nil {
			return err
		}
		return s.Render(w, r, tmpl, page.View{Title: "Timeline", Section: page.Timeline, Live: true, Data: v,
			Styles: []string{"timeline.css"}, Scripts: []string{"timeline.js"}})
	})
}

// look reads what a viewer has asked for.
func look(r *http.Request, site *page.Site, state State) (*view, error) {
	now := site.Clock()
	w := state.Window(now, page.ZoneOf(r))
	g := &gathering{ctx: r.Context(), site: site, window: w, now: now}
	in := g.rows(&state)
	all := Rows(in, &state)
	rows, first, previous, next := paged(all, state.Page)
	known := g.known(rows)
	if g.stopped != nil {
		return nil, g.stopped
	}
	v := newView(state, w, now, known)
	v.setPages(len(all), first, previous, next)
	v.Faults, v.Origin, v.Alone = g.faults, site.Source.Origin(r.Context()), site.Server == nil
	v.Stopped = lookup.Stopped(site.Source) != ""
	v.Namespaces = namespaces(in.Schedules, state.Namespace)
	return v, nil
}

// mostNamespaces is how many one can choose from; of more one writes a part of the name.
const mostNamespaces = 500

// namespaces are those of schedules, which are in their order.
func namespaces(all []*workload.Scheduled, chosen string) []string {
	var names []string
	if chosen != "" {
		names = append(names, chosen)
	}
	for _, s := range all {
		if ns := s.Owner.Namespace; len(names) < mostNamespaces && (len(names) == 0 || names[len(names)-1] != ns) {
			names = append(names, ns)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
