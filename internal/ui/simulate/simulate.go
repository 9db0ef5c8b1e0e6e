// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package simulate is the page where one tries an expression.
package simulate

import (
	"embed"
	"net/http"

	"github.com/carillon-dev/carillon/internal/ui/page"
)

//go:embed *.html
var files embed.FS

var tmpl = page.Parse(files, "simulate.html")

// Register puts it on the site.
func Register(s *page.Site) {
	s.Handle("GET /simulate", func(w http.ResponseWriter, r *http.Request) error {
		return s.Render(w, r, tmpl, page.View{Title: "Simulate", Section: page.Simulate})
	})
}
