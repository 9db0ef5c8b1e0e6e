// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package schedules is the list of all CronJobs and Timetables.
package schedules

import (
	"embed"
	"net/http"

	"github.com/carillon-dev/carillon/internal/ui/page"
)

//go:embed *.html
var files embed.FS

var tmpl = page.Parse(files, "schedules.html")

// Register puts it on the site.
func Register(s *page.Site) {
	s.Handle("GET /schedules", func(w http.ResponseWriter, r *http.Request) error {
		return s.Render(w, r, tmpl, page.View{Title: "Schedules", Section: page.Schedules})
	})
}
