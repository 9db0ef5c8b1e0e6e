// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/cli/output"
	"github.com/carillon-dev/carillon/internal/client/exitcode"
	"github.com/carillon-dev/carillon/internal/client/zones"
	manifests "github.com/carillon-dev/carillon/internal/plan/document"
	"github.com/carillon-dev/carillon/schedule"
)

func newImport(streams Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import",
		Short: "Make CronJobs or Timetables of a crontab or of systemd's timers",
		Long: `Make objects of what runs on a machine without Kubernetes: the lines of a crontab, or the timers of systemd.

The manifest goes to standard output, ready for "carillon up -f". What could not be kept, or is not what it seems,
is told on standard error and in comments above its object.`,
		Example: `  crontab -l | carillon import crontab - > jobs.yaml && carillon up -f jobs.yaml
  carillon import crontab /etc/crontab /etc/cron.d/* > system.yaml
  carillon import systemd /etc/systemd/system/*.timer > timers.yaml`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return exitcode.UsageError("import what? Say carillon import crontab, or carillon import systemd")
		},
	}
	cmd.AddCommand(newImportCrontab(streams, thisMachine()), newImportSystemd(streams, thisMachine()))
	return cmd
}

// imports are the flags and the answer that imports have in common.
type imports struct {
	streams   Streams
	machine   machine
	output    output.Flag
	zone      string
	keepGoing bool
}

func (i *imports) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	i.output.Add(cmd, docsPage)
	flags.StringVar(&i.zone, "zone", "", "time zone of the times, such as Europe/Rome (default: that of this machine)")
	flags.BoolVar(&i.keepGoing, "keep-going", false, "convert the rest when something cannot be read; it stays as a comment")
	_ = cmd.RegisterFlagCompletionFunc("zone", zones.Complete)
}

// theZone is the name of the zone, and a sentence that says where it comes from. warning tells that it is a guess.
func (i *imports) theZone() (name, sentence string, warning bool, err error) {
	if i.zone != "" {
		if _, err := schedule.LoadZone(i.zone); err != nil || strings.EqualFold(i.zone, "local") {
			return "", "", false, exitcode.UsageError("--zone: %q is no time zone; write a name such as Europe/Rome or UTC", i.zone)
		}
		return i.zone, "Times are in " + i.zone + ", as --zone says.", false, nil
	}
	name, source := i.machine.zone()
	if _, err := schedule.LoadZone(name); name == "" || err != nil {
		return "UTC", "Times are in UTC, because the time zone of this machine is not known; --zone NAME names another.", true, nil
	}
	return name, "Times are in " + name + ", the time zone of this machine (" + source + "); --zone NAME names another.", false, nil
}

// An importResult is what became of what was imported.
type importResult struct {
	head, tail []string
	documents  []manifests.Document
	notes      []manifests.Note
	faults     []error
}

// imported is what an import writes with -o json.
type imported struct {
	document
	Objects []json.RawMessage `json:"objects"`
	Notes   []manifests.Note  `json:"notes"`
	Errors  []string          `json:"errors"`
}

// answer writes the objects to standard output and the rest to standard error. Nothing is written to standard output
// while something cannot be read, unless that was asked for.
func (i *imports) answer(result importResult) error {
	i.tellNotes(result)
	for _, fault := range result.faults {
		fmt.Fprintln(i.streams.Err, "error: "+console.EscapeControls(fault.Error()))
	}
	failed := len(result.faults) > 0 && !i.keepGoing
	if failed && !i.output.JSON {
		fmt.Fprintf(i.streams.Err, "Nothing was written. Mend %s, or convert the rest with --keep-going.\n", oneOrMany(len(result.faults), "this", "these"))
		return &exitcode.Error{Code: exitcode.Failed}
	}
	if err := i.write(result); err != nil {
		return err
	}
	if !i.output.JSON {
		fmt.Fprintf(i.streams.Err, "%d %s. With them in a file: carillon up -f FILE runs them, carillon next -f FILE shows when.\n",
			len(result.documents), oneOrMany(len(result.documents), "object", "objects"))
	}
	if len(result.faults) > 0 {
		return &exitcode.Error{Code: exitcode.Failed}
	}
	return nil
}

func (i *imports) tellNotes(result importResult) {
	for _, note := range manifests.Group(result.notes) {
		fmt.Fprintln(i.streams.Err, "note: "+console.EscapeControls(note.String()))
	}
}

func (i *imports) write(result importResult) error {
	if !i.output.JSON {
		text, err := manifests.Write(result.head, result.documents, result.tail)
		if err != nil {
			return err
		}
		_, err = i.streams.Out.Write(text)
		return err
	}
	answer := imported{document: newDocument("Import"), Objects: []json.RawMessage{}, Notes: []manifests.Note{}, Errors: []string{}}
	for _, d := range result.documents {
		object, err := d.JSON()
		if err != nil {
			return err
		}
		answer.Objects = append(answer.Objects, object)
	}
	answer.Notes = append(answer.Notes, result.notes...)
	for _, fault := range result.faults {
		answer.Errors = append(answer.Errors, fault.Error())
	}
	return output.WriteJSON(i.streams.Out, answer)
}

func oneOrMany(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// largestImport is how much is read of one file.
const largestImport = 16 << 20

// readText reads a file, or standard input for "-".
func (i *imports) readText(file string) (string, error) {
	from := i.streams.In
	if file != "-" {
		opened, err := os.Open(file)
		if err != nil {
			return "", exitcode.UsageError("%w", fileError(err))
		}
		defer opened.Close()
		from = opened
	}
	data, err := io.ReadAll(io.LimitReader(from, largestImport+1))
	if err != nil {
		return "", exitcode.UsageError("%w", fileError(err))
	}
	if len(data) > largestImport {
		return "", exitcode.UsageError("%s has more than %d MiB: is it the right file?", file, largestImport>>20)
	}
	return string(data), nil
}

// fileError is an error about a file without the name of the system call.
func fileError(err error) error {
	if path, ok := errors.AsType[*os.PathError](err); ok {
		return fmt.Errorf("%s: %w", path.Path, path.Err)
	}
	return err
}

// wordFlag is a flag that takes one of some words.
type wordFlag struct {
	value *string
	words []string
}

var _ pflag.Value = wordFlag{}

func (o wordFlag) String() string {
	if o.value == nil {
		return ""
	}
	return *o.value
}

func (o wordFlag) Type() string { return strings.Join(o.words, "|") }

func (o wordFlag) Set(text string) error {
	for _, word := range o.words {
		if text == word {
			*o.value = text
			return nil
		}
	}
	return fmt.Errorf("it is %s", strings.Join(o.words, " or "))
}
