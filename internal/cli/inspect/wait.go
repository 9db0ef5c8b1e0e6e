// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/carillon-dev/carillon/internal/cli/output"
	"github.com/carillon-dev/carillon/internal/client/cluster"
	"github.com/carillon-dev/carillon/internal/client/exitcode"
	"github.com/carillon-dev/carillon/internal/client/lookup"
	"github.com/carillon-dev/carillon/internal/client/reference"
	"github.com/carillon-dev/carillon/internal/plan/diagnosis"
)

// wait is the command that waits for the end of runs:
//
//   - wait.go         the command: what is waited for, and until when
//   - waitrun.go      waiting for one run, through interruptions, and what becomes of it when its object is gone
//   - waitreport.go   what is said meanwhile and in the end
//   - runwatch.go     the watch of runs
//   - pick.go         which of the runs that it sees is the one
type wait struct {
	target  lookup.Target
	timeout time.Duration
	any     bool
	next    bool
	at      string
	output  output.Flag
	streams Streams
	clock   func() time.Time
	saying  sync.Mutex // several runs are waited for at once
}

func newWait(streams Streams) *cobra.Command { return newWaitAt(streams, time.Now) }

func newWaitAt(streams Streams, clock func() time.Time) *cobra.Command {
	w := &wait{streams: streams, clock: clock}
	cmd := &cobra.Command{
		Use:   "wait (job/NAME | cronjob/NAME | timetable/NAME)…",
		Short: "Wait until a run has ended, well or not; the exit code tells which",
		Long: `Wait until a Job is complete or has failed, whichever comes.

For a CronJob or Timetable it is the run that is active now, or, if none is, the next one that starts. --next waits for
one that starts from now on in any case, --run for that of a scheduled time, which may have ended already or is yet to
come. A run that a Timetable tries again has ended when its last try has.

No end is missed: a Job that is deleted as soon as it has ended counts by how it ended, and for one that is gone
already the journal of the Carillon of this machine is asked. A Job that was deleted before it had ended counts as
failed, and a line says so. A connection that breaks, as when the API server is started again, is taken up again.

Of several, all are waited for, and all must succeed; with --any the first one that ends decides.

The exit code is 0 when the run succeeded; 1 when it failed, or is gone; 2 when there is no such object; 124 when
--timeout has passed; 130 when it was interrupted. On a terminal a line shows what is waited for; elsewhere nothing is
written but, on standard error, why the exit code is not 0, and why no run is to come: of a schedule that is suspended,
paused or can never start.`,
		Example: `  carillon wait job/import
  carillon wait job/import --timeout 10m && echo done
  carillon wait cronjob/backup --next
  carillon wait cronjob/backup --run 02:00 -o json
  carillon wait job/shard-1 job/shard-2 job/shard-3 --any`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return exitcode.UsageError("name what to wait for: job/NAME, cronjob/NAME or timetable/NAME")
			}
			return nil
		},
		ValidArgsFunction: func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			return reference.Completion(w.target.Names)(cmd, nil, typed) // any number of them
		},
		RunE: func(cmd *cobra.Command, args []string) error { return w.run(cmd.Context(), args) },
	}
	flags := cmd.Flags()
	w.target.AddFlags(cmd, false)
	flags.DurationVar(&w.timeout, "timeout", 0, "give up after this time, such as 10m, with exit code 124; 0 never does")
	flags.BoolVar(&w.any, "any", false, "of several, wait for the first one that ends")
	flags.BoolVar(&w.next, "next", false, "of a CronJob or Timetable, wait for a run that starts from now on, also if one is active")
	flags.StringVar(&w.at, "run", "", "of a CronJob or Timetable, wait for the run of this scheduled `time`: 02:00, \"tomorrow 02:00\", 2026-11-20T02:00:00Z")
	w.output.Add(cmd, docsPage)
	return cmd
}

// check reads the arguments, and refuses flags that contradict each other.
func (w *wait) check(args []string) ([]reference.Reference, error) {
	if w.next && w.at != "" {
		return nil, exitcode.UsageError("--run names one run; leave out --next")
	}
	if w.timeout < 0 {
		return nil, exitcode.UsageError("--timeout is a time, such as 10m")
	}
	var refs []reference.Reference
	seen := map[reference.Reference]bool{}
	for _, arg := range args {
		ref, err := parseReference(arg)
		if err != nil {
			return nil, err
		}
		if ref.Kind == "job" && (w.next || w.at != "") {
			return nil, exitcode.UsageError("--next and --run are for CronJobs and Timetables: a Job runs once")
		}
		if !seen[ref] {
			refs = append(refs, ref)
		}
		seen[ref] = true
	}
	return refs, nil
}

// errTimeout ends the waiting when --timeout has passed.
var errTimeout = errors.New("the time is up")

func (w *wait) run(ctx context.Context, args []string) error {
	if _, err := w.check(args); err != nil {
		return err
	}
	s, server, err := w.target.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }() // it was only read
	if server, err = patient(server, w.say); err != nil {
		return err
	}
	return w.runOn(ctx, s, server, args)
}

// runOn waits, by what an API server and what remembers runs tell.
func (w *wait) runOn(ctx context.Context, s lookup.Source, server *cluster.Server, args []string) error {
	refs, err := w.check(args)
	if err != nil {
		return err
	}
	began := w.clock()
	limited := ctx
	if w.timeout > 0 {
		var stop context.CancelFunc
		limited, stop = context.WithTimeoutCause(ctx, w.timeout, errTimeout)
		defer stop()
	}
	waits, err := w.prepare(limited, s, server, refs, began)
	if err != nil {
		return w.stopped(ctx, limited, err)
	}
	return w.report(ctx, limited, w.await(limited, waits))
}

// stopped is the error of waiting that did not begin: the interruption or the timeout if there was one.
func (w *wait) stopped(ctx, limited context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return &exitcode.Error{Code: exitcode.Interrupted}
	case limited.Err() != nil:
		return &exitcode.Error{Code: exitcode.Timeout, Err: fmt.Errorf("gave up after %s, before anything could be asked", w.timeout)}
	}
	return err
}

// prepare finds out what is waited for.
func (w *wait) prepare(ctx context.Context, s lookup.Source, server *cluster.Server, refs []reference.Reference, began time.Time) ([]*waitRun, error) {
	var waits []*waitRun
	for _, ref := range refs {
		of, err := findSubject(ctx, s, server, ref, w.target.NamespaceOf(server))
		if err != nil {
			return nil, err
		}
		p := newPick(of, began)
		p.job, p.next = ref.Kind == "job", w.next
		if w.at != "" {
			at, err := diagnosis.ParseAt(w.at, began, of.zone)
			if err != nil {
				return nil, exitcode.UsageError("--run: %w", err)
			}
			p.at = &at
		}
		held := func(why string) {
			w.say(fmt.Sprintf("no run of %s starts by itself: %s; waiting for one", of.ref, why))
		}
		waits = append(waits, &waitRun{source: s, server: server, down: w.down, of: of, pick: p, text: w.at, clock: w.clock, held: held})
	}
	return waits, nil
}

// down says why there is no API server.
func (w *wait) down() error {
	if w.target.Journal != "" && !w.target.Cluster.Named() {
		return exitcode.UsageError("--journal alone shows what has ended; leave it out to wait for what has not")
	}
	_, err := w.target.Cluster.Connect()
	return err
}

// await waits for all, or for the first one that ends. The results are in the order of waits.
func (w *wait) await(ctx context.Context, waits []*waitRun) []waitResult {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	type ended struct {
		index  int
		result waitResult
	}
	results, done := make([]waitResult, len(waits)), make(chan ended)
	for i, each := range waits {
		go func() { done <- ended{i, each.wait(ctx)} }()
	}
	line := w.newStatusLine(waits)
	defer line.clear()
	for left := len(waits); left > 0; {
		select {
		case e := <-done:
			results[e.index] = e.result
			left--
			if w.any && e.result.over() || e.result.err != nil && !errors.Is(e.result.err, context.Canceled) && ctx.Err() == nil {
				stop() // who is still waiting says how it is now
			}
		case <-line.tick():
			line.show()
		}
	}
	return results
}
