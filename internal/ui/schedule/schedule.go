// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package schedule is the pages of one schedule.
package schedule

import (
	"embed"

	"github.com/carillon-dev/carillon/internal/ui/page"
)

//go:embed *.html
var files embed.FS

var tmpl = page.Parse(files, "schedule.html")

// Register puts it on the site.
func Register(*page.Site) {}
