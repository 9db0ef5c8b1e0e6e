// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"cmp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/carillon-dev/carillon/internal/ui/manifest"
)

// difference is what an object has otherwise than what was last applied.
type difference struct {
	// How says who applied what, in a sentence. Applied is false if nobody did: then there is nothing to compare with.
	// Changed is when that was last; zero if it is not known.
	How     string
	Applied bool
	Changed time.Time
	// Equal: nothing is otherwise. Lines are those of the difference, and Note what it cannot show.
	Equal bool
	Lines []diffLine
	Note  string
	// Owners are who wrote which fields, the newest first.
	Owners []owner
	// Fault says why what was applied cannot be read or compared; "" if it can.
	Fault string
}

// diffLine is a line of a difference. Class is "added", "removed", "place" or "" for one that is in both.
type diffLine struct{ Mark, Text, Class string }

// owner is a field manager, with what it wrote last.
type owner struct {
	Name, How, Part string
	At              time.Time
	// Fields are the first of its fields, Count is how many they are.
	Fields []string
	Count  int
}

// lastApplied is the annotation in which kubectl apply keeps what it was given, and clientSide how it calls itself
// then.
const (
	lastApplied = "kubectl.kubernetes.io/last-applied-configuration"
	clientSide  = "kubectl-client-side-apply"
)

// mostFields is how many fields of an owner are named.
const mostFields = 12

// differenceOf compares an object with what was last applied of it. The object is not modified.
func differenceOf(live *unstructured.Unstructured) difference {
	d := difference{Owners: ownersOf(live)}
	if err := manifest.Comparable(contentOf(live)); err != nil {
		d.Fault = notCompared(err)
		return d
	}
	entries := slices.DeleteFunc(slices.Clone(live.GetManagedFields()), func(e metav1.ManagedFieldsEntry) bool { return e.Subresource != "" })
	isApply := func(e metav1.ManagedFieldsEntry) bool { return e.Operation == metav1.ManagedFieldsOperationApply }
	switch text := live.GetAnnotations()[lastApplied]; {
	case text != "":
		d.applied(live, text, slices.DeleteFunc(entries, func(e metav1.ManagedFieldsEntry) bool { return e.Manager == clientSide }))
	case slices.ContainsFunc(entries, isApply):
		d.owned(live, entries, isApply)
	case len(live.GetManagedFields()) == 0:
		d.How = "The object does not tell who wrote it, so there is nothing to compare it with."
	default:
		d.How = "Nobody applied it: it was created, so there is nothing to compare it with. Below is who wrote what."
	}
	return d
}

// applied compares with the text that kubectl apply has left. others are who else wrote fields.
func (d *difference) applied(live *unstructured.Unstructured, text string, others []metav1.ManagedFieldsEntry) {
	d.Applied, d.How = true, "It was applied with kubectl apply, which keeps in the object what it was given."
	var before map[string]any
	if err := json.Unmarshal([]byte(text), &before); err != nil {
		d.Fault = "The annotation " + lastApplied + " cannot be read: " + err.Error() + "."
		return
	}
	if err := manifest.Comparable(before); err != nil {
		d.Fault = notCompared(err)
		return
	}
	before, _ = withoutNulls(before).(map[string]any)
	content := contentOf(live)
	kept := places{}
	kept.alike("", content, before)
	for i := range others {
		kept.owned("", content, fieldsOf(others[i].FieldsV1))
	}
	after, _ := prune("", content, kept).(map[string]any)
	asWritten(before, after)
	d.compare(before, after)
	d.Note = "Fields that nobody applied and nobody has written since are left out: the API server fills in their defaults."
}

// owned compares what those who applied still own with what all have written. What a field had before somebody else
// took it over is not kept anywhere.
func (d *difference) owned(live *unstructured.Unstructured, entries []metav1.ManagedFieldsEntry, isApply func(metav1.ManagedFieldsEntry) bool) {
	content := contentOf(live)
	theirs, all := places{}, places{}
	var names []string
	for _, e := range entries {
		all.owned("", content, fieldsOf(e.FieldsV1))
		if !isApply(e) {
			continue
		}
		theirs.owned("", content, fieldsOf(e.FieldsV1))
		names = append(names, e.Manager)
		if e.Time != nil && e.Time.After(d.Changed) {
			d.Changed = e.Time.Time
		}
	}
	for _, p := range []places{theirs, all} { // these belong to each object, and no manager owns them
		for _, field := range []string{"/apiVersion", "/kind", "/metadata/name", "/metadata/namespace"} {
			p[field] = true
		}
	}
	d.Applied = true
	slices.Sort(names)
	d.How = "It was applied by " + strings.Join(slices.Compact(names), " and ") + " (server-side apply)."
	before, _ := prune("", content, theirs).(map[string]any)
	after, _ := prune("", content, all).(map[string]any)
	d.compare(before, after)
	d.Note = "Fields that nobody has written are left out: the API server fills in their defaults. Of a field that somebody " +
		"else took over, what had been applied is not kept."
}

func (d *difference) compare(before, after map[string]any) {
	text, err := manifest.Diff("object", before, after)
	if err != nil {
		d.Fault = notCompared(err)
		return
	}
	d.Lines = linesOf(text)
	d.Equal = len(d.Lines) == 0
}

// notCompared says why there is no difference.
func notCompared(err error) string {
	return "It is not compared with what was applied: " + err.Error() + "."
}

// linesOf reads a unified difference, without its names of files.
func linesOf(text string) []diffLine {
	var lines []diffLine
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "+++ "), line == "":
		case strings.HasPrefix(line, "@@ -1,"): // from the beginning on
		case line[0] == '@':
			lines = append(lines, diffLine{Text: "⋯", Class: "place"})
		case line[0] == '+':
			lines = append(lines, diffLine{"+", line[1:], "added"})
		case line[0] == '-':
			lines = append(lines, diffLine{"−", line[1:], "removed"})
		default:
			lines = append(lines, diffLine{" ", line[1:], ""})
		}
	}
	return lines
}

// contentOf is an object without its status, and without what the API server keeps in its metadata.
func contentOf(live *unstructured.Unstructured) map[string]any {
	o := live.DeepCopy().Object
	delete(o, "status")
	if metadata, ok := o["metadata"].(map[string]any); ok {
		for _, field := range []string{"managedFields", "creationTimestamp", "generation", "resourceVersion", "uid", "selfLink"} {
			delete(metadata, field)
		}
		if annotations, ok := metadata["annotations"].(map[string]any); ok {
			if delete(annotations, lastApplied); len(annotations) == 0 {
				delete(metadata, "annotations")
			}
		}
	}
	return o
}

// ownersOf are who wrote the object.
func ownersOf(live *unstructured.Unstructured) []owner {
	var owners []owner
	for _, e := range live.GetManagedFields() {
		o := owner{Name: e.Manager, Part: e.Subresource, How: "updated"}
		if e.Operation == metav1.ManagedFieldsOperationApply {
			o.How = "applied"
		}
		if e.Time != nil {
			o.At = e.Time.Time
		}
		var fields []string
		leaves("", fieldsOf(e.FieldsV1), &fields)
		slices.Sort(fields)
		o.Count, o.Fields = len(fields), fields[:min(len(fields), mostFields)]
		owners = append(owners, o)
	}
	slices.SortStableFunc(owners, func(a, b owner) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Name, b.Name)) })
	return owners
}
