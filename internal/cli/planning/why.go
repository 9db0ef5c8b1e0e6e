// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/cli/output"
	"github.com/carillon-dev/carillon/internal/client/evidence"
	"github.com/carillon-dev/carillon/internal/client/exitcode"
	"github.com/carillon-dev/carillon/internal/client/reference"
	"github.com/carillon-dev/carillon/internal/plan/diagnosis"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// why is the command that tells why something ran, or did not: this file asks and answers, whyjournal.go what an API
// server and a journal know, whynames.go completes names.
type why struct {
	input   input
	output  output.Flag
	at, now string
	// journal is the directory of a journal, "" for that of the Carillon of this machine if one is meant.
	journal string
	streams Streams
	clock   func() time.Time
}

func newWhy(streams Streams) *cobra.Command { return newWhyAt(streams, time.Now) }

func newWhyAt(streams Streams, clock func() time.Time) *cobra.Command {
	w := &why{streams: streams, clock: clock}
	cmd := &cobra.Command{
		Use:   "why cronjob/NAME | timetable/NAME | job/NAME [--at TIME]",
		Short: "Tell why something ran, ran late, did not run, or still waits",
		Long: `Tell why a CronJob or Timetable ran, ran late, did not run or still waits, and why a Job is in its state. The
answer comes first; then what shows it, with the source of each piece of evidence, what is missing, and commands that
help on. What is inferred and not shown is marked.

Without --at it is about now: what ran last, and what the next run waits for. --at takes a time in the schedule's zone
(02:00, "yesterday 02:00", "2026-11-20 02:00") or with an offset (2026-11-20T02:00:00Z); 02:00 alone is the last one
that has come.

It asks the Carillon of this machine, or the cluster of --context or --kubeconfig; or it reads with -f what somebody
has saved of one:

  kubectl get cronjobs,jobs,pods,events -o yaml --show-managed-fields > saved.yaml

API servers keep events for an hour, and Jobs as long as the history limits say; of a Timetable the status lists what
became of its times. The Carillon of this machine remembers more: its journal has all runs, and the times without one,
of the last 90 days, so that "yesterday 02:00" has an answer. It also answers alone: for a CronJob, Timetable or Job
whose object is gone, and for all of them while that Carillon does not run. --journal names another journal, such as
one out of a backup. Where only the journal tells, --at is read in UTC.

The exit code is 0 when there is an answer, 1 when the evidence is gone so that it cannot be told, and 2 when there is
no such object.`,
		Example: `  carillon why cronjob/backup
  carillon why cronjob/backup --at 02:00
  carillon why tt/report --at "yesterday 18:30" -n sales
  carillon why job/backup-29412345 --context production
  carillon why cronjob/deleted --at "2026-11-20 02:00" --journal /mnt/backup/journal
  carillon why cronjob/backup --at 2026-11-20T02:00:00Z -f saved.yaml -o json`,
		Args:              oneReference,
		ValidArgsFunction: reference.Completion(w.names),
		RunE:              func(cmd *cobra.Command, args []string) error { return w.run(cmd.Context(), args[0]) },
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&w.input.files, "filename", "f", nil, "what was saved of a cluster: a file, a directory, or - for standard input; may be repeated")
	w.input.cluster.Add(flags)
	flags.StringVar(&w.at, "at", "", "the time that the question is about; without it, now")
	flags.StringVar(&w.journal, "journal", "", "read the journal in this directory, or in this data directory")
	flags.StringVar(&w.now, "now", "", "the time that counts as now: with -f, when the files were saved; without it, this machine's clock tells")
	w.output.Add(cmd, docsPage)
	return cmd
}

func oneReference(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return exitcode.UsageError("name one object: cronjob/NAME, timetable/NAME or job/NAME")
	}
	return nil
}

func (w *why) run(ctx context.Context, text string) error {
	ref, ok := reference.Parse(text)
	if !ok {
		return exitcode.UsageError("%q names no object: write cronjob/NAME, timetable/NAME (tt/NAME) or job/NAME", text)
	}
	now, err := w.present()
	if err != nil {
		return err
	}
	found, err := w.gather(ctx, ref, now)
	if err != nil {
		return err
	}
	question, err := w.question(found, ref)
	if err != nil {
		return err
	}
	w.remember(ctx, found, question)
	answer := diagnosis.Explain(found, question)
	if err := w.write(answer); err != nil {
		return err
	}
	if answer.Verdict == diagnosis.CannotTell {
		return &exitcode.Error{Code: exitcode.Failed}
	}
	return nil
}

// present is the time that counts as now.
func (w *why) present() (time.Time, error) {
	if w.now == "" {
		return w.clock(), nil
	}
	at, err := diagnosis.ParseAt(w.now, w.clock(), time.UTC)
	if err != nil {
		return time.Time{}, exitcode.UsageError("--now: %w", err)
	}
	return at.From, nil
}

// question reads --at, in the zone of the schedule.
func (w *why) question(found *diagnosis.Evidence, ref reference.Reference) (diagnosis.Question, error) {
	if w.at == "" {
		return diagnosis.Question{}, nil
	}
	if ref.Kind == "job" {
		return diagnosis.Question{}, exitcode.UsageError("--at is a question about a CronJob or Timetable: a Job runs once")
	}
	at, err := diagnosis.ParseAt(w.at, found.Now, found.Zone())
	if err != nil {
		return diagnosis.Question{}, exitcode.UsageError("--at: %w", err)
	}
	return diagnosis.Question{At: &at}, nil
}

// savedLongAgo is how old the newest time in files may be before the answer says so.
const savedLongAgo = 10 * time.Minute

// gather collects the evidence.
func (w *why) gather(ctx context.Context, ref reference.Reference, now time.Time) (*diagnosis.Evidence, error) {
	if len(w.input.files) == 0 {
		return w.fromServer(ctx, ref, now)
	}
	if w.journal != "" {
		return nil, exitcode.UsageError("-f reads what was saved of a cluster, which has no journal; leave out --journal")
	}
	if w.input.cluster.Named() {
		return nil, exitcode.UsageError("-f reads what was saved of a cluster; leave out --context, --kubeconfig and --data-dir")
	}
	objects, err := w.input.fromFiles(ctx, w.streams, w.tell)
	if err != nil {
		return nil, &exitcode.Error{Code: exitcode.Usage, Err: err}
	}
	all, err := workload.Read(objects, workload.Options{Namespace: w.input.cluster.Namespace})
	if err != nil {
		return nil, &exitcode.Error{Code: exitcode.Usage, Err: err}
	}
	found, err := evidence.Search(all, ref, w.input.cluster.Namespace)
	if err != nil {
		return nil, err
	}
	found.Now = now
	if saved := diagnosis.Newest(all); w.now == "" && !saved.IsZero() && now.Sub(saved) > savedLongAgo {
		found.Unread = append(found.Unread, fmt.Sprintf("what has happened since the files were saved: the newest time in them is %s; "+
			"if they were saved then, say so with --now", saved.UTC().Format(time.RFC3339)))
	}
	return found, nil
}

func (w *why) tell(line string) { fmt.Fprintln(w.streams.Err, console.EscapeControls(line)) }

// reasonDocument is the answer for programs.
type reasonDocument struct {
	document
	diagnosis.Answer
}

func (w *why) write(answer diagnosis.Answer) error {
	if w.output.JSON {
		return output.WriteJSON(w.streams.Out, reasonDocument{newDocument("Reason"), answer})
	}
	for line := range strings.Lines(answer.Text(min(output.WidthOf(w.streams.Out), maxTextWidth))) {
		if _, err := io.WriteString(w.streams.Out, console.EscapeControls(strings.TrimSuffix(line, "\n"))+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// maxTextWidth is the widest that text is easily read at.
const maxTextWidth = 100
