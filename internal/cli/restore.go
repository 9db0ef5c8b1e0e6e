// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/carillon-dev/carillon/internal/backup"
	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/cli/output"
	"github.com/carillon-dev/carillon/internal/client/cluster"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
)

type restoreOptions struct {
	streams                Streams
	dataDir                string
	replace, runs, suspend bool
	output                 output.Flag
	now                    func() time.Time
}

func newRestore(streams Streams) *cobra.Command {
	o := restoreOptions{streams: streams, now: time.Now}
	cmd := &cobra.Command{
		Use:   "restore FILE|-",
		Short: "Make a Carillon of a backup, or bring its history back",
		Long: `Makes the data directory that a backup was made of, on this machine or on another one; the next
` + "`carillon up`" + ` goes on from there:

  - what had ended has ended, and does not run again;
  - what was running, or about to, has failed as after a loss of the machine: each Job's backoffLimit
    decides whether it is tried again;
  - times that have passed since are caught up by each CronJob's and Timetable's own rules.

The whole backup is checked before anything is touched, and the new state gets its place at once: a kill at
any moment leaves all of it or nothing. Nothing is ever deleted:

  - where there is no state yet, the backup becomes it;
  - where there is one, and Carillon does not run, --replace sets it aside (DIR.before-restore-TIME);
  - where Carillon runs, or with any state, --runs brings back the history alone: runs, logs and omissions
    that are missing. Objects are left as they are.

To look at a backup beside the original, restore it into another directory with --suspend: nothing starts
by itself then until you resume it. Both machines must not go on from one backup: each would run the same
schedules.`,
		Example: `  carillon restore nightly.carillon
  carillon restore --replace nightly.carillon            # what is there is set aside
  carillon restore --runs nightly.carillon               # the history alone, also while it runs
  carillon restore --data-dir /tmp/look --suspend nightly.carillon && carillon up --data-dir /tmp/look
  ssh nas 'cat carillon.backup' | carillon restore -`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			left := "nothing was changed"
			if o.runs {
				left = "a part of the history may be back; the same command adds the rest"
			}
			return interruptedBackup(cmd.Context(), o.run(cmd.Context(), args[0]), left)
		},
	}
	flags := cmd.Flags()
	dataDirFlag(flags, &o.dataDir, "where the Carillon will keep its state")
	_ = cmd.MarkFlagDirname("data-dir")
	flags.BoolVar(&o.replace, "replace", false, "set the state aside that is there, under another name")
	flags.BoolVar(&o.runs, "runs", false, "bring back the history alone, also while Carillon runs")
	flags.BoolVar(&o.suspend, "suspend", false, "suspend every CronJob, Timetable and unfinished Job in what is restored")
	o.output.Add(cmd, historyPage)
	return cmd
}

func (o *restoreOptions) run(ctx context.Context, file string) error {
	if o.runs && (o.replace || o.suspend) {
		return usage("--runs goes with neither --replace nor --suspend: it brings back the history, and changes no object")
	}
	dataDir, err := cluster.Absolute(o.dataDir)
	if err != nil {
		return err
	}
	status, warn := console.NewStatusLine(o.streams.Err), warnings(o.streams.Err)
	options := backup.RestoreOptions{
		DataDir: dataDir, File: file, Replace: o.replace, Runs: o.runs, Suspend: o.suspend, Now: o.now,
		Warn: func(m string) { status.Clear(); warn(m) }, Progress: showSteps(status, o.now),
	}
	if file == "-" {
		if console.IsTerminal(o.streams.In) {
			return usage("a backup does not come from a terminal: name a file, or redirect the input (carillon restore - <FILE)")
		}
		in, stop := interruptibleReader(ctx, o.streams.In)
		defer stop()
		options.In = in
	}
	began := o.now()
	done, err := backup.Restore(ctx, options)
	status.Clear()
	if err != nil {
		return asRequest(err)
	}
	if o.output.JSON {
		document := restoredDocument{
			File: file, DataDir: dataDir, Backup: describeBackup(&done.Manifest), HistoryOnly: done.RunsOnly, Running: done.Running, SetAside: done.Aside,
			LostPods: done.Lost, EndedPods: done.Ended, Suspended: done.Suspended, DurationSeconds: o.now().Sub(began).Seconds(),
		}
		document.Added.Runs, document.Added.Attempts, document.Added.Omissions = done.Merged.Runs, done.Merged.Attempts, done.Merged.Omissions
		return output.WriteJSON(o.streams.Out, document)
	}
	_, err = io.WriteString(o.streams.Out, restoredText(dataDir, &done, o.now()))
	return err
}

// restoredText tells a person what a restore did, and what comes next.
func restoredText(dataDir string, done *backup.Restored, now time.Time) string {
	var b strings.Builder
	age := console.FormatDuration(max(0, now.Sub(done.Created)))
	when := fmt.Sprintf("the backup of %s (%s ago)", done.Created.Local().Format("2006-01-02 15:04:05 MST"), age)
	if done.RunsOnly {
		if done.Merged == (backup.Merged{}) {
			return fmt.Sprintf("The history of %s has all that is in %s: nothing was missing.\n", dataDir, when)
		}
		return fmt.Sprintf("Added to the history of %s what was missing from %s: %s, %s, %s.\n", dataDir, when,
			quantity.CountGrouped(int(done.Merged.Runs), "run"), quantity.CountGrouped(int(done.Merged.Attempts), "attempt"), quantity.CountGrouped(int(done.Merged.Omissions), "omission"))
	}
	fmt.Fprintf(&b, "Restored %s from %s:\n", dataDir, when)
	b.WriteString(contentText(&done.Manifest))
	if done.Lost > 0 {
		fmt.Fprintf(&b, "  %s that %s running then, or about to, failed: backoffLimit decides what is tried again\n", quantity.CountGrouped(done.Lost, "Pod"), wasOrWere(done.Lost))
	}
	if s := done.Suspended; s != (backup.Suspended{}) {
		fmt.Fprintf(&b, "  suspended: %s, %s, %s: nothing starts by itself until you resume it, or restore again without --suspend\n    %s patch cronjob/NAME --type merge -p '{\"spec\":{\"suspend\":false}}' resumes one\n",
			quantity.CountGrouped(s.CronJobs, "CronJob"), quantity.CountGrouped(s.Timetables, "Timetable"), quantity.CountGrouped(s.Jobs, "Job"), kubectlHint(dataDir))
	}
	if done.Aside != "" {
		fmt.Fprintf(&b, "  what was there before is in %s\n", done.Aside)
	}
	fmt.Fprintf(&b, "It goes on from there with: %s\n", upCommand(dataDir))
	return b.String()
}

func wasOrWere(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

// restoredDocument is what restore -o json writes.
type restoredDocument struct {
	File    string         `json:"file"`
	DataDir string         `json:"dataDir"`
	Backup  backupDocument `json:"backup"`
	// HistoryOnly is that of --runs; then Added counts.
	HistoryOnly bool             `json:"historyOnly"`
	Running     bool             `json:"running"`
	SetAside    string           `json:"setAside"`
	LostPods    int              `json:"lostPods"`
	EndedPods   int              `json:"endedPods"`
	Suspended   backup.Suspended `json:"suspended"`
	Added       struct {
		Runs      int64 `json:"runs"`
		Attempts  int64 `json:"attempts"`
		Omissions int64 `json:"omissions"`
	} `json:"added"`
	DurationSeconds float64 `json:"durationSeconds"`
}

// upCommand is the command that starts the Carillon on a data directory.
func upCommand(dataDir string) string {
	return strings.Replace(kubectlHint(dataDir), " kubectl", " up", 1)
}
