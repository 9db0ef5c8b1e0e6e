// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/cli/output"
	"github.com/carillon-dev/carillon/internal/client/exitcode"
	"github.com/carillon-dev/carillon/internal/client/zones"
	"github.com/carillon-dev/carillon/internal/plan/conversion"
	manifests "github.com/carillon-dev/carillon/internal/plan/document"
	"github.com/carillon-dev/carillon/schedule"
)

func newConvert(streams Streams) *cobra.Command { return newConvertAt(streams, time.Now) }

func newConvertAt(streams Streams, now func() time.Time) *cobra.Command {
	c := &convert{streams: streams, now: now}
	cmd := &cobra.Command{
		Use:   "convert [cronjob/NAME | timetable/NAME]...",
		Short: "Make Timetables of CronJobs, or CronJobs of Timetables",
		Long: `Make a Timetable of each CronJob, with the same times and the same policies; or a CronJob of each Timetable that says
nothing a CronJob cannot. Of one that does, what would be lost is listed, and nothing is written (exit code 1).

Objects come from manifests (-f), of which other objects pass through and comments stay, or from an API server. The
new manifest goes to standard output. What there is to know of an object stands above it as a comment.

A Timetable's own defaults differ from a CronJob's (once a day on the days the clocks change, no overlap, nothing made
up at a resume), so a CronJob's are written out; --defaults leaves them out where the CronJob did not choose.`,
		Example: `  carillon convert -f cronjob.yaml --to timetable > timetable.yaml
  carillon convert -f cronjob.yaml --to timetable --time-zone Europe/Rome --defaults

  carillon convert -f timetable.yaml --to cronjob
  carillon convert -f old/ --to batch/v1 > new.yaml

  # of a CronJob that runs: @every goes on from its last run
  carillon convert cronjob/backup --to timetable --context production`,
		RunE:              func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	c.input.add(cmd)
	c.output.Add(cmd, docsPage)
	flags := cmd.Flags()
	flags.Var(wordFlag{&c.to, convertTargets}, "to", "what to make: timetable of CronJobs, cronjob of Timetables, batch/v1 of batch/v1beta1")
	flags.StringVar(&c.zone, "time-zone", "", "time zone of CronJobs that name none (default UTC)")
	flags.BoolVar(&c.defaults, "defaults", false, "leave what a CronJob did not choose to the defaults of a Timetable")
	_ = cmd.RegisterFlagCompletionFunc("to", cobra.FixedCompletions(convertTargets, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("time-zone", zones.Complete)
	return cmd
}

var convertTargets = []string{string(conversion.Timetable), string(conversion.CronJob), string(conversion.V1)}

type convert struct {
	streams  Streams
	now      func() time.Time
	input    input
	output   output.Flag
	to, zone string
	defaults bool
}

// A written object is one of a manifest, with where it stands.
type written struct {
	node *yaml.Node
	file string
	line int
	// above and below are the comments of its document that belong to none of its fields.
	above, below string
}

// with gives a document with the comments that stood around the object; those above it before what is told of it.
func (w written) with(d manifests.Document) manifests.Document {
	around := &yaml.Node{Kind: yaml.DocumentNode, HeadComment: w.above, FootComment: w.below, Content: []*yaml.Node{d.Content}}
	if len(d.Comments) > 0 && w.above != "" {
		around.HeadComment = ""
		var lines []string
		for line := range strings.SplitSeq(w.above, "\n") {
			lines = append(lines, strings.TrimPrefix(strings.TrimPrefix(line, "#"), " "))
		}
		d.Comments = append(append(lines, ""), d.Comments...)
	}
	if around.HeadComment != "" || around.FootComment != "" {
		d.Content = around
	}
	return d
}

// converted is what convert writes with -o json.
type converted struct {
	document
	Objects []json.RawMessage `json:"objects"`
	Notes   []manifests.Note  `json:"notes"`
	Losses  []convertedLoss   `json:"losses"`
}

// A convertedLoss is an object that cannot be converted, with where it stands.
type convertedLoss struct {
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	conversion.Loss
}

func (c *convert) run(ctx context.Context, args []string) error {
	if c.to == "" {
		return exitcode.UsageError("to what? Say --to timetable, --to cronjob or --to batch/v1")
	}
	if c.zone != "" {
		if _, err := schedule.LoadZone(c.zone); err != nil || strings.EqualFold(c.zone, "local") {
			return exitcode.UsageError("--time-zone: %q is no time zone; write a name such as Europe/Rome", c.zone)
		}
	}
	if len(args) == 0 && !c.input.given() {
		return exitcode.UsageError("convert what? Name manifests with -f, or cronjob/NAME and an API server with --context")
	}
	objects, err := c.objects(ctx, args)
	if err != nil {
		return err
	}
	answer := converted{document: newDocument("Conversion"), Objects: []json.RawMessage{}, Notes: []manifests.Note{}, Losses: []convertedLoss{}}
	var documents []manifests.Document
	var faults []error
	changed := 0
	made := map[string]written{} // what was made
	for _, object := range objects {
		result, err := conversion.Convert(object.node, conversion.Options{To: conversion.Target(c.to), TimeZone: c.zone, Defaults: c.defaults, Now: c.now()})
		if loss, ok := errors.AsType[*conversion.Loss](err); ok {
			answer.Losses = append(answer.Losses, convertedLoss{object.file, object.line, *loss})
			continue
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("%s%s: %w", object.where(), result.Reference, err))
			continue
		}
		if result.Changed {
			changed++
		}
		for _, text := range result.Notes {
			answer.Notes = append(answer.Notes, manifests.Note{File: object.file, Line: object.line, Object: result.Reference, Text: text})
		}
		identity := result.Identity()
		if other, ok := made[identity]; ok && conversion.ReferenceOf(other.node) != conversion.ReferenceOf(object.node) {
			faults = append(faults, fmt.Errorf("%s%s: this would be the name of two objects, here and at %s; rename one of them, or write it into a file of its own",
				object.where(), result.Reference, strings.TrimSuffix(other.where(), ": ")))
			continue
		}
		if identity != "" {
			made[identity] = object
		}
		documents = append(documents, object.with(result.Document()))
	}
	if len(faults) > 0 {
		return &exitcode.Error{Code: exitcode.Usage, Err: errors.Join(faults...)}
	}
	return c.answer(answer, documents, changed)
}

func (w written) where() string {
	if w.file == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d: ", w.file, w.line)
}

func (c *convert) answer(answer converted, documents []manifests.Document, changed int) error {
	if c.output.JSON {
		for _, d := range documents {
			object, err := d.JSON()
			if err != nil {
				return err
			}
			answer.Objects = append(answer.Objects, object)
		}
		if err := output.WriteJSON(c.streams.Out, answer); err != nil {
			return err
		}
		if len(answer.Losses) > 0 {
			return &exitcode.Error{Code: exitcode.Failed}
		}
		return nil
	}
	for _, note := range manifests.Group(answer.Notes) {
		fmt.Fprintln(c.streams.Err, "note: "+console.EscapeControls(note.String()))
	}
	for _, loss := range answer.Losses {
		where := written{file: loss.File, line: loss.Line}.where()
		fmt.Fprintln(c.streams.Err, "error: "+console.EscapeControls(where+loss.Reference)+" says what a CronJob cannot, and would lose it:")
		for _, lost := range loss.Lost {
			fmt.Fprintln(c.streams.Err, "  "+console.EscapeControls(lost))
		}
	}
	if len(answer.Losses) > 0 {
		fmt.Fprintln(c.streams.Err, "Nothing was written.")
		return &exitcode.Error{Code: exitcode.Failed}
	}
	if changed == 0 {
		fmt.Fprintf(c.streams.Err, "There is nothing to make a %s of; the objects are as they were.\n", c.to)
	}
	text, err := manifests.Write(nil, documents, nil)
	if err != nil {
		return err
	}
	_, err = c.streams.Out.Write(text)
	return err
}
