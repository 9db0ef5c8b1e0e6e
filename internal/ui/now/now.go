// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package now is the page of what goes on: how things stand in one sentence, what failed and the end of its output,
// what runs, what did not start, what comes next and what is paused.
//
//   - now.go      the handler
//   - content.go  what is shown of a status, and how much of it
//   - item.go     one failure, one run, one pause in words
//   - herd.go     how many starts each minute of the next hour has
package now

import (
	"embed"
	"net/http"
	"strconv"

	"github.com/carillon-dev/carillon/internal/ui/page"
)

//go:embed *.html *.css
var files embed.FS

var (
	tmpl = page.Parse(files, "now.html", "items.html")
	_    = page.AddAssets(files, "now.css")
)

// Register puts it on the site.
func Register(s *page.Site) {
	herds := &herds{}
	s.Handle("GET /{$}", func(w http.ResponseWriter, r *http.Request) error {
		ctx, query := r.Context(), r.URL.Query()
		known, err := s.Cache.Status(ctx)
		if err != nil {
			return err
		}
		seen := *known
		seen.Unread = s.Cache.Unread()
		number, _ := strconv.Atoi(query.Get("page")) // what is no number is the first page
		c, ok := contentOf(&seen, part(query.Get("show")), number, page.ZoneOf(r))
		if !ok {
			return page.NotFound("There is no part %q of this page.", query.Get("show"))
		}
		c.Origin = s.Source.Origin(ctx)
		v := page.View{Title: c.Title(), Section: page.Now, Live: true, Styles: []string{"now.css"}, Data: c}
		if c.Show != "" {
			v.Crumbs = []page.Crumb{{Text: "Now", URL: "/"}}
		}
		if len(known.Due) > 0 {
			schedules, err := s.Cache.Schedules(ctx)
			if err != nil {
				return err
			}
			c.Herd = herds.of(known, schedules, s.Clock())
		}
		return s.Render(w, r, tmpl, v)
	})
}
