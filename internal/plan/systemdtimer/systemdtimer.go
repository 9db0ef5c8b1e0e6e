// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package systemdtimer makes Timetables, or CronJobs, of systemd's timers and the services that they start.
//
//	systemdtimer.go  Convert: a timer and its service become an object
//	unitfile.go      unit files
//	calendar.go      OnCalendar=, weekday.go its days of the week
//	span.go          lengths of time
//	specifier.go     %i and its like
//	command.go       ExecStart=
//	timer.go         when: the timer's settings
//	service.go       what: the service's settings
//
// Nothing here reads a file, a clock or who the users of this machine are.
package systemdtimer

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/carillon-dev/carillon/internal/plan/conversion"
	"github.com/carillon-dev/carillon/internal/plan/crontab"
	"github.com/carillon-dev/carillon/internal/plan/document"
	"github.com/carillon-dev/carillon/schedule"
)

// A Unit is a unit as it was found.
type Unit struct {
	// Name is the unit's: "backup@home.timer".
	Name string
	// File is where it stands, Text what stands there, with its drop-ins behind it.
	File, Text string
}

// ServiceOf is the name of the service that a timer starts.
func ServiceOf(timer Unit) (string, error) {
	file, err := readUnitFile(timer.Text)
	if err != nil {
		return "", fmt.Errorf("%s: %w", timer.File, err)
	}
	named := file.last("Timer.Unit")
	if named == "" {
		return strings.TrimSuffix(timer.Name, ".timer") + ".service", nil
	}
	if !strings.HasSuffix(named, ".service") {
		return "", fmt.Errorf("%s: Unit=%s is no service, and only what a service starts can become a Job", timer.File, named)
	}
	return specifiers(timer.Name).expand(named)
}

// Options say how timers are converted.
type Options struct {
	// CronJob makes CronJobs, of timers of which a CronJob can say all; else Timetables are made.
	CronJob bool
	// Zone is the time zone of the machine; "" is UTC.
	Zone string
	// Now is from when changes of the clock are looked for.
	Now time.Time
	// Account finds a user of the machine by name; nil if none is known.
	Account func(name string) (crontab.Account, bool)
	// IsDirectory tells whether the machine has a directory; nil takes each to be there.
	IsDirectory func(path string) bool
	// Names are those that other objects have; Convert adds its own.
	Names crontab.Names
}

// A Result is what became of a timer.
type Result struct {
	// Documents is the object; none if nothing was made of the timer.
	Documents []document.Document
	// Notes are what the user should know of it; they are among its comments, too.
	Notes []document.Note
}

// Convert makes an object of a timer and its service. The error joins what cannot be read or said, each with its file.
func Convert(timer, service Unit, o Options) (Result, error) {
	if o.Zone == "" {
		o.Zone = "UTC"
	}
	if o.Names == nil {
		o.Names = crontab.Names{}
	}
	c := &converter{options: o, timer: timer, service: service}
	timerFile, err := readUnitFile(timer.Text)
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w", timer.File, err)
	}
	serviceFile, err := readUnitFile(service.Text)
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w", service.File, err)
	}
	when, err := c.when(timerFile)
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w", timer.File, err)
	}
	if when == nil {
		for n := range c.notes {
			c.notes[n].Object = ""
		}
		return Result{Notes: c.notes}, nil
	}
	c.rest(timer.File, timerFile, understoodOfTimer)
	wanted := nameOf(timer.Name)
	c.name = o.Names.Take(wanted)
	pod, job, err := c.what(serviceFile)
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w", service.File, err)
	}
	content := document.Map(
		"apiVersion", "batch.carillon.dev/v1alpha1",
		"kind", "Timetable",
		"metadata", document.Map("name", c.name),
		"spec", c.spec(when, job, pod),
	)
	reference := "timetable/" + c.name
	if o.CronJob {
		reference = "cronjob/" + c.name
		got, err := conversion.Convert(content, conversion.Options{To: conversion.CronJob, Now: o.Now})
		if err != nil {
			return Result{}, fmt.Errorf("%s: %w", timer.File, err)
		}
		content = got.Content
	}
	comments := []string{timer.Name}
	if description, err := specifiers(timer.Name).expand(timerFile.last("Unit.Description")); err == nil && description != "" {
		comments[0] += ": " + description
	}
	for n := range c.notes {
		c.notes[n].Object = reference
		comments = append(comments, c.notes[n].Comment()...)
	}
	return Result{Documents: []document.Document{{Comments: comments, Content: content}}, Notes: c.notes}, nil
}

// A converter is the work on one timer.
type converter struct {
	options        Options
	timer, service Unit
	name           string
	notes          []document.Note
}

func (c *converter) note(file, format string, args ...any) {
	c.notes = append(c.notes, document.Note{File: file, Text: fmt.Sprintf(format, args...)})
}

// spec is that of a Timetable. A unit that is active is not started again: a time that comes meanwhile is passed over.
func (c *converter) spec(when *timing, job []any, pod *yaml.Node) *yaml.Node {
	var jitter, deadline, dst any
	if when.calendar && c.clockChanges(when.zone) { // systemd passes a time over that does not exist
		dst = document.Flow(document.Map("gap", "Skip"))
	}
	if when.jitter != "" {
		jitter = when.jitter
	}
	catchUp := document.Flow(document.Map("policy", "None"))
	concurrency := document.Flow(document.Map("policy", "Queue", "queueLimit", 0))
	if when.persistent {
		catchUp = document.Flow(document.Map("policy", "Latest"))
	}
	if c.options.CronJob { // which says the same in its own words
		concurrency = document.Flow(document.Map("policy", "Forbid"))
		catchUp = nil
		if !when.persistent {
			deadline = "1m"
		}
		dst = document.Flow(document.Map("gap", "Skip", "overlap", "Both"))
	}
	return document.Map(
		"schedules", when.schedules,
		"timeZone", when.zone,
		"dst", dst,
		"jitter", jitter,
		"startingDeadline", deadline,
		"catchUp", orNothing(catchUp),
		"concurrency", concurrency,
		"template", document.Map("spec", document.Map(append(job, "template", document.Map("spec", pod))...)),
	)
}

// clockChanges tells whether the clock of a zone changes within the next years.
func (c *converter) clockChanges(zone string) bool {
	location, err := schedule.LoadZone(zone)
	if err != nil {
		return false
	}
	_, change, _ := schedule.ClockOf(location).Stretch(c.options.Now.Unix())
	return change < c.options.Now.AddDate(2, 0, 0).Unix()
}

func orNothing(node *yaml.Node) any {
	if node == nil {
		return nil
	}
	return node
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

func nameOf(unit string) string {
	name := strings.Trim(notInNames.ReplaceAllString(strings.ToLower(strings.TrimSuffix(unit, ".timer")), "-"), "-")
	const longest = 52
	if name = strings.TrimRight(name[:min(len(name), longest)], "-"); name == "" {
		return "timer"
	}
	return name
}
