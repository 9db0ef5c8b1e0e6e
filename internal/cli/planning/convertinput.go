// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/cli/manifest"
	"github.com/carillon-dev/carillon/internal/client/exitcode"
	"github.com/carillon-dev/carillon/internal/client/reference"
	manifests "github.com/carillon-dev/carillon/internal/plan/document"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

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
	above := "" // comments of documents that have nothing else
	for _, part := range parts(text) {
		objects, err := part.objects(name)
		if err != nil {
			return nil, err
		}
		if len(objects) == 0 {
			above = joinComments(above, part.comments())
			continue
		}
		objects[0].above, above = joinComments(above, objects[0].above), ""
		all = append(all, objects...)
	}
	if len(all) > 0 {
		last := &all[len(all)-1]
		last.below = joinComments(last.below, above)
	}
	return all, nil
}

// A part of a file is what stands between two lines "---", and how many lines stand above it. Read on its own each
// keeps its comments, of which a decoder loses some that stand beside such a line.
type part struct {
	text  string
	lines int
}

// parts gives the parts of a file; one with directives stays whole.
func parts(text string) []part {
	var all []part
	var now strings.Builder
	start, number := 0, 0
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "%") {
			return []part{{text: text}}
		}
		if rest, ok := strings.CutPrefix(line, "---"); ok && strings.TrimLeft(rest[:min(1, len(rest))], " \t\r\n") == "" {
			all = append(all, part{now.String(), start})
			now.Reset()
			start, line = number, rest
		}
		now.WriteString(line)
		number++
	}
	return append(all, part{now.String(), start})
}

// objects are those of a part, with the comments around them.
func (p part) objects(name string) ([]written, error) {
	var all []written
	for decoder := yaml.NewDecoder(strings.NewReader(p.text)); ; {
		var node yaml.Node
		err := decoder.Decode(&node)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, exitcode.UsageError("%s: below line %d: %w", name, p.lines, err)
		}
		if len(node.Content) == 0 || node.Content[0].Kind != yaml.MappingNode {
			continue
		}
		objects := split(node.Content[0], name)
		if len(objects) == 0 {
			continue
		}
		for n := range objects {
			objects[n].line += p.lines
		}
		objects[0].above, objects[len(objects)-1].below = node.HeadComment, node.FootComment
		all = append(all, objects...)
	}
}

// comments are the comments of a part that has nothing else.
func (p part) comments() string {
	var lines []string
	for line := range strings.Lines(p.text) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			lines = append(lines, line)
		}
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

// joinComments are comments with an empty line between them.
func joinComments(comments ...string) string {
	return strings.Join(slices.DeleteFunc(comments, func(comment string) bool { return comment == "" }), "\n\n")
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
	return []written{{node: object, file: file, line: object.Line}}
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
		ref, ok := reference.Parse(arg)
		if !ok || ref.Kind == "job" {
			return nil, exitcode.UsageError("%s names no object; write cronjob/NAME or timetable/NAME", arg)
		}
		before := len(chosen)
		for _, w := range all {
			object := map[string]any{}
			if w.node.Decode(&object) != nil {
				continue
			}
			metadata, _ := object["metadata"].(map[string]any)
			if strings.EqualFold(fmt.Sprint(object["kind"]), ref.Kind) && metadata["name"] == ref.Name {
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
		ref, ok := reference.Parse(arg)
		if !ok || ref.Kind == "job" {
			return nil, exitcode.UsageError("%s names no object; write cronjob/NAME or timetable/NAME", arg)
		}
		found, err := reference.Find(all, ref, c.input.cluster.Namespace)
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
