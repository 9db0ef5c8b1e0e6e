// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package schedules is the list of all CronJobs and Timetables, which can be searched, narrowed and ordered.
//
//   - schedules.go  the handler
//   - query.go      what is asked for, as addresses say it
//   - index.go      what is searched: each schedule in words, and its next time
//   - choose.go     which are shown, and in which order
//   - row.go        one of them on the page
//   - strip.go      its last runs as a picture
package schedules

import (
	"cmp"
	"embed"
	"net/http"

	"github.com/carillon-dev/carillon/internal/plan/status"
	"github.com/carillon-dev/carillon/internal/ui/page"
)

//go:embed *.html *.css
var files embed.FS

var (
	tmpl = page.Parse(files, "schedules.html")
	_    = page.AddAssets(files, "schedules.css")
)

// formID is that of the form; requests that it sends while one types name it.
const formID = "filter"

// Register puts it on the site.
func Register(s *page.Site) {
	entries := &index{log: s.Log}
	s.Handle("GET /schedules", func(w http.ResponseWriter, r *http.Request) error {
		ctx, q := r.Context(), parseQuery(r.URL.Query())
		all, err := s.Cache.Schedules(ctx)
		if err != nil {
			return err
		}
		known, fault := s.Cache.Status(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if fault != nil { // the schedules are at hand all the same
			known = &status.Status{Served: s.Server != nil}
		}
		now := s.Clock()
		chosen, err := entries.of(all, q.Text != "", q.Order == byNext, now)
		if err != nil {
			return err
		}
		found := choose(chosen, statesOf(known), q)
		if one, ok := found.only(); ok && q.Direct && r.Header.Get("HX-Request") == "" {
			http.Redirect(w, r, one.url(), http.StatusSeeOther)
			return nil
		}
		if r.Header.Get("HX-Trigger") == formID {
			w.Header().Set("HX-Push-Url", q.URL())
		}
		c := contentOf(found, q, entries, now)
		c.Served, c.Origin = cmp.Or(known.Served, len(all) > 0), s.Source.Origin(ctx)
		c.missing(s.Cache.Unread(), fault)
		c.fillStrips(ctx, s.Log, s.Source, now)
		return s.Render(w, r, tmpl, page.View{Title: "Schedules", Section: page.Schedules, Styles: []string{"schedules.css"}, Data: c})
	})
}
