// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cli is the command line: a file for each command, thin over the packages that do the work.
//
// Exit codes are a promise: 0 done, 1 failed (a Job, or Carillon itself), 2 the user's input is at fault (flags,
// manifests), 124 a timeout passed, 130 interrupted: by a signal, or because nobody can read the output any more.
// Containers' output goes to stdout; what `run` says about itself goes to stderr.
//
// A tour:
//
//   - root.go          the program: streams, exit codes, the list of commands
//   - groups.go        the commands as help shows them: run, look, plan, operate
//   - up.go, ui.go, run.go, image.go, backup.go, restore.go, record.go, manager.go, kubectl.go, version.go, docs.go
//     a command each; the commands of image are in package images, those that look at runs in package inspect, and
//     those that look at schedules in package planning
//   - uppage.go        the page that up serves
//   - runchoose.go     which object of the files `run` runs; runonce.go follows its Job to the end
//   - object.go        the Job that `run` creates
//   - kubectlfiles.go  manifests of an old API version for `kubectl`
//   - datadir.go       flags and checks that commands share
//   - heldjournal.go   the directory of a journal, for `record` alone
//   - pids.go          the flag --pids-max
//   - keep.go          the flags that say how much is remembered of runs
//   - imageflags.go    what up and run are told about images
//   - signals.go       how the program is stopped
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/cli/images"
	"github.com/carillon-dev/carillon/internal/cli/inspect"
	"github.com/carillon-dev/carillon/internal/cli/manifest"
	"github.com/carillon-dev/carillon/internal/cli/planning"
	"github.com/carillon-dev/carillon/internal/client/exitcode"
	"github.com/carillon-dev/carillon/internal/controlplane"
	"github.com/carillon-dev/carillon/internal/descriptor"
	"github.com/carillon-dev/carillon/internal/manager/command"
	"github.com/carillon-dev/carillon/internal/version"
)

// Streams are what a command reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

func usage(format string, args ...any) error { return exitcode.UsageError(format, args...) }

// Main runs the program with the process's arguments and streams, and ends it.
func Main() {
	// Nothing but the three streams is for the programs that containers run.
	if err := descriptor.CloseOnExec(3); err != nil {
		fmt.Fprintln(os.Stderr, "carillon:", err)
		os.Exit(exitcode.Failed)
	}
	os.Exit(Run(os.Args[1:], Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}

// Run runs one command and returns the exit code. SIGINT, SIGTERM and SIGHUP end the command's context; a
// second signal ends the process at once.
func Run(args []string, streams Streams) int {
	ctx, done := stopOnSignals(context.Background(), streams.Err, stoppedAtOnce(args))
	defer done()
	defer catchBrokenPipes()()
	root := NewRoot(streams)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if ctx.Err() == nil {
		return exitCode(err, streams.Err)
	}
	var text strings.Builder
	result := exitCode(err, &text)
	writeWithin(streams.Err, text.String(), finalWriteTimeout)
	return result
}

// stoppedAtOnce says what is to be known when a command is ended before it has stopped what it runs; "" for one that
// only looks.
func stoppedAtOnce(args []string) string {
	if len(args) > 0 && (args[0] == "up" || args[0] == "run") {
		return "; what was running may go on until the next start"
	}
	return ""
}

func exitCode(err error, w io.Writer) int {
	if err == nil {
		return 0
	}
	if path := (*fs.PathError)(nil); errors.As(err, &path) && errors.Is(path, syscall.EPIPE) {
		return exitcode.Interrupted // who reads has enough, as head has
	}
	var e *exitcode.Error
	if errors.As(err, &e) {
		if e.Err != nil {
			printError(w, e.Err)
		}
		return e.Code
	}
	printError(w, err)
	var fault *manifest.Fault
	var wrong *command.UsageError
	var option *controlplane.OptionError
	var text *images.UsageError
	if errors.As(err, &fault) || errors.As(err, &wrong) || errors.As(err, &option) || errors.As(err, &text) {
		return exitcode.Usage
	}
	return exitcode.Failed
}

func printError(w io.Writer, err error) {
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintln(w, "carillon: "+console.EscapeControls(strings.TrimRight(line, "\r\n")))
	}
}

// NewRoot returns the carillon command with all its sub-commands.
func NewRoot(streams Streams) *cobra.Command {
	// Kubernetes' components register flags of theirs (--version among them) with the process, and
	// cobra would show them as ours.
	pflag.CommandLine = pflag.NewFlagSet("carillon", pflag.ContinueOnError)
	root := &cobra.Command{
		Use:   "carillon",
		Short: "Scheduled and batch work with the Kubernetes API, on this machine or on any cluster",
		Long: `Carillon runs CronJobs and Jobs written for the Kubernetes API: on this machine,
with nothing else installed, or as controllers on a cluster.`,
		Example: `  carillon up -f examples/               # start, with some work to do
  carillon status                        # from another terminal: what goes on
  carillon run -f examples/report.yaml   # one thing, once, now`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       version.String(),
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage("%w (see %s --help)", err, cmd.CommandPath())
	})
	root.AddCommand(
		newUp(streams),
		newRun(streams),
		newImage(streams),
		newManager(),
		newKubectl(streams),
		newBackup(streams),
		newRestore(streams),
		newUI(streams),
		newRecord(streams),
		newVersion(streams),
		newDocs(),
	)
	root.AddCommand(inspect.Commands(inspect.Streams(streams))...)
	root.AddCommand(planning.Commands(planning.Streams(streams))...)
	asUsage(root)
	groupCommands(root)
	return root
}

// asUsage makes wrong arguments exit with exitcode.Usage, as wrong flags do, for a command and all below it.
func asUsage(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		asUsage(sub)
	}
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return usage("%w (see %s --help)", err, cmd.CommandPath())
			}
			return nil
		}
	}
}
