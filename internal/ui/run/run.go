// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package run is the page of one run.
package run

import (
	"embed"
	"net/http"

	"github.com/carillon-dev/carillon/internal/ui/page"
)

//go:embed *.html
var files embed.FS

var tmpl = page.Parse(files, "run.html")

// Register puts it on the site.
func Register(s *page.Site) {
	s.Handle("GET /run/{namespace}/{name}", func(w http.ResponseWriter, r *http.Request) error {
		return s.Render(w, r, tmpl, page.View{Title: "Run", Section: page.Schedules})
	})
}
