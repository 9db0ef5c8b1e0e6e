// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/cli/output"
	"github.com/carillon-dev/carillon/internal/client/exitcode"
	"github.com/carillon-dev/carillon/internal/client/lookup"
	"github.com/carillon-dev/carillon/internal/client/reference"
	"github.com/carillon-dev/carillon/internal/plan/history"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/schedule"
)

// historyCommand is the command that lists runs: this file has its flags, historygather.go what it asks for,
// historytext.go and its like what people see, historydocument.go what programs read.
type historyCommand struct {
	target  lookup.Target
	format  historyFormat
	period  periodFlags
	last    int
	failed  bool
	chosen  []string // --outcome
	zone    string
	streams Streams
	clock   func() time.Time
	// width and color are how answers for people are written; width 0 is any. rows is how high the screen is, 0 for any
	// height.
	rows  int
	width int
	// piped: no terminal shows it, so that tables are not cut.
	piped bool
	color bool
	// open is target.Open, unless a test has another source.
	open opener
}

// periodFlags say which span of time is asked about.
type periodFlags struct{ since, until, month string }

func (p *periodFlags) named() bool { return p.since != "" || p.until != "" || p.month != "" }

// mostListed is how many entries are listed where nobody says which.
const mostListed = 20

func newHistory(streams Streams) *cobra.Command {
	h := &historyCommand{streams: streams, clock: time.Now}
	h.open = h.target.Open
	return h.command()
}

func (h *historyCommand) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "history [cronjob/NAME | timetable/NAME | job/NAME]",
		Short: "List runs with how long they took and how they ended",
		Long: `List the runs of a CronJob, a Timetable or a Job, newest first: when each was due, how long it took, how it ended and
why, and between them the scheduled times for which nothing was started. Below stands what they tell together: how
many succeeded, how long they usually take, whether that changes, and why others failed.

Without a name it has one line for each CronJob, Timetable and Job.

A Carillon of this machine remembers runs in its journal when their Jobs are long gone, also those of objects that were
deleted, and also while it does not run. On a cluster without a journal it tells of the Jobs that are still there.

--month, --since and --until choose runs by their scheduled time: --month takes 2026-10, october, last or this; --since
and --until take a duration (30d, 36h), a day or a month (2026-10-01, 2026-10), words such as yesterday or "last month",
or a time ("2026-10-01 02:00", 2026-10-01T00:00:00Z), in the schedule's zone or that of --zone. What --until names is
not in it. Without them the newest ` + "20" + ` runs are listed, and all that are known are summed up.`,
		Example: `  # How long last month's runs took
  carillon history cronjob/backup --month last
  carillon history cronjob/backup --since 2026-10-01 --until 2026-11-01

  # The last ten, and the last ten that failed
  carillon history cronjob/backup --last 10
  carillon history tt/report --failed --last 10 -n sales

  # Everything, a line for each; and one Job with its attempts
  carillon history -A
  carillon history job/import

  # For programs, or from a journal that was restored elsewhere
  carillon history cronjob/backup --since 90d -o json
  carillon history cronjob/backup --journal /mnt/restored/journal`,
		Args:              atMostOneReference,
		ValidArgsFunction: reference.Completion(h.target.Names),
		RunE:              func(cmd *cobra.Command, args []string) error { return h.run(cmd.Context(), args) },
	}
	flags := cmd.Flags()
	h.target.AddFlags(cmd, true)
	flags.StringVar(&h.period.month, "month", "", "runs of one month: 2026-10, october, last or this")
	flags.StringVar(&h.period.since, "since", "", "runs from then on: 30d, 2026-10-01, 2026-10, yesterday, \"last month\"")
	flags.StringVar(&h.period.until, "until", "", "runs before then")
	flags.IntVar(&h.last, "last", 0, "only the newest so many runs")
	flags.BoolVar(&h.failed, "failed", false, "only runs that failed")
	flags.StringSliceVar(&h.chosen, "outcome", nil, "only runs with one of these outcomes: "+strings.ToLower(strings.Join(outcomeNames(), ", ")))
	flags.StringVar(&h.zone, "zone", "", "write and read times in this zone (Europe/Berlin); without it in the schedule's")
	flags.VarP(&h.format, "output", "o", "text for people, wide with more columns, or json for programs ("+docsPage+")")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(historyFormats, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("outcome", cobra.FixedCompletions(lower(outcomeNames()), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("month", cobra.FixedCompletions([]string{"last", "this"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func atMostOneReference(_ *cobra.Command, args []string) error {
	if len(args) > 1 {
		return exitcode.UsageError("name one object, or none for all")
	}
	return nil
}

// historyFormats are the values of -o.
var historyFormats = []string{"text", "wide", "json"}

// historyFormat is one of them; "" is text.
type historyFormat string

// Type implements pflag.Value.
func (f *historyFormat) Type() string { return "format" }

// String implements pflag.Value.
func (f *historyFormat) String() string {
	if *f == "" {
		return historyFormats[0]
	}
	return string(*f)
}

// Set implements pflag.Value.
func (f *historyFormat) Set(text string) error {
	if !slices.Contains(historyFormats, text) {
		return exitcode.UsageError("it is text, wide or json")
	}
	*f = historyFormat(text)
	return nil
}

func (h *historyCommand) run(ctx context.Context, args []string) error {
	if h.width == 0 {
		h.width, h.color = output.WidthOf(h.streams.Out), console.SupportsColor(h.streams.Out)
		_, h.rows = screenOf(h.streams.Out)()
		h.piped = output.TableWidth(h.streams.Out) == 0
	}
	if err := h.check(); err != nil {
		return err
	}
	if len(args) == 0 {
		return interruptible(ctx, h.overview(ctx))
	}
	ref, err := parseReference(args[0])
	if err != nil {
		return err
	}
	return interruptible(ctx, h.one(ctx, ref))
}

// check refuses flags that contradict each other.
func (h *historyCommand) check() error {
	switch {
	case h.period.month != "" && (h.period.since != "" || h.period.until != ""):
		return exitcode.UsageError("--month names a span of time; leave out --since and --until")
	case h.last < 0:
		return exitcode.UsageError("--last: %d is no number of runs", h.last)
	case h.failed && len(h.chosen) > 0:
		return exitcode.UsageError("--failed is --outcome failed; leave one of them out")
	}
	_, err := h.outcomes()
	return err
}

// knownOutcomes are what --outcome takes.
var knownOutcomes = []run.Outcome{run.Succeeded, run.Failed, run.Cancelled, run.Active, run.Unknown}

func outcomeNames() []string {
	var names []string
	for _, o := range knownOutcomes {
		names = append(names, string(o))
	}
	return names
}

func lower(words []string) []string {
	var low []string
	for _, w := range words {
		low = append(low, strings.ToLower(w))
	}
	return low
}

// outcomes are those that are asked for, nil for all.
func (h *historyCommand) outcomes() ([]run.Outcome, error) {
	if h.failed {
		return []run.Outcome{run.Failed}, nil
	}
	var chosen []run.Outcome
	for _, word := range h.chosen {
		is := slices.IndexFunc(knownOutcomes, func(o run.Outcome) bool { return strings.EqualFold(string(o), word) })
		if is < 0 {
			return nil, exitcode.UsageError("--outcome: %q is none of %s", word, strings.ToLower(strings.Join(outcomeNames(), ", ")))
		}
		chosen = append(chosen, knownOutcomes[is])
	}
	return chosen, nil
}

// location is the zone that --zone names, or else the given one.
func (h *historyCommand) location(otherwise *time.Location) (*time.Location, error) {
	if h.zone == "" {
		return otherwise, nil
	}
	zone, err := schedule.LoadZone(h.zone)
	if err != nil || strings.EqualFold(h.zone, "local") {
		return nil, exitcode.UsageError("--zone %s: it is not in the time zone database; use a name such as Europe/Berlin or Etc/UTC", h.zone)
	}
	return zone, nil
}

// read reads the flags.
func (p *periodFlags) read(now time.Time, zone *time.Location) (history.Period, error) {
	if p.month != "" {
		span, err := history.ParseMonth(p.month, now, zone)
		if err != nil {
			return history.Period{}, exitcode.UsageError("--month: %w", err)
		}
		return span, nil
	}
	var span history.Period
	for _, flag := range []struct {
		name, text string
		to         *time.Time
	}{{"since", p.since, &span.From}, {"until", p.until, &span.Until}} {
		if flag.text == "" {
			continue
		}
		t, err := history.ParseStart(flag.text, now, zone)
		if err != nil {
			return history.Period{}, exitcode.UsageError("--%s: %w", flag.name, err)
		}
		*flag.to = t
	}
	if !span.From.IsZero() && !span.Until.IsZero() && !span.From.Before(span.Until) {
		return history.Period{}, exitcode.UsageError("--since %s is not before --until %s", p.since, p.until)
	}
	return span, nil
}
