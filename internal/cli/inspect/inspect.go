// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inspect is the commands that show what runs and what ran: a file for each, thin over internal/plan, which
// says what there is to see, and over internal/client/lookup, which says where: in the journal of a Carillon of this
// machine, or in the objects that an API server still has.
//
//   - status.go    what runs, failed, was missed and is due. statusfacts.go asks the API server and statusgather.go the
//     runs, beside each other; statusschedules.go knows the schedules; statustext.go and
//     statussections.go write the screen, statuswatch.go writes it again and again
//   - describe.go  everything about one object. describegather.go reads it; describetext.go, describetables.go and, for
//     the timeline, describeline.go write it
//   - history.go   what ran, and how long it took. historygather.go reads; historytext.go writes what people see:
//     historytable.go the runs, historyattempts.go the attempts of one, historysummary.go what they tell together;
//     historyoverview.go writes a line for each object, historydocument.go the JSON
//   - logs.go      what a run wrote. logsattempts.go and logspod.go find its containers, logsfollow.go goes on with it:
//     logsawait.go waits for a run, logstry.go follows one try of it; logsprint.go and logsmark.go write lines
//   - wait.go      until runs end. waitrun.go waits for one, waitreport.go says how it ended
//   - choose.go    the run that --run, --failed and --previous mean; pick.go the one that somebody waits for
//   - runwatch.go  a run while it goes on; runwords.go how it ended, in words
//   - subject.go   what a reference names
//   - textprinter.go lines, tables and sentences for people
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
