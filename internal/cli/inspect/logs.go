// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/client/cluster"
	"github.com/carillon-dev/carillon/internal/client/exitcode"
	"github.com/carillon-dev/carillon/internal/client/lookup"
	"github.com/carillon-dev/carillon/internal/client/reference"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// logs is the command that shows what a run wrote:
//
//   - logs.go           the command: which run, and the order of things
//   - choose.go         which run is meant
//   - logsattempts.go   which of its attempts are, and their output until now
//   - logsprint.go      lines as they are written to a terminal, or elsewhere
//   - logsfollow.go     what comes after that, until the run ends
type logs struct {
	target   lookup.Target
	choice   choice
	attempt  int
	only     string // container
	tail     int    // less than 0: all
	since    time.Duration
	stamps   bool
	prefix   prefixMode
	follow   bool
	raw      bool
	quiet    bool
	streams  Streams
	clock    func() time.Time
	terminal bool
	colors   bool
}

func newLogs(streams Streams) *cobra.Command { return newLogsAt(streams, time.Now) }

func newLogsAt(streams Streams, clock func() time.Time) *cobra.Command {
	l := &logs{streams: streams, clock: clock, terminal: console.IsTerminal(streams.Out), colors: console.SupportsColor(streams.Out)}
	cmd := &cobra.Command{
		Use:   "logs cronjob/NAME | timetable/NAME | job/NAME",
		Short: "Show what a run wrote, also when its Pods are gone",
		Long: `Show what a run of a CronJob or Timetable wrote, or a Job: the newest run, or the one that a flag names.

It is the output of all Pods and containers of the run, of failed attempts, too, in the order of time; with a prefix as
soon as more than one of them writes. All of it goes to standard output, whichever stream it was written to. One line on
standard error says which run it is and how it ended.

The output comes from the journal of the Carillon of this machine, which keeps it when Jobs and Pods are gone
(carillon up --keep-logs), also while that Carillon does not run; on a cluster, from the Pods that are still there. Of
an active run it is what was written until now.

All tries of one scheduled time of a Timetable are one run: its output is that of all of them, and it has failed if the
last of them has. job/NAME is one try alone.

-f goes on until the run ends, through restarts of containers, replaced Pods and further tries, and ends with its exit
code: 0 if the run succeeded, 1 if it did not. If no run is active, -f waits for the next one and says when that is due.

--run takes a time in the schedule's zone (02:00, "yesterday 02:00", "2026-11-20 02:00") or with an offset
(2026-11-20T02:00:00Z); 02:00 alone is the last one that has come. -p and --previous mean the run before the newest one,
and not, as in kubectl, the container before its restart: --attempt shows one attempt of a run.

On a terminal colours get through, and of what was written over, as by progress bars, the last state; other control
characters are shown and not obeyed. Elsewhere, and with --raw, the output is as it was written, byte for byte, but for a
line without an end that another writer follows: that is ended.

The exit code is 0 when there was output to show, or nothing was ever written; 1 when there is no such run or its output
is gone; 2 when there is no such object; 130 when it was interrupted.`,
		Example: `  carillon logs cronjob/backup
  carillon logs cronjob/backup --failed
  carillon logs tt/report --run "yesterday 18:30" -n sales
  carillon logs job/import -f
  carillon logs cronjob/backup --previous --attempt 1 --timestamps
  carillon logs cronjob/backup --failed --tail 20 -q > failure.txt`,
		Args:              oneReference,
		ValidArgsFunction: reference.Completion(l.target.Names),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("attempt") && l.attempt < 1 {
				return exitcode.UsageError("--attempt counts from 1")
			}
			if cmd.Flags().Changed("tail") && l.tail < -1 {
				return exitcode.UsageError("--tail is a number of lines; -1 shows all")
			}
			return interruptible(cmd.Context(), l.run(cmd.Context(), args[0]))
		},
	}
	flags := cmd.Flags()
	l.target.AddFlags(cmd, false)
	flags.BoolVar(&l.choice.failed, "failed", false, "the newest run that failed")
	flags.BoolVarP(&l.choice.previous, "previous", "p", false, "the run before the newest one (with --failed: of those that failed)")
	flags.StringVar(&l.choice.at, "run", "", "the run of this scheduled `time`: 02:00, \"yesterday 02:00\", 2026-11-20T02:00:00Z")
	flags.IntVar(&l.attempt, "attempt", 0, "only this attempt of the run, from 1: a Pod, or a restart of its containers")
	flags.StringVarP(&l.only, "container", "c", "", "only the containers of this name")
	flags.IntVar(&l.tail, "tail", -1, "only this many lines, the last ones")
	flags.DurationVar(&l.since, "since", 0, "only what was written within this time, such as 10m")
	flags.BoolVar(&l.stamps, "timestamps", false, "begin each line with the time when it was written, in UTC")
	flags.Var(&l.prefix, "prefix", "begin each line with its Pod and container: auto (if several write), true or false")
	flags.Lookup("prefix").NoOptDefVal = string(prefixAlways)
	flags.BoolVarP(&l.follow, "follow", "f", false, "go on until the run ends; the exit code is then that of the run")
	flags.BoolVar(&l.raw, "raw", false, "on a terminal, too, let all control characters through")
	flags.BoolVarP(&l.quiet, "quiet", "q", false, "only the output, and what is wrong: not which run it is")
	_ = cmd.RegisterFlagCompletionFunc("prefix", cobra.FixedCompletions([]string{"auto", "true", "false"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func oneReference(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return exitcode.UsageError("name one object: cronjob/NAME, timetable/NAME or job/NAME")
	}
	return nil
}

// check refuses flags that contradict each other.
func (l *logs) check() error {
	switch {
	case l.attempt < 0:
		return exitcode.UsageError("--attempt counts from 1")
	case l.since < 0:
		return exitcode.UsageError("--since is a time that has passed, such as 10m")
	case l.follow && l.attempt > 0:
		return exitcode.UsageError("-f follows all attempts of a run; leave out --attempt")
	case l.follow && (l.choice.failed || l.choice.previous):
		return exitcode.UsageError("-f follows a run that is active, or the next one; leave out --failed and --previous")
	}
	return l.choice.check()
}

func (l *logs) run(ctx context.Context, text string) error {
	ref, err := parseReference(text)
	if err != nil {
		return err
	}
	if err := l.check(); err != nil {
		return err
	}
	s, server, err := l.target.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }() // it was only read
	if l.follow {
		if server, err = patient(server, l.say); err != nil {
			return err
		}
	}
	err = l.show(ctx, s, server, ref)
	if errors.Is(err, syscall.EPIPE) { // who reads has enough
		return &exitcode.Error{Code: exitcode.Interrupted}
	}
	return err
}

// show shows a run that is known, and with -f what comes.
func (l *logs) show(ctx context.Context, s lookup.Source, server *cluster.Server, ref reference.Reference) error {
	of, err := findSubject(ctx, s, server, ref, l.target.NamespaceOf(server))
	if err != nil {
		return err
	}
	if l.follow {
		return l.showAndFollow(ctx, s, server, of)
	}
	r, err := chooseRun(ctx, s, of, l.choice, l.clock())
	if err != nil {
		return err
	}
	all, tries, err := attemptsOfTime(ctx, s, of, r)
	if err != nil {
		return err
	}
	chosen, title, err := l.chooseAttempts(r, all)
	if err != nil {
		return err
	}
	if !l.quiet {
		heading := runTitle(r, of.zone, l.clock())
		if lookup.Stopped(s) != "" && !r.Outcome.Ended() {
			heading = strings.TrimSuffix(heading, outcomeText(r, l.clock())) + run.LeftWords
		}
		l.say(heading + tries + title)
	}
	return l.printAll(ctx, s, r, chosen)
}

// printAll writes what the chosen attempts of a run have written until now, and says what is gone of it.
func (l *logs) printAll(ctx context.Context, s lookup.Source, r *run.Run, chosen []run.Attempt) error {
	out := l.newPrinter()
	out.expect(chosen)
	gone, err := l.printUntilNow(ctx, s, chosen, out, nil)
	if err != nil {
		return err
	}
	if err := out.finish(); err != nil {
		return err
	}
	return l.explainGone(ctx, s, r, chosen, gone)
}

// heading says which run it is.
func (l *logs) heading(r *run.Run, zone *time.Location, more string) {
	if !l.quiet {
		l.say(runTitle(r, zone, l.clock()) + more)
	}
}

// say writes a line about the output, to standard error.
func (l *logs) say(text string) {
	text = console.EscapeControls(strings.ReplaceAll(text, "\n", " "))
	if console.SupportsColor(l.streams.Err) {
		text = "\x1b[2m" + text + "\x1b[0m"
	}
	_, _ = io.WriteString(l.streams.Err, text+"\n") // where nobody reads it, it is not missed
}

// prefixMode is when lines begin with who wrote them.
type prefixMode string

const (
	prefixAuto   prefixMode = "auto"
	prefixAlways prefixMode = "true"
	prefixNever  prefixMode = "false"
)

// String implements pflag.Value.
func (p *prefixMode) String() string {
	if *p == "" {
		return string(prefixAuto)
	}
	return string(*p)
}

// Type implements pflag.Value.
func (p *prefixMode) Type() string { return "when" }

// Set implements pflag.Value.
func (p *prefixMode) Set(text string) error {
	switch m := prefixMode(text); m {
	case prefixAuto, prefixAlways, prefixNever:
		*p = m
		return nil
	}
	return fmt.Errorf("it is auto, true or false")
}
