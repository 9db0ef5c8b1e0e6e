// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/cli/output"
	"github.com/carillon-dev/carillon/internal/client/cluster"
	"github.com/carillon-dev/carillon/internal/client/exitcode"
	"github.com/carillon-dev/carillon/internal/client/lookup"
	"github.com/carillon-dev/carillon/internal/client/zones"
	"github.com/carillon-dev/carillon/internal/plan/simulation"
	"github.com/carillon-dev/carillon/internal/plan/status"
)

// statusCommand is carillon status. Its files:
//
//   - status.go          the command
//   - statusgather.go    what it asks for; package overview finds it out
//   - statustext.go      the screen for people
//   - statussections.go  … its sections
//   - statuswatch.go     the screen drawn again and again
type statusCommand struct {
	Streams
	target   lookup.Target
	output   output.Flag
	since    string
	zone     string
	all      bool
	watch    bool
	exitCode bool

	now  func() time.Time
	open func(ctx context.Context) (lookup.Source, *cluster.Server, error)
	// screen is how large the screen is, 0 for any size; it may change.
	screen func() (columns, rows int)
	color  bool
}

// usualSince is what counts as lately, and dueWithin what as soon.
const (
	usualSince = "24h"
	dueWithin  = time.Hour
)

func newStatus(streams Streams) *cobra.Command {
	c := &statusCommand{Streams: streams, now: time.Now, color: console.SupportsColor(streams.Out)}
	c.open = c.target.Open
	c.screen = screenOf(streams.Out)
	return c.command()
}

func (c *statusCommand) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show what runs, what went wrong and what comes next, on one screen",
		Long: `Show on one screen what is going on: whether the control plane, the node, the controllers and the journal
are well; what runs, and whether it takes longer than usual; what failed lately, why, and the end of its
output; what was missed or skipped, and why; what is due in the next hour; who is paused or suspended.

The first line is the verdict. Each section ends with the command that leads on.

It asks the Carillon of this machine, in all namespaces unless -n names one. If that does not run, what its
journal remembers is shown all the same. With --context, --kubeconfig or $KUBECONFIG it asks that cluster, in
its namespace unless -A or -n says otherwise; a cluster without a journal knows of runs what their objects
and events still tell.

The exit code is 0 also if something is wrong, because the answer was given; with --exit-code it is 1 then,
for scripts and monitors. --watch draws the screen anew every two seconds until Ctrl-C, which ends it with 0.`,
		Example: `  carillon status
  carillon status --watch
  carillon status -n shop -l team=billing --since 7d
  carillon status --context production -A
  carillon status -o json | jq -r '.failed[] | select(.persists) | .namespace + " " + .reference'
  carillon status --exit-code --since 1h >/dev/null || mail -s "carillon" ops@example.com </dev/null`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	c.target.AddFlags(cmd, true)
	flags := cmd.Flags()
	flags.StringVar(&c.since, "since", usualSince, "how far back failures and missed times count, such as 2h or 7d")
	flags.StringVar(&c.zone, "zone", "", "show times in this zone, such as Europe/Berlin (default: that of each schedule)")
	flags.BoolVar(&c.all, "all", false, "show everything, however long that is")
	flags.BoolVarP(&c.watch, "watch", "w", false, "draw the screen anew every two seconds, until Ctrl-C")
	flags.BoolVar(&c.exitCode, "exit-code", false, "exit with 1 if something is wrong")
	c.output.Add(cmd, docsPage)
	_ = cmd.RegisterFlagCompletionFunc("zone", zones.Complete)
	_ = cmd.RegisterFlagCompletionFunc("since", cobra.FixedCompletions([]string{"1h", "24h", "7d", "30d"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// statusDocument is what the command writes with -o json.
type statusDocument struct {
	document
	// Origin says where runs are known from, Notes what could not be read.
	Origin string   `json:"origin"`
	Notes  []string `json:"notes"`
	status.Document
}

func (c *statusCommand) run(ctx context.Context) error {
	since, err := simulation.ParseDuration(c.since)
	if err != nil {
		return exitcode.UsageError("--since: %w", err)
	}
	if since <= 0 {
		return exitcode.UsageError("--since: %s is not back in time", c.since)
	}
	zone, err := zones.Read(c.zone)
	if err != nil {
		return err
	}
	if _, err := c.target.Labels(); err != nil {
		return err
	}
	if c.watch {
		return c.runWatch(ctx, since, zone)
	}
	known, err := c.look(ctx, since)
	if ctx.Err() != nil {
		return &exitcode.Error{Code: exitcode.Interrupted}
	}
	if err != nil {
		return err
	}
	if err := c.write(known, zone); err != nil {
		return err
	}
	if c.exitCode && !known.status.Verdict().Well() {
		return &exitcode.Error{Code: exitcode.Failed}
	}
	return nil
}

func (c *statusCommand) write(known *known, zone *time.Location) error {
	if c.output.JSON {
		return output.WriteJSON(c.Out, statusDocument{newDocument("Status"), known.origin, append([]string{}, known.notes...), known.status.Document()})
	}
	columns, rows := c.screen()
	text := statusText{known: known, zone: zone, columns: columns, rows: rows, all: c.all, color: c.color}
	_, err := io.WriteString(c.Out, text.String())
	return err
}

// errNotTerminal is for --watch where nothing can be drawn.
var errNotTerminal = errors.New("--watch draws on a terminal, and this is none; repeat the command instead, such as: " +
	"while sleep 2; do carillon status -o json; done")
