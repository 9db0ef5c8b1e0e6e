// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conversion makes a Timetable of a CronJob, a CronJob of a Timetable, and a CronJob of batch/v1 of one of
// batch/v1beta1 (timetable.md 13.3). It works on the manifest as it was written: comments of fields that have a
// counterpart stay.
//
//	conversion.go    Convert: what becomes of an object
//	timetable.go     CronJob to Timetable
//	cronjob.go       Timetable to CronJob, or what would be lost
//	schedule.go      the text of a schedule
//	metadata.go      name, labels and annotations
//	field.go         the fields of a manifest, with their comments
//
// Nothing here reads a file, a clock or an API server.
package conversion

import (
	"fmt"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/carillon-dev/carillon/internal/plan/document"
)

// A Target is what objects are made into.
type Target string

// The targets.
const (
	Timetable Target = "timetable"
	CronJob   Target = "cronjob"
	// V1 makes CronJobs of batch/v1 of those of batch/v1beta1, and nothing else.
	V1 Target = "batch/v1"
)

// Options say how objects are converted.
type Options struct {
	To Target
	// TimeZone is that of CronJobs that name none; "" is UTC.
	TimeZone string
	// Defaults leaves what a CronJob does not say to the defaults of a Timetable.
	Defaults bool
	// Now is from when on changes of the clock are looked for.
	Now time.Time
}

// A Result is what became of an object.
type Result struct {
	// Content is the object; the one that was given if there is nothing to convert.
	Content *yaml.Node
	// Changed tells that it is another one.
	Changed bool
	// Reference names it: "timetable/backup".
	Reference string
	// Notes are what the user should know, a line each.
	Notes []string
}

// A Loss says that an object cannot be converted, because the other kind cannot say all that it says.
type Loss struct {
	// Reference names the object: "timetable/backup".
	Reference string `json:"object"`
	// Lost are the fields, each with what to do.
	Lost []string `json:"lost"`
}

func (l *Loss) Error() string {
	return fmt.Sprintf("%s says what a CronJob cannot:\n  %s", l.Reference, strings.Join(l.Lost, "\n  "))
}

// Convert converts an object, given as the mapping of its manifest. What is not of a kind that Options.To is made of is
// given back as it is. The error is a *[Loss], or says which field cannot be read.
func Convert(object *yaml.Node, o Options) (Result, error) {
	object, ok := clone(object)
	if !ok {
		return Result{}, fmt.Errorf("an alias stands for what it is part of")
	}
	api, kind := textOf(object, "apiVersion"), textOf(object, "kind")
	old := api == "batch/v1beta1" && kind == "CronJob"
	result := Result{Content: object, Reference: ReferenceOf(object)}
	var err error
	switch {
	case o.To == Timetable && (old || isCronJob(api, kind)):
		result, err = toTimetable(object, o)
	case o.To == CronJob && kind == "Timetable" && strings.HasPrefix(api, "batch.carillon.dev/"):
		result, err = toCronJob(object, o)
	case o.To != Timetable && old:
		value(object, "apiVersion").Value = "batch/v1"
		result.Changed = true
	}
	if err != nil {
		result.Reference = ReferenceOf(object)
	}
	return result, err
}

const (
	volcano  = "batch.volcano.sh/v1alpha1"
	tutorial = "batch.tutorial.kubebuilder.io/v1"
)

func isCronJob(api, kind string) bool {
	return kind == "CronJob" && (api == "batch/v1" || api == volcano || api == tutorial)
}

// Identity is what no two objects of a manifest have in common: reference and namespace. One without a name has none.
func (r Result) Identity() string {
	metadata := value(r.Content, "metadata")
	if textOf(metadata, "name") == "" {
		return ""
	}
	return r.Reference + " " + textOf(metadata, "namespace")
}

// ReferenceOf names an object by its manifest: "cronjob/backup".
func ReferenceOf(object *yaml.Node) string {
	return strings.ToLower(textOf(object, "kind")) + "/" + nameOf(object)
}

// Document gives a result as it is written: its notes above it.
func (r Result) Document() document.Document {
	d := document.Document{Content: r.Content}
	for _, text := range r.Notes {
		d.Comments = append(d.Comments, document.Note{Text: text}.Comment()...)
	}
	return d
}
