// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package timeline is the page with schedules as rows and time as columns.
package timeline

import (
	"embed"
	"net/http"

	"github.com/carillon-dev/carillon/internal/ui/page"
)

//go:embed *.html
var files embed.FS

var tmpl = page.Parse(files, "timeline.html")

// Register puts it on the site.
func Register(s *page.Site) {
	s.Handle("GET /timeline", func(w http.ResponseWriter, r *http.Request) error {
		return s.Render(w, r, tmpl, page.View{Title: "Timeline", Section: page.Timeline})
	})
}
