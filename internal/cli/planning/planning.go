// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package planning is the commands that tell what a schedule will do before it does it, and why it did what it did: a
// file for each, thin over the packages of internal/plan, which do the work.
//
// They need no API server: they look at manifests, or at what an API server has (input.go). They speak to people, or to
// programs (output.go).
package planning

import (
	"io"

	"github.com/spf13/cobra"
)

// Streams are what a command reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Commands are the planning commands, in the order in which help lists them.
func Commands(streams Streams) []*cobra.Command {
	return []*cobra.Command{
		newNext(streams),
		newExplain(streams),
		newSimulate(streams),
		newForecast(streams),
		newLint(streams),
		newWhy(streams),
		newConvert(streams),
		newImport(streams),
	}
}
