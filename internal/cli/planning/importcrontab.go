// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"path"
	"strings"

	"github.com/spf13/cobra"

	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/client/exitcode"
	"github.com/carillon-dev/carillon/internal/plan/crontab"
	manifests "github.com/carillon-dev/carillon/internal/plan/document"
)

func newImportCrontab(streams Streams, m machine) *cobra.Command {
	i := &importCrontab{imports: imports{streams: streams, machine: m}, kind: "cronjob"}
	cmd := &cobra.Command{
		Use:   "crontab [FILE|-]...",
		Short: "Make CronJobs of a crontab",
		Long: `Make a CronJob of each line of a crontab: the same commands, at the same times, on this machine's own files.
Comments and the order of lines stay. Settings (PATH=, MAILTO=, CRON_TZ=), input behind %, @daily and its like are
understood; what a CronJob cannot do is told, with what to do instead.

The manifest goes to standard output, what there is to tell to standard error. A line that is not understood is named
with its cure, and nothing is written; with --keep-going the other lines are. Both have exit code 1.

A crontab of the system (/etc/crontab, /etc/cron.d/*) names a user before each command. It is known by its path, by a
comment that names that column, or, in a file, by a user's name in each line; --system and --user say it. Standard input
is the crontab of a user else.

Times are in the time zone of this machine (TZ, /etc/localtime, /etc/timezone), unless --zone or CRON_TZ names one.`,
		Example: `  crontab -l | carillon import crontab - > jobs.yaml && carillon up -f jobs.yaml

  carillon import crontab /etc/crontab /etc/cron.d/* > system.yaml
  sudo carillon up -f system.yaml

  # Timetables keep cron's ways on the days the clock changes, and RANDOM_DELAY
  crontab -l | carillon import crontab - --kind timetable > jobs.yaml`,
		RunE: func(_ *cobra.Command, args []string) error { return i.run(args) },
	}
	i.add(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&i.system, "system", false, "each line names a user before the command, as in /etc/crontab")
	flags.BoolVar(&i.user, "user", false, "no line names a user, as in what crontab -l shows")
	flags.Var(wordFlag{&i.kind, []string{"cronjob", "timetable"}}, "kind", "what to make of a line")
	cmd.MarkFlagsMutuallyExclusive("system", "user")
	_ = cmd.RegisterFlagCompletionFunc("kind", cobra.FixedCompletions([]string{"cronjob", "timetable"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

type importCrontab struct {
	imports
	system, user bool
	kind         string
}

func (i *importCrontab) run(files []string) error {
	if len(files) == 0 {
		if console.IsTerminal(i.streams.In) {
			return exitcode.UsageError("which crontab? Yours: crontab -l | carillon import crontab -    The system's: carillon import crontab /etc/crontab")
		}
		files = []string{"-"}
	}
	zone, sentence, guess, err := i.theZone()
	if err != nil {
		return err
	}
	options := crontab.Options{
		Kind: crontab.CronJob, Zone: zone, Now: i.machine.now(), Account: i.machine.account,
		User: i.machine.user, Home: i.machine.home, IsDirectory: i.machine.isDirectory, Names: crontab.Names{},
	}
	if i.kind == "timetable" {
		options.Kind = crontab.Timetable
	}
	var all importResult
	if guess {
		all.notes = append(all.notes, manifests.Note{Text: sentence})
	}
	for _, file := range files {
		text, err := i.readText(file)
		if err != nil {
			return err
		}
		options.File, options.Form = file, i.form(file)
		if file == "-" {
			options.File = "crontab"
		}
		got := crontab.Convert(text, options)
		if len(got.Documents) == 0 && len(got.Faults) == 0 && len(files) == 1 {
			all.notes = append(all.notes, got.Notes...)
			return i.nothing(all, options.File)
		}
		all.merge(got)
	}
	if len(all.documents) == 0 && len(all.faults) == 0 {
		return i.nothing(all, strings.Join(files, ", "))
	}
	all.head = append(crontab.Header(strings.Join(sourceNames(files), ", "), options.Kind, sentence), all.head...)
	return i.answer(all)
}

func sourceNames(files []string) []string {
	var names []string
	for _, file := range files {
		if file == "-" {
			file = "a crontab"
		}
		names = append(names, file)
	}
	return names
}

// nothing says that there is nothing to import.
func (i *importCrontab) nothing(result importResult, what string) error {
	i.tellNotes(result)
	return exitcode.UsageError("%s has no entry of which an object could be made; crontab -l shows yours", what)
}

// form is that of a crontab by its path, or as flags say.
func (i *importCrontab) form(file string) crontab.Form {
	switch {
	case i.system:
		return crontab.System
	case i.user:
		return crontab.User
	case file == "-":
		return crontab.UserUnlessTold
	case path.Base(path.Dir(file)) == "cron.d" || path.Base(file) == "crontab" && path.Base(path.Dir(file)) == "etc":
		return crontab.System
	case strings.Contains(file, "/spool/cron/"):
		return crontab.User
	}
	return crontab.Detect
}

// merge adds what became of a further crontab. Its comments at the head stand before its first object.
func (r *importResult) merge(got crontab.Result) {
	switch {
	case len(r.documents) == 0 && len(r.tail) == 0:
		r.head = append(r.head, got.Head...)
	case len(got.Documents) > 0:
		first := &got.Documents[0]
		first.Comments = append(append(append([]string(nil), r.tail...), got.Head...), first.Comments...)
		r.tail = nil
	default:
		r.tail = append(r.tail, got.Head...)
	}
	r.documents = append(r.documents, got.Documents...)
	r.tail = append(r.tail, got.Tail...)
	r.notes = append(r.notes, got.Notes...)
	for _, fault := range got.Faults {
		r.faults = append(r.faults, fault)
	}
}
