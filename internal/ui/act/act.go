// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package act is what a user can do.
package act

import (
	"embed"
	"net/http"

	"github.com/carillon-dev/carillon/internal/ui/page"
)

//go:embed *.html
var files embed.FS

var tmpl = page.Parse(files, "act.html")

// Register puts it on the site.
func Register(s *page.Site) {
	s.Handle("GET /act/{act}", func(w http.ResponseWriter, r *http.Request) error {
		return s.Render(w, r, tmpl, page.View{Title: "Act", Section: page.Schedules})
	})
}
