// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/cli/exitcode"
	"github.com/carillon-dev/carillon/internal/cli/manifest"
	"github.com/carillon-dev/carillon/internal/plan/conversion"
	manifests "github.com/carillon-dev/carillon/internal/plan/document"
	"github.com/carillon-dev/carillon/internal/plan/workload"
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
	c.output.add(cmd)
	flags := cmd.Flags()
	flags.Var(wordFlag{&c.to, convertTargets}, "to", "what to make: timetable of CronJobs, cronjob of Timetables, batch/v1 of batch/v1beta1")
	flags.StringVar(&c.zone, "time-zone", "", "time zone of CronJobs that name none (default UTC)")
	flags.BoolVar(&c.defaults, "defaults", false, "leave what a CronJob did not choose to the defaults of a Timetable")
	_ = cmd.RegisterFlagCompletionFunc("to", cobra.FixedCompletions(convertTargets, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("time-zone", completeZones)
	return cmd
}

var convertTargets = []string{string(conversion.Timetable), string(conversion.CronJob), string(conversion.V1)}

type convert struct {
	streams  Streams
	now      func() time.Time
	input    input
	output   output
	to, zone string
	defaults bool
}

// A written object is one of a manifest, with where it stands.
type written struct {
	node *yaml.Node
	file string
	line int
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
		documents = append(documents, result.Document())
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
	if c.output.json {
		for _, d := range documents {
			object, err := d.JSON()
			if err != nil {
				return err
			}
			answer.Objects = append(answer.Objects, object)
		}
		if err := writeJSON(c.streams.Out, answer); err != nil {
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

// objects reads what is to be converted: manifests as they were written, or what an API server has.
func (c *convert) objects(ctx context.Context, args []string) ([]written, error) {
	if len(c.input.files) == 0 {
		return c.fromServer(ctx, args)
	}
	var all []written
	for _, path := range c.input.files {
		files, err := manifestFiles(path)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			got, err := c.fromFile(file)
			if err != nil {
				return nil, err
			}
			all = append(all, got...)
		}
	}
	return named(all, args)
}

// manifestFiles are the manifests of a directory, in the order of their names, or the file itself.
func manifestFiles(path string) ([]string, error) {
	info, err := os.Stat(path)
	if path == "-" {
		return []string{path}, nil
	}
	if err != nil {
		return nil, exitcode.UsageError("%w", fileError(err))
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	var files []string
	for _, pattern := range []string{"*.yaml", "*.yml", "*.json"} {
		found, err := filepath.Glob(filepath.Join(path, pattern))
		if err != nil {
			return nil, exitcode.UsageError("%s: %w", path, err)
		}
		files = append(files, found...)
	}
	if len(files) == 0 {
		return nil, exitcode.UsageError("%s: there is no *.yaml, *.yml or *.json in it", path)
	}
	slices.Sort(files)
	return files, nil
}

// fromFile reads the objects of a file, once as strictly as all commands do, and once as they were written.
func (c *convert) fromFile(file string) ([]written, error) {
	text, err := (&imports{streams: c.streams}).readText(file)
	if err != nil {
		return nil, err
	}
	name := file
	if file == "-" {
		name = "stdin"
	}
	if _, err := manifest.Parse(name, []byte(text), func(string) {}); err != nil {
		return nil, err
	}
	var all []written
	for decoder := yaml.NewDecoder(strings.NewReader(text)); ; {
		var node yaml.Node
		err := decoder.Decode(&node)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, exitcode.UsageError("%s: %w", name, err)
		}
		if len(node.Content) == 0 || node.Content[0].Kind != yaml.MappingNode {
			continue
		}
		all = append(all, split(node.Content[0], name)...)
	}
}

// split gives an object, or those of a list. What was written as JSON becomes YAML.
func split(object *yaml.Node, file string) []written {
	if object.Style&yaml.FlowStyle != 0 && len(object.Content) > 0 && object.Content[0].Style&yaml.DoubleQuotedStyle != 0 {
		asBlock(object)
	}
	for n := 0; n+1 < len(object.Content); n += 2 {
		if object.Content[n].Value == "items" && object.Content[n+1].Kind == yaml.SequenceNode {
			var all []written
			for _, item := range object.Content[n+1].Content {
				all = append(all, split(item, file)...)
			}
			return all
		}
	}
	return []written{{object, file, object.Line}}
}

func asBlock(node *yaml.Node) {
	if node.Kind == yaml.ScalarNode && node.Tag == "!!str" {
		node.Style = manifests.Value(node.Value).Style // which quotes what would be a number or a boolean
		return
	}
	node.Style = 0
	for _, child := range node.Content {
		asBlock(child)
	}
}

// named are the objects that references name; all if there are none.
func named(all []written, args []string) ([]written, error) {
	if len(args) == 0 {
		return all, nil
	}
	var chosen []written
	for _, arg := range args {
		ref, ok := parseReference(arg)
		if !ok || ref.kind == "job" {
			return nil, exitcode.UsageError("%s names no object; write cronjob/NAME or timetable/NAME", arg)
		}
		before := len(chosen)
		for _, w := range all {
			object := map[string]any{}
			if w.node.Decode(&object) != nil {
				continue
			}
			metadata, _ := object["metadata"].(map[string]any)
			if strings.EqualFold(fmt.Sprint(object["kind"]), ref.kind) && metadata["name"] == ref.name {
				chosen = append(chosen, w)
			}
		}
		if len(chosen) == before {
			return nil, exitcode.UsageError("there is no %s in the manifests", ref)
		}
	}
	return chosen, nil
}

// fromServer reads the CronJobs and Timetables of an API server.
func (c *convert) fromServer(ctx context.Context, args []string) ([]written, error) {
	tell := func(line string) { fmt.Fprintln(c.streams.Err, "note: "+console.EscapeControls(line)) }
	all, err := c.input.load(ctx, c.streams, tell)
	if err != nil {
		return nil, err
	}
	chosen := all.Scheduled
	if len(args) > 0 {
		chosen = nil
	}
	for _, arg := range args {
		ref, ok := parseReference(arg)
		if !ok || ref.kind == "job" {
			return nil, exitcode.UsageError("%s names no object; write cronjob/NAME or timetable/NAME", arg)
		}
		found, err := find(all, ref)
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, found)
	}
	var objects []written
	for _, s := range chosen {
		object, err := nodeOf(s)
		if err != nil {
			return nil, err
		}
		objects = append(objects, written{node: object})
	}
	return objects, nil
}

// nodeOf is an object of an API server as a manifest.
func nodeOf(s *workload.Scheduled) (*yaml.Node, error) {
	text, err := sigsyaml.Marshal(s.Content.Object)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s, err)
	}
	var node yaml.Node
	if err := yaml.NewDecoder(bytes.NewReader(text)).Decode(&node); err != nil {
		return nil, fmt.Errorf("%s: %w", s, err)
	}
	return node.Content[0], nil
}
