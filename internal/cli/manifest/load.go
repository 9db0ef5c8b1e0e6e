// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package manifest reads the manifests that a user names and applies them.
//
// Reading is strict and complete before anything is sent: every document of every file is decoded, unknown and repeated
// fields are faults, as are numbers where text is meant (scalar.go), and all faults are reported together, each with
// its file, document and line (load.go). It is bounded, and tells what it waits for (read.go). CronJobs of an API
// version that is served no more are read as those of the next (converted.go). Applying asks the API server for a dry
// run of every object first, so that a file of which one object would be refused is not applied in part (apply.go).
package manifest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kuberuntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/carillon-dev/carillon/internal/kube/fanout"
)

// Source is where an object was written: what a message must name so that its reader can go there.
type Source struct {
	File     string // the path as the user gave it, or "stdin"
	Document int    // from 1
	Line     int    // of the document's first line, from 1
}

// String reads as "jobs.yaml: document 2 (line 14)".
func (s Source) String() string {
	if s.Document == 0 {
		return s.File // not a file of manifests
	}
	return fmt.Sprintf("%s: document %d (line %d)", s.File, s.Document, s.Line)
}

// Object is one object of a manifest.
type Object struct {
	*unstructured.Unstructured
	Source Source
}

// String reads as "jobs.yaml: document 2 (line 14), CronJob backup".
func (o Object) String() string {
	name := o.GetName()
	if name == "" {
		name = o.GetGenerateName() + "…"
	}
	return fmt.Sprintf("%s, %s %s", o.Source, o.GetKind(), name)
}

// Fault is something wrong with a manifest: the user's to mend, nothing to retry.
type Fault struct {
	Where string
	What  string
	// Cause is the API server's answer, if it was the API server that refused.
	Cause error
}

func (f *Fault) Error() string { return f.Where + ": " + f.What }

func (f *Fault) Unwrap() error { return f.Cause }

var strict = serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()

// Load reads every path: a file, a directory (its *.yaml, *.yml and *.json files in the order of
// their names, not its sub-directories), or "-" for stdin. Objects come in the order in which they
// are written. The error joins a *Fault for each thing that is wrong; no object is returned then.
// tell is given what the user should know beside that, a line each; it may be nil. Reading ends with ctx.
func Load(ctx context.Context, paths []string, stdin io.Reader, tell func(string)) ([]Object, error) {
	if tell == nil {
		tell = func(string) {}
	}
	r := &reader{stdin: stdin, tell: tell}
	var objects []Object
	var faults []error
	for _, path := range paths {
		files, err := r.expand(path)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		for _, file := range files {
			name, data, err := r.read(ctx, file)
			var got []Object
			if err == nil {
				got, err = Parse(name, data, tell)
			}
			if err != nil {
				faults = append(faults, err)
			}
			if ctx.Err() != nil || r.total > totalLimit {
				return nil, errors.Join(faults...)
			}
			objects = append(objects, got...)
		}
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return objects, nil
}

// Parse reads the documents of one file; name is what messages call it.
func Parse(name string, data []byte, tell func(string)) ([]Object, error) {
	var all []document
	err := documents(name, data, func(doc []byte, source Source) { all = append(all, document{doc, source}) })
	if err != nil {
		return nil, err
	}
	var objects []Object
	var faults []error
	for _, d := range decodeAll(all) {
		for _, line := range d.told {
			tell(line)
		}
		if d.err != nil {
			faults = append(faults, d.err)
		}
		objects = append(objects, d.objects...)
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	if len(objects) == 0 {
		return nil, &Fault{Where: name, What: "there is no object in it"}
	}
	return objects, nil
}

// document is one document of a file.
type document struct {
	text   []byte
	source Source
}

// decoded is what was found in a document.
type decoded struct {
	objects []Object
	told    []string
	err     error
}

// decodeAll decodes documents, on all processors, as a fleet has thousands of them. What it finds is in their order.
func decodeAll(all []document) []decoded {
	found := make([]decoded, len(all))
	fanout.All(runtime.GOMAXPROCS(0), len(all), func(n int) {
		d := &found[n]
		d.objects, d.err = decode(all[n].text, all[n].source, func(line string) { d.told = append(d.told, line) })
	})
	return found
}

// documents calls each for every document of a file that is not blank.
func documents(name string, data []byte, each func(doc []byte, source Source)) error {
	at, line, number := 0, 1, 0
	for docs := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data))); ; {
		doc, err := docs.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return &Fault{Where: name, What: err.Error()}
		}
		number++
		for bytes.HasPrefix(doc, []byte("---")) { // the reader keeps a separator that nothing precedes
			_, doc, _ = bytes.Cut(doc, []byte("\n"))
		}
		before := max(0, bytes.Index(data[at:], doc)) // documents are pieces of the file, in its order
		line += bytes.Count(data[at:at+before], []byte("\n"))
		at += before
		source := Source{File: name, Document: number, Line: line}
		end := min(at+len(doc), len(data))
		line += bytes.Count(data[at:end], []byte("\n"))
		at = end
		if !blank(doc) {
			each(doc, source)
		}
	}
}

func blank(doc []byte) bool {
	for l := range bytes.Lines(doc) {
		l = bytes.TrimSpace(l)
		if len(l) > 0 && l[0] != '#' && !bytes.Equal(l, []byte("---")) {
			return false
		}
	}
	return true
}

func decode(doc []byte, source Source, tell func(string)) ([]Object, error) {
	fault := func(what string) error { return &Fault{Where: source.String(), What: what} }
	var fields map[string]any
	data, err := yaml.YAMLToJSONStrict(doc)
	if err == nil {
		err = json.Unmarshal(data, &fields)
	}
	if err != nil {
		return nil, fault(userMessage(err))
	}
	obj := &unstructured.Unstructured{Object: fields}
	switch {
	case obj.GetAPIVersion() == "":
		return nil, fault("apiVersion is missing")
	case obj.GetKind() == "":
		return nil, fault("kind is missing")
	}
	if obj.IsList() {
		return list(obj, source, tell)
	}
	old := convert(obj)
	if old {
		if data, err = json.Marshal(obj.Object); err != nil {
			return nil, fault(userMessage(err))
		}
	}
	_, _, err = strict.Decode(data, nil, nil)
	custom := kuberuntime.IsNotRegisteredError(err) // the API server knows its fields
	if err != nil {                                 // what can be decoded has text where text is wanted
		if wrong := unquoted(doc, obj, source.Line); len(wrong) > 0 {
			return nil, fault(obj.GetKind() + ": " + strings.Join(wrong, "\n  "))
		}
	}
	switch {
	case obj.GetName() == "" && obj.GetGenerateName() == "":
		return nil, fault(obj.GetKind() + ": metadata.name is missing")
	case err != nil && !custom:
		return nil, fault(fmt.Sprintf("%s %s: %s", obj.GetKind(), obj.GetName(), userMessage(err)))
	}
	// Numbers as the API machinery wants them: int64, not float64.
	if err := kuberuntime.DecodeInto(unstructured.UnstructuredJSONScheme, data, obj); err != nil {
		return nil, fault(userMessage(err))
	}
	o := Object{Unstructured: obj, Source: source}
	if old {
		tell(converted(o))
	}
	return []Object{o}, nil
}

func list(obj *unstructured.Unstructured, source Source, tell func(string)) ([]Object, error) {
	items, _, _ := unstructured.NestedSlice(obj.Object, "items")
	var objects []Object
	for i, item := range items {
		doc, err := yaml.Marshal(item)
		if err != nil {
			return nil, &Fault{Where: source.String(), What: fmt.Sprintf("items[%d]: %v", i, err)}
		}
		got, err := decode(doc, source, tell)
		if err != nil {
			return nil, err
		}
		objects = append(objects, got...)
	}
	return objects, nil
}

// userMessage cuts what only Go programmers understand from a decoder's message.
func userMessage(err error) string {
	s := err.Error()
	for _, cut := range []string{
		"strict decoding error: ", "error converting YAML to JSON: ", "error unmarshaling JSON: ", "while decoding JSON: ", "yaml: unmarshal errors:\n  ", "json: ", "yaml: ",
	} {
		s = strings.ReplaceAll(s, cut, "")
	}
	return strings.ReplaceAll(strings.TrimSpace(s), "Go struct field ", "field ")
}

func cause(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}
