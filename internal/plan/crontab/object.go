// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package crontab

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/carillon-dev/carillon/internal/plan/document"
	"github.com/carillon-dev/carillon/schedule"
)

// deadline is how many seconds a start may be late: cron makes nothing up that was due while the machine was off.
const deadline = 60

// add makes the object of an entry.
func (c *converter) add(e *entry) {
	zone, err := schedule.LoadZone(c.zone)
	if err != nil {
		c.fault(e.number, e.text, err)
		return
	}
	read, err := schedule.Compile(schedule.Item{Cron: e.timing.cron}, schedule.Options{Zone: zone, DayRule: e.timing.dayRule()})
	if err != nil {
		c.fault(e.number, e.text, err)
		return
	}
	if read.Next(c.options.Now).IsZero() {
		c.pending = append(c.pending, e.text)
		c.tell(e.number, fmt.Sprintf("there is no day that matches %s, so this entry never runs, and nothing was made of it", e.timing.cron))
		return
	}
	timetable := c.options.Kind == Timetable || e.timing.both
	name := c.names.Take(nameOf(e.command.text))
	notes := slices.Clone(e.notes)
	pod, podNotes := c.pod(e, name)
	notes = append(notes, podNotes...)
	var content *yaml.Node
	if timetable {
		content = c.timetable(e, name, pod)
	} else {
		if day, skipped, ok := e.timing.clockChange(zone, c.options.Now); ok {
			what := "it runs twice"
			if skipped {
				what = "it does not run"
			}
			notes = append(notes, fmt.Sprintf("on days on which the clocks change a CronJob is not like cron: %s on %s, cron would run it once; "+
				"with --kind timetable it runs once", what, day.Format("2006-01-02")))
		}
		content = c.cronJob(e, name, pod)
	}
	reference := "cronjob/" + name
	if timetable {
		reference = "timetable/" + name
	}
	comments := append(c.pending, fmt.Sprintf("%s:%d: %s", path.Base(c.options.File), e.number, e.text))
	for _, text := range notes {
		note := document.Note{File: c.options.File, Line: e.number, Object: reference, Text: text}
		c.result.Notes = append(c.result.Notes, note)
		comments = append(comments, note.Comment()...)
	}
	c.result.Documents = append(c.result.Documents, document.Document{Comments: comments, Content: content})
	c.pending = nil
}

func (t timing) dayRule() schedule.DayRule {
	if t.both {
		return schedule.DayRuleBoth
	}
	return schedule.DayRuleEither
}

func (c *converter) cronJob(e *entry, name string, pod *yaml.Node) *yaml.Node {
	concurrency := "Allow"
	if e.single {
		concurrency = "Forbid"
	}
	return document.Map(
		"apiVersion", "batch/v1",
		"kind", "CronJob",
		"metadata", document.Map("name", name),
		"spec", document.Map(
			"schedule", document.Quoted(e.timing.cron),
			"timeZone", c.zone,
			"concurrencyPolicy", concurrency,
			"startingDeadlineSeconds", deadline,
			"jobTemplate", document.Map("spec", jobSpec(pod)),
		),
	)
}

func (c *converter) timetable(e *entry, name string, pod *yaml.Node) *yaml.Node {
	item := document.Map("cron", document.Quoted(e.timing.cron))
	if e.timing.both {
		item = document.Map("cron", document.Quoted(e.timing.cron), "dayRule", "Both")
	}
	var dst, jitter, concurrency any
	if e.timing.flows && !e.timing.hourFlows {
		dst = document.Flow(document.Map("gap", "Skip", "overlap", "Both"))
	}
	if c.delay > 0 {
		jitter = fmt.Sprintf("%dm", c.delay)
	}
	if !e.single {
		concurrency = document.Flow(document.Map("policy", "Allow"))
	}
	return document.Map(
		"apiVersion", "batch.carillon.dev/v1alpha1",
		"kind", "Timetable",
		"metadata", document.Map("name", name),
		"spec", document.Map(
			"schedules", document.List(item),
			"timeZone", c.zone,
			"dst", dst,
			"jitter", jitter,
			"startingDeadline", fmt.Sprintf("%ds", deadline),
			"concurrency", concurrency,
			"template", document.Map("spec", jobSpec(pod)),
		),
	)
}

func jobSpec(pod *yaml.Node) *yaml.Node {
	return document.Map("backoffLimit", 0, "template", document.Map("spec", pod))
}

// pod is the Pod of an entry: its command on the machine's own files, as cron runs it.
func (c *converter) pod(e *entry, name string) (*yaml.Node, []string) {
	var notes []string
	var security any
	user, home := c.options.User, c.options.Home
	if c.system {
		user, home = e.user, ""
		if account, ok := c.account(e.user); ok {
			home = account.Home
			security = document.Map("runAsUser", account.UID)
			notes = append(notes, runsAs(e.user, account.UID))
		} else if e.user != "root" {
			notes = append(notes, fmt.Sprintf("it ran as %s, whom this machine does not know: it runs as whoever starts carillon up, "+
				"unless you add securityContext: {runAsUser: NUMBER}", e.user))
		} else {
			security = document.Map("runAsUser", 0)
			notes = append(notes, runsAs(e.user, 0))
		}
	}
	environment := c.environment.asOf(user, home)
	if user == "" {
		notes = append(notes, "LOGNAME and USER are not set, because it is not known whose crontab this is; cron sets them")
	}
	var directory any
	if home = environment.get("HOME"); strings.HasPrefix(home, "/") {
		directory = home
		if c.options.IsDirectory != nil && !c.options.IsDirectory(home) {
			directory = "/"
			notes = append(notes, "there is no directory "+home+" here, so the command begins in /; if there will be, write it as workingDir")
		}
	}
	shell := cmp.Or(c.environment.get("SHELL"), "/bin/sh")
	if !strings.HasPrefix(shell, "/") {
		notes = append(notes, "SHELL="+shell+" is found by PATH here; cron wants its whole path")
	}
	if wrapped := lockOf(e.command.text); wrapped != "" {
		notes = append(notes, "the command keeps itself from running twice at once ("+wrapped+"); concurrencyPolicy: Forbid would do that without it, and tell")
	}
	argv := e.command.argv(shell)
	command := document.List()
	for n, argument := range argv {
		if n == len(argv)-1 || n > 1 {
			argument = environment.literally(argument, true)
		}
		command.Content = append(command.Content, document.Value(argument))
	}
	container := document.Map(
		"name", name,
		"image", "host",
		"command", command,
		"workingDir", directory,
		"env", nilable(environment.ofContainer()),
	)
	return document.Map(
		"runtimeClassName", "host",
		"restartPolicy", "Never",
		"securityContext", security,
		"containers", document.List(container),
	), notes
}

func runsAs(name string, uid int64) string {
	if uid == 0 {
		return "it runs as root, so carillon up must be started by root (sudo carillon up)"
	}
	return fmt.Sprintf("it runs as %s (%d), so carillon up must be started by root, or by %s", name, uid, name)
}

func nilable(node *yaml.Node) any {
	if node == nil {
		return nil
	}
	return node
}

// lockOf names the program with which a command keeps itself from running twice; "" if there is none.
func lockOf(command string) string {
	for _, word := range words(command) {
		if base := path.Base(word); slices.Contains([]string{"flock", "lckdo", "setlock", "lockf", "solo", "run-one", "cronlock", "lockrun"}, base) {
			return base
		}
	}
	return ""
}
