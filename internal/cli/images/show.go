// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package images

import (
	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/image"
)

// progress shows how far one pull or import is, where somebody looks: on a terminal, unless it is to be quiet. line is
// to be cleared in the end.
func (c *commands) progress() (line *console.StatusLine, tell func(image.Progress)) {
	line = console.NewStatusLine(c.Err)
	if c.quiet || !line.Visible() {
		return line, nil
	}
	var meter Meter
	return line, func(p image.Progress) { line.Show(meter.Line(Progress(p), c.now())) }
}
