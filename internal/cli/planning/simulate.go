// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/cli/output"
	"github.com/carillon-dev/carillon/internal/client/exitcode"
	"github.com/carillon-dev/carillon/internal/client/reference"
	"github.com/carillon-dev/carillon/internal/plan/simulation"
	"github.com/carillon-dev/carillon/internal/plan/simulation/report"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// simulate is the command that carries the decisions out on a virtual clock.
type simulate struct {
	Streams
	input  input
	output output.Flag
	times  simulateTimes
	edits  []string

	duration, overhead, fail, stopping string
	seed                               uint64
	events                             bool
	svg                                string
	now                                func() time.Time
}

func newSimulate(streams Streams) *cobra.Command { return newSimulateAt(streams, time.Now) }

// newSimulateAt is newSimulate with a clock.
func newSimulateAt(streams Streams, now func() time.Time) *cobra.Command {
	s := &simulate{Streams: streams, now: now}
	cmd := &cobra.Command{
		Use:   "simulate -f FILE [cronjob/NAME | timetable/NAME]...",
		Short: "Show what would start, wait, be replaced or be missed, and why",
		Long: `Show what would start, wait, be replaced, skipped or missed, and why.

The decisions are the controller's own, made on a virtual clock; only the runs are a model. Say how
long they take (--duration) and how often they fail (--fail), when no controller runs (--outage), and
what somebody applies meanwhile (--edit). Nothing is started anywhere.

Without --from it begins now, with the status that the objects have, if they have one. With --from
objects begin as if they had been created at that time. Times are RFC 3339, or a date, or
2027-03-01T14:00 in the zone of the objects (in UTC if they differ), or +2h after the beginning.

The same input gives the same output on every machine. Chance is drawn for each run by itself, so
that an edit, an outage or another object leaves the other runs as they were; --seed draws others.`,
		Example: `  carillon simulate -f backup.yaml
  carillon simulate -f backup.yaml --duration p50=5m,p99=1h --fail 5% --for 30d
  carillon simulate -f manifests/ timetable/sync --from 2027-03-28 --outage 2027-03-28T01:00..2027-03-28T04:30
  carillon simulate -f backup.yaml --edit hourly.yaml@+6h --events
  carillon simulate -f backup.yaml --duration 90m --svg backup.svg
  carillon simulate cronjob/backup --context production --namespace team -o json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return interruptible(cmd.Context(), s.run(cmd.Context(), args))
		},

		ValidArgsFunction: cobra.NoFileCompletions,
	}
	s.input.add(cmd)
	s.output.Add(cmd, docsPage)
	flags := cmd.Flags()
	flags.StringVar(&s.times.from, "from", "", "when it begins (default now)")
	flags.StringVar(&s.times.to, "to", "", "when it ends")
	flags.StringVar(&s.times.lasts, "for", "", "how long it lasts, instead of --to: 90m, 24h, 7d (default 24h)")
	flags.StringArrayVar(&s.times.outages, "outage", nil, "FROM..TO: no controller runs then, and what runs goes on; may be repeated")
	flags.StringArrayVar(&s.edits, "edit", nil, "FILE@TIME: the objects in FILE take the place of those of their names then; may be repeated")
	flags.StringVar(&s.duration, "duration", "5m", "how long a run takes: 10m, or quantiles of a log-normal distribution, p50=5m,p99=1h")
	flags.StringVar(&s.overhead, "overhead", "0s", "what a run takes beyond that: until its Pod runs, and until its end is seen")
	flags.StringVar(&s.fail, "fail", "0%", "how probable it is that an attempt fails: 5%")
	flags.StringVar(&s.stopping, "stopping", "5s", "how long a run goes on that is stopped for a later one")
	flags.Uint64Var(&s.seed, "seed", 0, "another seed draws other durations and failures")
	flags.BoolVar(&s.events, "events", false, "list everything that happens, and leave nothing out")
	flags.StringVar(&s.svg, "svg", "", "write the time line as a picture to this file, too")
	for _, flag := range []string{"from", "to", "for", "outage", "duration", "overhead", "fail", "stopping", "seed"} {
		_ = cmd.RegisterFlagCompletionFunc(flag, cobra.NoFileCompletions)
	}
	_ = cmd.MarkFlagFilename("svg", "svg")
	return cmd
}

// simulationDocument is what the command writes with -o json.
type simulationDocument struct {
	document
	report.Document
}

func (s *simulate) run(ctx context.Context, args []string) error {
	model, err := s.model()
	if err != nil {
		return err
	}
	if len(args) == 0 && !s.input.given() {
		return exitcode.UsageError("nothing to simulate; name a file (-f FILE), or a cluster and an object (carillon simulate cronjob/NAME)")
	}
	all, err := s.input.load(ctx, s.Streams, s.tell)
	if err != nil {
		return err
	}
	all.Scheduled = lastVersions(all.Scheduled, s.tell)
	objects, err := chosen(all, args, s.input.cluster.Namespace, s.tell)
	if err != nil {
		return err
	}
	zone := commonZone(objects)
	span, err := s.times.span(s.now(), zone)
	if err != nil {
		return err
	}
	options := simulation.Options{From: span.From, To: span.To, KeepStatus: s.times.from == "", Model: model}
	if options.Outages, err = s.times.outagesIn(span, zone); err != nil {
		return err
	}
	if options.Edits, err = s.readEdits(ctx, all, objects, span, zone); err != nil {
		return err
	}
	r := &report.Report{Model: model, FromStatus: options.KeepStatus, AllEvents: s.events, Width: min(output.WidthOf(s.Out), 120)}
	if r.Results, err = s.simulate(ctx, objects, options); err != nil {
		return err
	}
	if s.svg != "" {
		if err := writeWhole(s.svg, []byte(r.SVG())); err != nil {
			return err
		}
		s.tell("The picture is in " + s.svg + ".")
	}
	return s.show(r)
}

func (s *simulate) show(r *report.Report) error {
	if s.output.JSON {
		if err := output.WriteJSON(s.Out, simulationDocument{newDocument("Simulation"), r.Document()}); err != nil {
			return err
		}
	} else {
		writeEscaped(s.Out, r.Text())
	}
	for _, result := range r.Results {
		if result.Object.Hindrance() != "" || result.Hindrance != "" {
			return &exitcode.Error{Code: exitcode.Failed}
		}
	}
	return nil
}

func (s *simulate) tell(line string) { fmt.Fprintln(s.Err, console.EscapeControls(line)) }

// model reads how runs go.
func (s *simulate) model() (simulation.Model, error) {
	m := simulation.Model{Seed: s.seed}
	var err error
	if m.Durations, err = simulation.ParseDurations(s.duration); err != nil {
		return m, exitcode.UsageError("--duration: %w", err)
	}
	if m.Fail, err = simulation.ParseProbability(s.fail); err != nil {
		return m, exitcode.UsageError("--fail: %w", err)
	}
	for _, flag := range []struct {
		name, text string
		value      *time.Duration
	}{{"--stopping", s.stopping, &m.Stopping}, {"--overhead", s.overhead, &m.Overhead}} {
		if *flag.value, err = simulation.ParseDuration(flag.text); err != nil {
			return m, exitcode.UsageError("%s: %w", flag.name, err)
		}
		if *flag.value < 0 || *flag.value > 24*time.Hour {
			return m, exitcode.UsageError("%s %s: it is from 0s to 24h", flag.name, flag.text)
		}
		*flag.value = flag.value.Round(time.Second)
	}
	return m, nil
}

// chosen are the objects that are named, in a namespace if one was named, too; all if none is.
func chosen(all *workload.Objects, args []string, namespace string, tell func(string)) ([]*workload.Scheduled, error) {
	if len(all.Scheduled) == 0 {
		return nil, exitcode.UsageError("there is no CronJob and no Timetable among %d objects", len(all.Jobs)+len(all.Others))
	}
	if len(args) == 0 {
		return all.Scheduled, nil
	}
	var objects []*workload.Scheduled
	for _, arg := range args {
		ref, ok := reference.Parse(arg)
		if !ok || ref.Kind == "job" {
			return nil, exitcode.UsageError("%q is neither cronjob/NAME nor timetable/NAME; a file is named with -f", arg)
		}
		one, err := reference.Find(all, ref, namespace)
		if err != nil {
			return nil, err
		}
		if slices.Contains(objects, one) {
			tell(arg + " is named twice, and counts once.")
			continue
		}
		objects = append(objects, one)
	}
	return objects, nil
}

// commonZone is the zone of all objects, UTC if they differ.
func commonZone(objects []*workload.Scheduled) *time.Location {
	var common *time.Location
	for _, o := range objects {
		zone := o.Policy.Timing.Zone
		if zone == nil {
			zone = time.UTC
		}
		if common != nil && common.String() != zone.String() {
			return time.UTC
		}
		common = zone
	}
	return common
}

// simulate carries out one object after the other. Their garbage is plenty, and what is kept is little.
func (s *simulate) simulate(ctx context.Context, objects []*workload.Scheduled, options simulation.Options) ([]*simulation.Result, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	line := console.NewStatusLine(s.Err)
	defer line.Clear()
	var results []*simulation.Result
	options.Progress = func(object *workload.Scheduled, now time.Time) bool {
		line.Show(fmt.Sprintf("%s: %s", console.EscapeControls(object.Reference()), now.Format("2006-01-02 15:04")))
		return ctx.Err() == nil
	}
	for _, object := range objects {
		results = append(results, simulation.Simulate(object, options))
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return results, nil
}
