// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/cli/output"
	"github.com/carillon-dev/carillon/internal/client/exitcode"
	"github.com/carillon-dev/carillon/internal/client/zones"
	"github.com/carillon-dev/carillon/internal/plan/forecast"
	"github.com/carillon-dev/carillon/internal/plan/workload"
	"github.com/carillon-dev/carillon/schedule"
)

// forecastCommand is one call of forecast.
type forecastCommand struct {
	streams Streams
	now     func() time.Time
	getenv  func(string) string

	input  input
	output output.Flag

	from, length, zone string
	duration           time.Duration
	deadlines          bool
	jitter             time.Duration
	top                int
	svg                string
	limit              int64
}

func newForecast(streams Streams) *cobra.Command {
	return newForecastAt(&forecastCommand{streams: streams, now: time.Now, getenv: os.Getenv})
}

// newForecastAt is the command of c, which has its streams, its clock and its environment.
func newForecastAt(c *forecastCommand) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "forecast (-f FILE | --context CONTEXT)",
		Short: "Show the minutes in which many runs start, and what would help",
		Long: `Forecast adds up what all CronJobs and Timetables together will start in each minute of the next 24 hours.

It shows a picture of them, the fullest minutes and who makes them, and how many runs will be active at once. Then it
tries what could be better, adds each up again, and says what the fullest minute would have: a minute of its own for
each object (that of H), a jitter, and another minute for those who make the most of the fullest one.

How long a run takes is the median of the runs of the past where a cluster still has their Jobs, or a Timetable its
ledger, or -f names Jobs that have ended; --duration otherwise. The concurrency policies count: Forbid and Replace never
have more than one run at once.

What is suspended does not count, and neither does what cannot start; both are told. Manifests need no API server. If
nothing is named, it is the cluster of $KUBECONFIG that is asked, or the Carillon of this machine.`,
		Example: `  # The next day of all manifests of a directory
  carillon forecast -f deploy/

  # That of a whole cluster, in the time of Berlin, as a picture for a document
  carillon forecast --context prod -A --zone Europe/Berlin --svg forecast.svg

  # In CI: fail if more than 200 runs start in one minute of a week
  carillon forecast -f deploy/ --for 7d --max-per-minute 200

  # All new schedules that would help, for a program
  carillon forecast -f deploy/ -o json | jq '.changes[0].edits'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return exitcode.UsageError("forecast takes no arguments; manifests are named with -f: carillon forecast -f %s", args[0])
			}
			return nil
		},
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return interruptible(cmd.Context(), c.run(cmd)) },
	}
	c.input.add(cmd)
	c.output.Add(cmd, docsPage)
	flags := cmd.Flags()
	flags.StringVar(&c.from, "from", "", "the first minute: RFC 3339, or a date, or 2027-03-01T14:00 in --zone (default now)")
	flags.StringVar(&c.length, "for", "24h", "how long: 90m, 24h, 7d; at most 31d")
	flags.StringVar(&c.zone, "zone", "UTC", "the time zone in which times are shown")
	flags.DurationVar(&c.duration, "duration", 5*time.Minute, "how long a run takes of which nothing is known")
	flags.BoolVar(&c.deadlines, "deadline-as-duration", false, "take activeDeadlineSeconds, or timeout, for how long a run takes of which nothing is known")
	flags.DurationVar(&c.jitter, "jitter", 15*time.Minute, "the jitter that is tried")
	flags.IntVar(&c.top, "top", 10, "how many of the fullest minutes are shown")
	flags.StringVar(&c.svg, "svg", "", "write the picture to this file, too")
	flags.Int64Var(&c.limit, "max-per-minute", 0, "exit with 1 if a minute has more starts (default no limit)")
	_ = cmd.MarkFlagFilename("svg", "svg")
	_ = cmd.RegisterFlagCompletionFunc("zone", zones.Complete)
	_ = cmd.RegisterFlagCompletionFunc("from", cobra.NoFileCompletions)
	_ = cmd.RegisterFlagCompletionFunc("for", cobra.FixedCompletions([]string{"24h", "7d", "31d"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (c *forecastCommand) run(cmd *cobra.Command) error {
	zone, options, err := c.options(cmd)
	if err != nil {
		return err
	}
	tell := func(line string) { fmt.Fprintln(c.streams.Err, "carillon: "+console.EscapeControls(line)) }
	all, err := c.input.load(cmd.Context(), c.streams, tell)
	if err != nil {
		return err
	}
	if len(all.Scheduled) == 0 && len(c.input.files) > 0 {
		return exitcode.UsageError("-f names no CronJob and no Timetable, so that there is nothing to forecast")
	}
	if options.Runs, err = c.pastRuns(cmd.Context(), all, tell); err != nil {
		return err
	}
	options.Progress = func() bool { return cmd.Context().Err() == nil }
	made := forecast.Of(lastVersions(all.Scheduled, tell), options)
	if made == nil {
		return cmd.Context().Err()
	}
	if c.svg != "" {
		if err := writeWhole(c.svg, []byte(made.SVG(zone))); err != nil {
			return err
		}
	}
	if err := c.write(made, options, zone); err != nil {
		return err
	}
	if peak := made.Summary().Starts; cmd.Flags().Changed("max-per-minute") && peak.Number > c.limit {
		return &exitcode.Error{Code: exitcode.Failed, Err: fmt.Errorf("%s at %s, more than --max-per-minute %d", counted(int(peak.Number), "run starts", "runs start"), peak.At.In(zone).Format(minuteFormat), c.limit)}
	}
	return nil
}

func (c *forecastCommand) write(made *forecast.Forecast, options forecast.Options, zone *time.Location) error {
	if c.output.JSON {
		return output.WriteJSON(c.streams.Out, c.document(made, options, zone))
	}
	text := forecastText{Forecast: made, options: options, now: c.now(), zone: zone, width: output.WidthOf(c.streams.Out), ascii: c.ascii(),
		oneNamespace: len(c.input.files) == 0 && !c.input.allNamespaces}
	_, err := c.streams.Out.Write([]byte(text.String()))
	return err
}

// options reads the flags.
func (c *forecastCommand) options(cmd *cobra.Command) (*time.Location, forecast.Options, error) {
	refuse := func(format string, args ...any) (*time.Location, forecast.Options, error) {
		return nil, forecast.Options{}, exitcode.UsageError(format, args...)
	}
	zone, err := schedule.LoadZone(c.zone)
	if err != nil {
		return refuse("--zone: %v", err)
	}
	from, err := parseFrom(c.from)
	if err != nil {
		return nil, forecast.Options{}, err
	}
	first := from(c.now().Add(time.Minute-time.Nanosecond), zone)
	length, err := forecastLength(c.length)
	switch {
	case err != nil:
		return refuse("--for %s is no duration; write 90m, 24h or 7d", c.length)
	case length < time.Minute || length > forecast.MaxLength:
		return refuse("--for %s is not between 1m and 31d", c.length)
	case c.duration < time.Second || c.duration > forecast.MaxLength:
		return refuse("--duration %s is not between 1s and 31d (744h)", c.duration)
	case c.jitter < time.Second || c.jitter > 24*time.Hour:
		return refuse("--jitter %s is not between 1s and 24h, which is what a Timetable takes", c.jitter)
	case c.top < 0:
		return refuse("--top %d is less than 0", c.top)
	case cmd.Flags().Changed("max-per-minute") && c.limit < 0:
		return refuse("--max-per-minute %d is less than 0", c.limit)
	}
	if err := withinYears("--from", first, "--for", first.Add(length)); err != nil {
		return nil, forecast.Options{}, err
	}
	return zone, forecast.Options{From: first.UTC().Truncate(time.Minute), Length: length.Truncate(time.Minute), Duration: c.duration,
		DeadlineAsDuration: c.deadlines, Jitter: c.jitter, Top: c.top}, nil
}

// forecastLength reads a duration, also one in days.
func forecastLength(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * 24 * time.Hour, err
	}
	return time.ParseDuration(text)
}

// ascii tells whether the picture must do without blocks: where the terminal is dumb, or the locale is not UTF-8.
func (c *forecastCommand) ascii() bool {
	locale := strings.ToUpper(cmp.Or(c.getenv("LC_ALL"), c.getenv("LC_CTYPE"), c.getenv("LANG")))
	return c.getenv("TERM") == "dumb" || !strings.Contains(locale, "UTF-8") && !strings.Contains(locale, "UTF8")
}

// pastRuns are the runs of the past that files or the API server have.
func (c *forecastCommand) pastRuns(ctx context.Context, all *workload.Objects, tell func(string)) ([]forecast.Run, error) {
	var runs []forecast.Run
	for _, job := range all.Jobs {
		if run, ok := forecast.RunOf(job.Content); ok {
			run.Namespace = cmp.Or(run.Namespace, c.input.cluster.Namespace, "default")
			runs = append(runs, run)
		}
	}
	if len(c.input.files) > 0 && !c.input.cluster.Named() {
		return runs, nil
	}
	live, err := c.liveRuns(ctx, tell)
	return append(runs, live...), err
}
