// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inspect is the commands that show what runs and what ran: a file for each, thin over internal/plan, which says
// what there is to see, and over what is remembered (source.go): the journal of a Carillon of this machine, or the
// objects that an API server still has.
package inspect

import (
	"io"

	"github.com/spf13/cobra"
)

// Streams are what a command reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Commands are the commands, in the order in which help lists them.
func Commands(streams Streams) []*cobra.Command {
	return []*cobra.Command{
		newStatus(streams),
		newDescribe(streams),
		newHistory(streams),
		newLogs(streams),
		newWait(streams),
	}
}

// docsPage describes the documents that -o json gives.
const docsPage = "docs/history.md"

// apiVersion is that of what these commands write with -o json. Within it fields are only added.
const apiVersion = "runs.carillon.dev/v1"

// document begins each JSON document.
type document struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
}

func newDocument(kind string) document { return document{APIVersion: apiVersion, Kind: kind} }
