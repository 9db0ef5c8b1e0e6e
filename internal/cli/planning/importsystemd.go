// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/carillon-dev/carillon/internal/client/exitcode"
	"github.com/carillon-dev/carillon/internal/plan/conversion"
	"github.com/carillon-dev/carillon/internal/plan/crontab"
	manifests "github.com/carillon-dev/carillon/internal/plan/document"
	"github.com/carillon-dev/carillon/internal/plan/systemdtimer"
)

func newImportSystemd(streams Streams, m machine) *cobra.Command {
	i := &importSystemd{imports: imports{streams: streams, machine: m}, kind: "timetable", directories: unitDirectories}
	cmd := &cobra.Command{
		Use:   "systemd UNIT.timer...",
		Short: "Make Timetables of systemd's timers",
		Long: `Make a Timetable of each timer of systemd and the service that it starts: the same times (OnCalendar= with all that it
can say), the same commands, on this machine's own files.

A unit is a file, or the name of one in /etc/systemd/system, /run/systemd/system, /usr/lib/systemd/system or
/lib/systemd/system. The service stands beside the timer or in one of these; it may be given, too. Drop-ins
(UNIT.d/*.conf in any of these) are read. An instance is named as systemd does: backup@home.timer.

The manifest goes to standard output. What is not kept is told on standard error and above its object. When something
cannot be read, nothing is written; with --keep-going the other timers are. Both have exit code 1.`,
		Example: `  carillon import systemd logrotate.timer > timers.yaml && sudo carillon up -f timers.yaml
  carillon import systemd /etc/systemd/system/*.timer > timers.yaml
  carillon import systemd ./backup@.timer --kind cronjob
  carillon import systemd 'backup@home.timer' --zone Europe/Rome`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return exitcode.UsageError("which timers? systemctl list-timers names those of this machine; write one, such as logrotate.timer")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return i.run(args) },
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"timer"}, cobra.ShellCompDirectiveFilterFileExt
		},
	}
	i.add(cmd)
	cmd.Flags().Var(wordFlag{&i.kind, []string{"timetable", "cronjob"}}, "kind", "what to make of a timer")
	_ = cmd.RegisterFlagCompletionFunc("kind", cobra.FixedCompletions([]string{"timetable", "cronjob"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// unitDirectories are where the units of a machine are, the first first.
var unitDirectories = []string{"/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"}

type importSystemd struct {
	imports
	kind        string
	directories []string
}

func (i *importSystemd) run(args []string) error {
	zone, sentence, guess, err := i.theZone()
	if err != nil {
		return err
	}
	options := systemdtimer.Options{
		CronJob: i.kind == "cronjob", Zone: zone, Now: i.machine.now(), Account: i.machine.account,
		IsDirectory: i.machine.isDirectory, Names: crontab.Names{},
	}
	all := importResult{head: append(manifests.Wrap("Made of "+strings.Join(shortArgs(args), ", ")+" by carillon import systemd. To run it:", "  "),
		"  carillon up -f THIS-FILE", "")}
	all.head = append(append(all.head, manifests.Wrap(sentence, "  ")...), "")
	if guess {
		all.notes = append(all.notes, manifests.Note{Text: sentence})
	}
	services := map[string]string{} // files that were given, by name
	for _, arg := range args {
		if filepath.Ext(arg) == ".service" {
			services[filepath.Base(arg)] = arg
		}
	}
	timers := 0
	for _, arg := range args {
		if filepath.Ext(arg) == ".service" {
			continue
		}
		if filepath.Ext(arg) != ".timer" {
			return exitcode.UsageError("%s is no timer: its name ends with .timer", arg)
		}
		timers++
		if err := i.timer(arg, services, options, &all); err != nil {
			if !i.keepGoing {
				return err
			}
			all.fail(filepath.Base(arg), err)
		}
	}
	if timers == 0 {
		return exitcode.UsageError("there are services alone; name the timers that start them")
	}
	if len(all.documents) == 0 && len(all.faults) == 0 {
		i.tellNotes(all)
		return exitcode.UsageError("nothing was made of %s", strings.Join(shortArgs(args), ", "))
	}
	return i.answer(all)
}

// shortArgs are the names of the first units.
func shortArgs(args []string) []string {
	const most = 4
	var names []string
	for n, arg := range args {
		if n == most {
			return append(names, "…")
		}
		names = append(names, filepath.Base(arg))
	}
	return names
}

// timer converts one timer. Its error is that of a file that cannot be read; what it says is at fault is collected.
func (i *importSystemd) timer(arg string, services map[string]string, options systemdtimer.Options, all *importResult) error {
	timer, err := i.unit(arg, i.places(""))
	if err != nil {
		return err
	}
	name, err := systemdtimer.ServiceOf(timer)
	if err != nil {
		all.fail(timer.Name, err)
		return nil
	}
	var service systemdtimer.Unit
	if given, ok := services[name]; ok {
		service, err = i.unit(given, nil)
	} else {
		service, err = i.unit(name, i.places(filepath.Dir(timer.File)))
	}
	if err != nil {
		all.fail(timer.Name, fmt.Errorf("%s: it starts %s: %w", timer.File, name, err))
		return nil
	}
	got, err := systemdtimer.Convert(timer, service, options)
	if loss, ok := errors.AsType[*conversion.Loss](err); ok {
		var lost []error
		for _, text := range loss.Lost {
			lost = append(lost, errors.New(timer.File+": a CronJob cannot say this (--kind timetable can): "+text))
		}
		all.fail(timer.Name, lost...)
		return nil
	}
	if err != nil {
		all.fail(timer.Name, err)
		return nil
	}
	if len(got.Documents) > 0 && len(all.tail) > 0 {
		first := &got.Documents[0]
		first.Comments, all.tail = append(append(all.tail, ""), first.Comments...), nil
	}
	all.documents = append(all.documents, got.Documents...)
	all.notes = append(all.notes, got.Notes...)
	return nil
}

// fail collects what is wrong with a timer, which becomes a comment where its object would stand.
func (r *importResult) fail(timer string, faults ...error) {
	if len(r.tail) > 0 {
		r.tail = append(r.tail, "")
	}
	r.tail = append(r.tail, timer)
	for _, fault := range faults {
		r.faults = append(r.faults, fault)
		r.tail = append(r.tail, manifests.Wrap("Not converted: "+fault.Error(), "  ")...)
	}
}

// places are the directories in which units are looked for.
func (i *importSystemd) places(first string) []string {
	if first == "" {
		return i.directories
	}
	return append([]string{first}, i.directories...)
}

// unit reads a unit by its file or its name, with its drop-ins. That of an instance is the template's.
func (i *importSystemd) unit(arg string, places []string) (systemdtimer.Unit, error) {
	name := filepath.Base(arg)
	files := []string{arg}
	if !strings.ContainsRune(arg, filepath.Separator) {
		for _, place := range places {
			files = append(files, filepath.Join(place, name))
		}
	}
	template := ""
	if prefix, after, ok := strings.Cut(name, "@"); ok && !strings.HasPrefix(after, ".") {
		template = prefix + "@" + filepath.Ext(name)
		for _, file := range files[:len(files):len(files)] {
			files = append(files, filepath.Join(filepath.Dir(file), template))
		}
	}
	for _, file := range files {
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		text, err := i.readText(file)
		if err != nil {
			return systemdtimer.Unit{}, err
		}
		dropIns, err := i.dropIns(append(i.directories[:len(i.directories):len(i.directories)], filepath.Dir(file)), name, template)
		if err != nil {
			return systemdtimer.Unit{}, err
		}
		text += dropIns
		return systemdtimer.Unit{Name: name, File: file, Text: text}, nil
	}
	return systemdtimer.Unit{}, exitcode.UsageError("there is no %s here, nor among the units of this machine; name its file", arg)
}

// dropIns are the texts of the drop-ins of a unit, in the order of their files' names. Of files with one name the first
// counts: that of the unit before that of its template, and of these the one in the first directory.
func (i *importSystemd) dropIns(directories []string, units ...string) (string, error) {
	found := map[string]string{}
	for _, unit := range units {
		if unit == "" {
			continue
		}
		for _, directory := range directories {
			files, err := os.ReadDir(filepath.Join(directory, unit+".d"))
			if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
				return "", exitcode.UsageError("%w", fileError(err))
			}
			for _, file := range files {
				name := file.Name()
				if _, ok := found[name]; !ok && filepath.Ext(name) == ".conf" {
					found[name] = filepath.Join(directory, unit+".d", name)
				}
			}
		}
	}
	text := ""
	for _, name := range slices.Sorted(maps.Keys(found)) {
		more, err := i.readText(found[name])
		if err != nil {
			return "", err
		}
		text += "\n" + more
	}
	return text, nil
}
