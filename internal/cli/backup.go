// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/carillon-dev/carillon/internal/backup"
	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/cli/output"
	"github.com/carillon-dev/carillon/internal/client/cluster"
	"github.com/carillon-dev/carillon/internal/client/exitcode"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
)

// historyPage describes what backup and restore write for programs.
const historyPage = "docs/history.md"

type backupOptions struct {
	streams Streams
	dataDir string
	force   bool
	output  output.Flag
	now     func() time.Time
}

func newBackup(streams Streams) *cobra.Command {
	o := backupOptions{streams: streams, now: time.Now}
	cmd := &cobra.Command{
		Use:   "backup FILE|-",
		Short: "Save all state of this machine's Carillon to a file, as it runs",
		Long: `Writes one file with all that a Carillon of this machine knows: every object (CronJobs, Timetables, Jobs,
ConfigMaps, Secrets, …), the history of runs with their logs, and the keys that its clients and Pods trust.
` + "`carillon restore`" + ` makes a Carillon of it, here or on another machine.

Nothing has to be stopped. The backup shows one moment: a run has ended in its objects and in its history,
or in neither. Runs go on meanwhile; the history waits for a fraction of a second, which
the summary tells.

Not in it: what Pods have in volumes and in directories of the machine (hostPath), and images. Back those
up by their own means.

The file holds Secrets and private keys. Only its owner can read it (mode 0600); whoever can read it is
administrator of what is restored from it. It appears under its name when it is whole, and never in part.`,
		Example: `  carillon backup nightly.carillon
  carillon backup --force /var/backups/carillon.backup
  carillon backup - | ssh nas 'cat >carillon.backup'
  carillon backup - | age -r age1… >carillon.backup.age      # encrypted
  carillon backup --data-dir /var/lib/carillon -o json /var/backups/carillon.backup`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return interruptedBackup(cmd.Context(), o.run(cmd.Context(), args[0]), "no backup was written")
		},
	}
	dataDirFlag(cmd.Flags(), &o.dataDir, "where the Carillon keeps its state that is backed up")
	_ = cmd.MarkFlagDirname("data-dir")
	cmd.Flags().BoolVar(&o.force, "force", false, "replace FILE if it is there; until the new one is whole the old one stays")
	o.output.Add(cmd, historyPage)
	return cmd
}

func (o *backupOptions) run(ctx context.Context, file string) error {
	dataDir, err := cluster.Absolute(o.dataDir)
	if err != nil {
		return err
	}
	status, warn := console.NewStatusLine(o.streams.Err), warnings(o.streams.Err)
	options := backup.CreateOptions{DataDir: dataDir, File: file, Force: o.force, Now: o.now, Warn: func(m string) { status.Clear(); warn(m) }, Progress: showSteps(status, o.now)}
	report := o.streams.Out
	var finish func() error
	if file == "-" {
		if console.IsTerminal(o.streams.Out) {
			return usage("a backup is not for a terminal: name a file, or redirect the output (carillon backup - >FILE)")
		}
		if o.force {
			return usage("--force goes with a file")
		}
		options.Out, finish = interruptibleWriter(ctx, o.streams.Out)
		report = o.streams.Err
	}
	began := o.now()
	made, err := backup.Create(ctx, options)
	if finish != nil {
		// What keeps the stream from taking more is the error of both.
		if ferr := finish(); err == nil {
			err = ferr
		}
	}
	status.Clear()
	if err != nil {
		return asRequest(err)
	}
	took := o.now().Sub(began)
	if o.output.JSON {
		return output.WriteJSON(report, createdDocument{File: file, SizeBytes: made.Size, backupDocument: describeBackup(&made.Manifest), Running: made.Running, LivingContainers: made.Alive,
			JournalWaitSeconds: made.Froze.Seconds(), DurationSeconds: took.Seconds()})
	}
	_, err = io.WriteString(report, createdText(file, &made, took))
	return err
}

// createdText tells a person what a backup has.
func createdText(file string, made *backup.Created, took time.Duration) string {
	var b strings.Builder
	name := console.EscapeControls(file)
	if file == "-" {
		name = "the backup"
	}
	fmt.Fprintf(&b, "%s: %s, written in %s", name, quantity.Bytes(made.Size), console.FormatDuration(took))
	switch {
	case made.Running && made.Froze > 0:
		fmt.Fprintf(&b, " while Carillon ran (its history waited %s)", console.FormatDuration(made.Froze))
	case made.Running:
		b.WriteString(" while Carillon ran")
	}
	b.WriteByte('\n')
	b.WriteString(contentText(&made.Manifest))
	if made.Alive > 0 {
		fmt.Fprintf(&b, "  %s still, since Carillon was killed: restored, what they do counts as lost, and is done again as far as backoffLimit lets it\n", runningContainers(made.Alive))
	}
	b.WriteString("  not in it: Pods' volumes, directories of the machine, images\n")
	b.WriteString("It holds Secrets and keys: whoever can read it is administrator of what is restored from it.\n")
	return b.String()
}

func runningContainers(n int) string {
	if n == 1 {
		return "1 container runs"
	}
	return quantity.CountGrouped(n, "container") + " run"
}

// contentText tells what is in a backup, two lines.
func contentText(m *backup.Manifest) string {
	history := fmt.Sprintf("%s, %s, %s", quantity.CountGrouped(int(m.Runs), "run"), quantity.CountGrouped(int(m.Attempts)+m.EndedContainers, "attempt"), quantity.CountGrouped(int(m.Omissions), "omission"))
	if m.JournalDamage != "" {
		history = "not in it, because it is damaged: " + console.EscapeControls(m.JournalDamage)
	}
	return fmt.Sprintf("  objects: %s (%s, %s, %s, %s)\n  history: %s\n",
		quantity.Grouped(m.Objects.Total), quantity.CountGrouped(m.Objects.CronJobs, "CronJob"), quantity.CountGrouped(m.Objects.Timetables, "Timetable"),
		quantity.CountGrouped(m.Objects.Jobs, "Job"), quantity.CountGrouped(m.Objects.Pods, "Pod"), history)
}

// backupDocument is what programs learn of a backup.
type backupDocument struct {
	Created           time.Time      `json:"created"`
	CarillonVersion   string         `json:"carillonVersion"`
	KubernetesVersion string         `json:"kubernetesVersion"`
	NodeName          string         `json:"nodeName"`
	StoreRevision     int64          `json:"storeRevision"`
	Objects           backup.Objects `json:"objects"`
	Runs              int64          `json:"runs"`
	Attempts          int64          `json:"attempts"`
	Omissions         int64          `json:"omissions"`
	EndedContainers   int            `json:"endedContainers"`
	JournalDamage     string         `json:"journalDamage"`
}

func describeBackup(m *backup.Manifest) backupDocument {
	return backupDocument{
		Created: m.Created, CarillonVersion: m.Carillon, KubernetesVersion: m.Kubernetes, NodeName: m.Node, StoreRevision: m.Revision,
		Objects: m.Objects, Runs: m.Runs, Attempts: m.Attempts, Omissions: m.Omissions, EndedContainers: m.EndedContainers, JournalDamage: m.JournalDamage,
	}
}

// createdDocument is what backup -o json writes.
type createdDocument struct {
	File      string `json:"file"`
	SizeBytes int64  `json:"sizeBytes"`
	backupDocument
	Running            bool    `json:"running"`
	LivingContainers   int     `json:"livingContainers"`
	JournalWaitSeconds float64 `json:"journalWaitSeconds"`
	DurationSeconds    float64 `json:"durationSeconds"`
}

// showSteps shows what is done now, a few times a second.
func showSteps(status *console.StatusLine, now func() time.Time) func(string, int64) {
	const pause = 100 * time.Millisecond
	var shown time.Time
	var last string
	return func(step string, bytes int64) {
		if at := now(); step != last || at.Sub(shown) >= pause {
			last, shown = step, at
			if bytes > 0 && step != "adding to the history" {
				step += " · " + quantity.Bytes(bytes)
			}
			status.Show(step)
		}
	}
}

func warnings(w io.Writer) func(string) {
	return func(message string) { fmt.Fprintln(w, "carillon: "+console.EscapeControls(message)) }
}

// asRequest gives the user's own mistakes their exit code.
func asRequest(err error) error {
	var request *backup.RequestError
	if errors.As(err, &request) {
		return usage("%w", err)
	}
	return err
}

// interruptedBackup is the error of a command that somebody may have interrupted.
func interruptedBackup(ctx context.Context, err error, left string) error {
	if err != nil && ctx.Err() != nil {
		return &exitcode.Error{Code: exitcode.Interrupted, Err: errors.New("interrupted: " + left)}
	}
	return err
}

// interruptibleWriter writes to a stream that may not take anything, until the context ends. finish waits until it has
// taken all.
func interruptibleWriter(ctx context.Context, to io.Writer) (w io.Writer, finish func() error) {
	in, out := io.Pipe()
	done := make(chan error, 1)
	go func() {
		_, err := io.Copy(to, in)
		in.CloseWithError(err)
		done <- err
	}()
	stop := context.AfterFunc(ctx, func() { in.CloseWithError(ctx.Err()) })
	return out, func() error {
		defer stop()
		_ = out.Close() // of a pipe in memory: it never fails
		select {
		case err := <-done:
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// interruptibleReader reads from a stream that may not give anything, until the context ends.
func interruptibleReader(ctx context.Context, from io.Reader) (r io.Reader, stop func() bool) {
	in, out := io.Pipe()
	go func() {
		_, err := io.Copy(out, from)
		out.CloseWithError(err)
	}()
	return in, context.AfterFunc(ctx, func() { out.CloseWithError(ctx.Err()) })
}
