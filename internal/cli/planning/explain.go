// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/cli/output"
	"github.com/carillon-dev/carillon/internal/client/exitcode"
	"github.com/carillon-dev/carillon/internal/client/reference"
	"github.com/carillon-dev/carillon/internal/client/zones"
	"github.com/carillon-dev/carillon/internal/plan/explanation"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

func newExplain(streams Streams) *cobra.Command {
	return newExplainAt(streams, time.Now)
}

// newExplainAt is newExplain with a clock.
func newExplainAt(streams Streams, now func() time.Time) *cobra.Command {
	return (&explainCommand{streams: streams, now: now}).command()
}

// explainCommand explains schedules.
type explainCommand struct {
	streams Streams
	now     func() time.Time
	input   input
	output  output.Flag
	zone    string
}

// widest is how wide paragraphs are at most: wider ones are hard to read.
const widest = 100

// explanations is the JSON form.
type explanations struct {
	document
	Explanations []*explanation.Explanation `json:"explanations"`
}

func (c *explainCommand) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   `explain "EXPR" | -f FILE | cronjob/NAME | timetable/NAME`,
		Short: "Say in plain words what a schedule does, and what may surprise",
		Long: `Say in plain words what a schedule does.

For a cron expression, or for each CronJob and Timetable that is given, it says when
runs start, how often that is, what happens on the days of the next two years on which
the clocks change, what often turns out otherwise than people expect, and what becomes
of runs when one is still busy, when the controller was away, when one fails, and when
the object is suspended or edited.

An expression is read as a CronJob reads it or, if only a Timetable takes it, as that
does. Objects come from manifests (-f), from a cluster (--context, --kubeconfig), or
from the Carillon of this machine. Nothing is changed.

The exit code is 1 if something can never start as it is written, and 2 if an
expression cannot be read.`,
		Example: `  # What does this mean, and what happens in October?
  carillon explain "30 2 * * 1-5" --zone Europe/Berlin

  # All CronJobs and Timetables of a directory
  carillon explain -f manifests/

  # One of them
  carillon explain -f backup.yaml cronjob/backup

  # One of a cluster, for a program
  carillon explain --context prod -n shop timetable/report -o json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return exitcode.UsageError("explain takes one schedule or object; write a schedule in quotes: carillon explain %q", strings.Join(args, " "))
			}
			return nil
		},
		ValidArgsFunction: c.complete,
		SilenceUsage:      true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.run(cmd.Context(), strings.Join(args, ""), len(args) > 0)
		},
	}
	c.input.add(cmd)
	c.output.Add(cmd, docsPage)
	cmd.Flags().StringVar(&c.zone, "zone", "", "time zone of an expression, and of CronJobs that name none, such as Europe/Berlin (default UTC)")
	_ = cmd.RegisterFlagCompletionFunc("zone", zones.Complete)
	return cmd
}

func (c *explainCommand) run(ctx context.Context, arg string, given bool) error {
	zone, err := zones.Read(c.zone)
	if err != nil {
		return err
	}
	ref, named := reference.Parse(arg)
	switch {
	case given && !named:
		return c.expression(arg, zone)
	case ref.Kind == "job":
		return exitcode.UsageError("a Job has no schedule; name the cronjob/NAME or timetable/NAME that made it")
	case !given && !c.input.given():
		return exitcode.UsageError(`nothing to explain: give a schedule ("0 2 * * *"), manifests (-f), or an object (cronjob/NAME)`)
	}
	c.input.zone = zone
	all, err := c.input.load(ctx, c.streams, func(line string) { _, _ = fmt.Fprintln(c.streams.Err, console.EscapeControls(line)) })
	if err != nil {
		return err
	}
	chosen := all.Scheduled
	if named {
		one, err := reference.Find(all, ref, c.input.cluster.Namespace)
		if err != nil {
			return err
		}
		chosen = []*workload.Scheduled{one}
	}
	if len(chosen) == 0 {
		return exitcode.UsageError("there is no CronJob and no Timetable in what was given")
	}
	told := explanations{document: newDocument("Explanation")}
	now := c.now()
	for _, s := range chosen {
		told.Explanations = append(told.Explanations, explanation.OfObject(s, zone, now))
	}
	return c.write(told)
}

// expression explains a bare expression.
func (c *explainCommand) expression(text string, zone *time.Location) error {
	if c.input.given() {
		return exitcode.UsageError("%q is no object (cronjob/NAME or timetable/NAME), and an expression goes without -f, --context and --kubeconfig", text)
	}
	e, err := explanation.OfExpression(text, zone, c.now())
	if err != nil {
		if text != "" && !strings.ContainsAny(text, " \t@*") {
			err = fmt.Errorf("%w (an object is named by its kind, too: cronjob/NAME or timetable/NAME)", err)
		}
		return &exitcode.Error{Code: exitcode.Usage, Err: err}
	}
	return c.write(explanations{newDocument("Explanation"), []*explanation.Explanation{e}})
}

// write writes all, and fails if one of them can never start anything.
func (c *explainCommand) write(told explanations) error {
	if err := c.show(told); err != nil {
		return err
	}
	if slices.ContainsFunc(told.Explanations, func(e *explanation.Explanation) bool { return e.Obstacle != "" }) {
		return &exitcode.Error{Code: exitcode.Failed}
	}
	return nil
}

func (c *explainCommand) show(told explanations) error {
	if c.output.JSON {
		return output.WriteJSON(c.streams.Out, told)
	}
	var b strings.Builder
	for i, e := range told.Explanations {
		if i > 0 {
			b.WriteString("\n" + strings.Repeat("─", 40) + "\n\n")
		}
		for _, line := range e.Lines(min(output.WidthOf(c.streams.Out), widest)) {
			b.WriteString(console.EscapeControls(line) + "\n")
		}
	}
	if n := len(told.Explanations); n == 1 && told.Explanations[0].Object == nil && told.Explanations[0].Next != nil {
		b.WriteString("\nIts times, one by one: " + c.nextCommand(told.Explanations[0]) + "\n")
	}
	_, err := io.WriteString(c.streams.Out, b.String())
	return err
}

// nextCommand lists the times of an expression.
func (c *explainCommand) nextCommand(e *explanation.Explanation) string {
	command := fmt.Sprintf("carillon next %q", e.Schedules[0].Text)
	if c.zone != "" {
		command += " --zone " + c.zone
	}
	return command
}

// complete offers the objects of the files that were named.
func (c *explainCommand) complete(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 || len(c.input.files) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	all, err := c.input.load(cmd.Context(), c.streams, func(string) {})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var names []string
	for _, s := range all.Scheduled {
		names = append(names, s.Reference())
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
