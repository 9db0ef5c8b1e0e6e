// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package now is the page of what goes on.
package now

import (
	"embed"
	"net/http"

	"github.com/carillon-dev/carillon/internal/ui/page"
)

//go:embed *.html
var files embed.FS

var tmpl = page.Parse(files, "now.html")

// Register puts it on the site.
func Register(s *page.Site) {
	s.Handle("GET /{$}", func(w http.ResponseWriter, r *http.Request) error {
		return s.Render(w, r, tmpl, page.View{Title: "Now", Section: page.Now})
	})
}
