// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/cli/output"
	"github.com/carillon-dev/carillon/internal/client/exitcode"
	"github.com/carillon-dev/carillon/internal/client/reference"
	"github.com/carillon-dev/carillon/internal/client/zones"
	"github.com/carillon-dev/carillon/internal/plan/upcoming"
	"github.com/carillon-dev/carillon/schedule/timeset"
)

// next is the command that lists the next times.
type next struct {
	Streams
	input  input
	output output.Flag
	zone   string
	from   string
	count  nextCount
	now    func() time.Time
	// local is the zone of whoever asks.
	local *time.Location
}

func newNext(streams Streams) *cobra.Command { return newNextIn(streams, time.Now, time.Local) }

// newNextIn is newNext with a clock, for somebody in a zone.
func newNextIn(streams Streams, now func() time.Time, local *time.Location) *cobra.Command {
	n := &next{Streams: streams, count: 10, now: now, local: local}
	cmd := &cobra.Command{
		Use:   `next [-f FILE | "EXPRESSION" | cronjob/NAME | timetable/NAME]`,
		Short: "List the next times of a schedule, and why others are missing",
		Long: `List the next times of a schedule: in its time zone, where you are if clocks show otherwise there, in
UTC where there is room for it, and how far they are from now. Where you are is what this machine says,
or TZ=America/New_York before the command; of a schedule that names its zone --zone shows another one in
its place.

Between them stand the times that one would have expected and that do not come, each with the
reason: an exclusion or a Calendar took them out, or the clock skips them. A time that was moved
or that comes twice because the clock changes says so.

An expression is read as a CronJob reads it, in UTC or in --zone. If only a Timetable takes it,
it is read as a Timetable reads it. -f shows every CronJob and Timetable of the files, or one
that is named as cronjob/NAME or timetable/NAME; Calendars in the files count. Without a file the
objects are those of the cluster.`,
		Example: `  carillon next "30 2 * * 1-5" --zone Europe/Berlin
  carillon next "0 9 LW * *" -n 3
  carillon next -f backup.yaml --from 2027-03-27
  carillon next timetable/payroll -f manifests/ -o json
  carillon next cronjob/backup --context production --namespace team
  carillon next cronjob/backup --zone America/New_York`,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, args []string) error { return n.run(cmd.Context(), args) },
	}
	withoutShorthand(cmd, "namespace", n.input.add)
	flags := cmd.Flags()
	flags.VarP(&n.count, "count", "n", "how many times of each schedule, 1 to 10000")
	flags.StringVar(&n.zone, "zone", "", "time zone of an expression and of CronJobs that name none, and beside the times of all others (default yours): a name of the tz database")
	flags.StringVar(&n.from, "from", "", "first moment: RFC 3339, or a date, or 2027-03-01T14:00 in the schedule's zone (default now)")
	n.output.Add(cmd, docsPage)
	_ = cmd.RegisterFlagCompletionFunc("zone", zones.Complete)
	_ = cmd.RegisterFlagCompletionFunc("from", cobra.NoFileCompletions)
	return cmd
}

// withoutShorthand adds flags to a command, one of them without its short form, which means something else there.
func withoutShorthand(cmd *cobra.Command, name string, add func(*cobra.Command)) {
	var other cobra.Command
	add(&other)
	other.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Name == name {
			f.Shorthand = ""
		}
		cmd.Flags().AddFlag(f)
	})
}

// nextCount is the value of -n, which is a namespace elsewhere.
type nextCount int

const mostTimes = 10_000

func (c *nextCount) Type() string   { return "number" }
func (c *nextCount) String() string { return strconv.Itoa(int(*c)) }

func (c *nextCount) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil {
		return errors.New("it is how many times to list; a namespace is --namespace")
	}
	if n < 1 || n > mostTimes {
		return fmt.Errorf("it is a number from 1 to %d", mostTimes)
	}
	*c = nextCount(n)
	return nil
}

// nextDocument is what the command writes with -o json.
type nextDocument struct {
	document
	Now       time.Time           `json:"now"`
	Schedules []upcoming.Document `json:"schedules"`
}

func (n *next) run(ctx context.Context, args []string) error {
	now := n.now().UTC().Truncate(time.Second)
	from, err := parseFrom(n.from)
	if err != nil {
		return err
	}
	sources, err := n.sources(ctx, args)
	if err != nil {
		return err
	}
	doc := nextDocument{document: newDocument("NextTimes"), Now: now, Schedules: []upcoming.Document{}}
	obstacle := false
	for i, s := range sources {
		list := s.List(from(now, s.Zone), int(n.count))
		if list.Beside, list.Heading = n.local, "WHERE YOU ARE"; n.input.zone != nil && n.input.zone.String() != s.Zone.String() {
			list.Beside, list.Heading = n.input.zone, strings.ToUpper(n.zone)
		}
		obstacle = obstacle || s.Obstacle != ""
		if n.output.JSON {
			doc.Schedules = append(doc.Schedules, list.Document(now))
			continue
		}
		if i > 0 {
			fmt.Fprintln(n.Out)
		}
		writeEscaped(n.Out, list.Text(now, output.WidthOf(n.Out)))
	}
	if n.output.JSON {
		if err := output.WriteJSON(n.Out, doc); err != nil {
			return err
		}
	}
	if obstacle {
		return &exitcode.Error{Code: exitcode.Failed}
	}
	return nil
}

// writeEscaped writes lines that hold what users wrote.
func writeEscaped(w io.Writer, text string) {
	for line := range strings.Lines(text) {
		fmt.Fprintln(w, console.EscapeControls(strings.TrimSuffix(line, "\n")))
	}
}

// sources finds what to list.
func (n *next) sources(ctx context.Context, args []string) ([]*upcoming.Source, error) {
	zone, err := zones.Read(n.zone)
	if err != nil {
		return nil, err
	}
	n.input.zone = zone
	if len(args) > 1 {
		return nil, exitcode.UsageError(`%d arguments; put an expression in quotes: carillon next "30 2 * * *"`, len(args))
	}
	if len(args) == 0 && !n.input.given() {
		return nil, exitcode.UsageError(`nothing to look at; name an expression (carillon next "30 2 * * *"), a file (-f FILE), or a cluster and an object ` +
			"(carillon next cronjob/NAME)")
	}
	var ref reference.Reference
	var named bool
	if len(args) == 1 {
		if ref, named = reference.Parse(args[0]); !named {
			return n.expression(args[0], zone)
		}
		if ref.Kind == "job" {
			return nil, exitcode.UsageError("a Job has no schedule; name the cronjob/NAME or timetable/NAME that made it")
		}
	}
	all, err := n.input.load(ctx, n.Streams, func(line string) { fmt.Fprintln(n.Err, console.EscapeControls(line)) })
	if err != nil {
		return nil, err
	}
	if named {
		one, err := reference.Find(all, ref, n.input.cluster.Namespace)
		if err != nil {
			return nil, err
		}
		all.Scheduled = append(all.Scheduled[:0:0], one)
	}
	if len(all.Scheduled) == 0 {
		return nil, exitcode.UsageError("there is no CronJob and no Timetable among %d objects", len(all.Jobs)+len(all.Others))
	}
	var sources []*upcoming.Source
	for _, s := range all.Scheduled {
		sources = append(sources, upcoming.Of(s, zone))
	}
	return sources, nil
}

func (n *next) expression(text string, zone *time.Location) ([]*upcoming.Source, error) {
	if n.input.given() {
		return nil, exitcode.UsageError("%q is neither cronjob/NAME nor timetable/NAME; leave it out to see all objects, or leave out the files and the cluster "+
			"to ask for an expression", text)
	}
	s, err := upcoming.OfExpression(text, zone)
	if err != nil {
		return nil, exitcode.UsageError("%w", err)
	}
	return []*upcoming.Source{s}, nil
}

// parseFrom reads --from. What it gives finds the moment in a zone.
func parseFrom(text string) (func(now time.Time, zone *time.Location) time.Time, error) {
	if text == "" || text == "now" {
		return func(now time.Time, _ *time.Location) time.Time { return now }, nil
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return func(time.Time, *time.Location) time.Time { return t }, nil
	}
	m, err := timeset.ParseMoment(strings.Replace(text, " ", "T", 1))
	if err != nil {
		return nil, exitcode.UsageError("--from %q is no time; write 2027-03-01, 2027-03-01T14:00 or 2027-03-01T14:00:00+01:00", text)
	}
	return func(_ time.Time, zone *time.Location) time.Time { return upcoming.FirstShowing(m, zone) }, nil
}
