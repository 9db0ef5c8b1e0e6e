// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/cli/output"
	"github.com/carillon-dev/carillon/internal/client/cluster"
	"github.com/carillon-dev/carillon/internal/client/evidence"
	"github.com/carillon-dev/carillon/internal/client/exitcode"
	"github.com/carillon-dev/carillon/internal/client/lookup"
	"github.com/carillon-dev/carillon/internal/client/reference"
	"github.com/carillon-dev/carillon/internal/client/zones"
	"github.com/carillon-dev/carillon/internal/plan/description"
	"github.com/carillon-dev/carillon/internal/plan/diagnosis"
)

// describe is carillon describe. Its files:
//
//   - describe.go       the command
//   - describegather.go what is known, of the API server and of what is remembered
//   - describetext.go   the screen for people
//   - describetables.go … its tables
//   - describeline.go   … its timeline
type describe struct {
	target  lookup.Target
	output  output.Flag
	zone    string
	ascii   bool
	streams Streams

	clock func() time.Time
	// local is the zone of whoever asks.
	local *time.Location
	// open and ask find out what is known (target.Open, evidence.Ask).
	open func(ctx context.Context) (lookup.Source, *cluster.Server, error)
	ask  func(ctx context.Context, server *cluster.Server, ref reference.Reference, now time.Time) (*diagnosis.Evidence, error)
	// width is how wide the screen is, 0 as that of the terminal.
	width int
}

func newDescribe(streams Streams) *cobra.Command {
	d := &describe{streams: streams, clock: time.Now, local: time.Local}
	d.open = d.target.Open
	d.ask = func(ctx context.Context, server *cluster.Server, ref reference.Reference, now time.Time) (*diagnosis.Evidence, error) {
		return evidence.Ask(ctx, d.target.Cluster, server, ref, now)
	}
	return d.command()
}

func (d *describe) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "describe cronjob/NAME | timetable/NAME | job/NAME",
		Short: "Show everything about one schedule or Job on one screen",
		Long: `Show everything about one CronJob, Timetable or Job on one screen: what it means in plain words, what it
does now and what it waits for, its next times, what becomes of runs when something does not fit, a timeline
of what was and what is to come, its latest runs, the last failure with the end of its output, what may
surprise, and the commands that lead on.

Times are those of the schedule's zone; beside the next ones stands the same time where you are, or in the
zone of --zone. Runs come from the journal of the Carillon of this machine, also those whose Jobs are gone,
and those of a schedule that was deleted; on a cluster from the objects that are still there.

It is not the object: "carillon kubectl get cronjob/NAME -o yaml" has that. The exit code is 2 when there is
no such object and nothing is remembered of one.`,
		Example: `  # Everything about one schedule
  carillon describe cronjob/backup

  # Its next five times in New York
  carillon describe tt/report --zone America/New_York

  # A Job: what made it, its attempts, their exit codes and the end of the output
  carillon describe job/backup-29412345

  # One of a cluster, for a program
  carillon describe cronjob/backup --context production -n shop -o json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exitcode.UsageError("name one object: cronjob/NAME, timetable/NAME or job/NAME")
			}
			return nil
		},
		ValidArgsFunction: reference.Completion(d.target.Names),
		RunE:              func(cmd *cobra.Command, args []string) error { return d.run(cmd.Context(), args[0]) },
	}
	d.target.AddFlags(cmd, false)
	cmd.Flags().StringVar(&d.zone, "zone", "", "tell the next times in this zone, too, such as Europe/Berlin (default yours)")
	cmd.Flags().BoolVar(&d.ascii, "ascii", false, "draw the timeline with ASCII characters alone")
	_ = cmd.RegisterFlagCompletionFunc("zone", zones.Complete)
	d.output.Add(cmd, docsPage)
	return cmd
}

func (d *describe) run(ctx context.Context, text string) error {
	ref, ok := reference.Parse(text)
	if !ok {
		return exitcode.UsageError("%q names no object: write cronjob/NAME, timetable/NAME (tt/NAME) or job/NAME", text)
	}
	zone, err := zones.Read(d.zone)
	if err != nil {
		return err
	}
	in, err := d.gather(ctx, ref)
	if err != nil {
		return err
	}
	in.Zone = zone
	if zone == nil && elsewhere(in, d.local) {
		in.Zone = d.local
	}
	in.Places = d.columns() - len(screenIndent)
	if d.output.JSON {
		in.Places = placesForPrograms
		return output.WriteJSON(d.streams.Out, descriptionDocument{newDocument("Description"), description.Of(*in)})
	}
	s := &screen{width: d.columns(), tables: d.columns(), color: console.SupportsColor(d.streams.Out), ascii: d.ascii, zone: d.zone, remembered: in.NoServer != ""}
	if d.width == 0 && output.TableWidth(d.streams.Out) == 0 {
		s.tables = 0
	}
	s.describe(description.Of(*in), in.Zone)
	return s.write(d.streams.Out)
}

// placesForPrograms is how many places a timeline has in a document.
const placesForPrograms = 96

type descriptionDocument struct {
	document
	*description.Description
}

// Lines are hard to read beyond that width.
const widestScreen = 120

func (d *describe) columns() int {
	if d.width > 0 {
		return d.width
	}
	return min(max(output.WidthOf(d.streams.Out), 40), widestScreen)
}

// elsewhere tells whether clocks where somebody asks show otherwise than those of the schedule.
func elsewhere(in *description.Input, local *time.Location) bool {
	if in.Evidence == nil || local == nil {
		return in.Evidence == nil
	}
	for _, t := range []time.Time{in.Now, in.Now.AddDate(0, 3, 0), in.Now.AddDate(0, 6, 0)} {
		_, here := t.In(local).Zone()
		_, there := t.In(in.Evidence.Zone()).Zone()
		if here != there {
			return true
		}
	}
	return false
}
