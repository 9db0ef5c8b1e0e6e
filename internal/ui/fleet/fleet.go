// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fleet is the page about all schedules together.
package fleet

import (
	"embed"
	"net/http"

	"github.com/carillon-dev/carillon/internal/ui/page"
)

//go:embed *.html
var files embed.FS

var tmpl = page.Parse(files, "fleet.html")

// Register puts it on the site.
func Register(s *page.Site) {
	s.Handle("GET /fleet", func(w http.ResponseWriter, r *http.Request) error {
		return s.Render(w, r, tmpl, page.View{Title: "Fleet", Section: page.Fleet})
	})
}
