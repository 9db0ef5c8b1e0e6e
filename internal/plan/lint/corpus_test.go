// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/carillon-dev/carillon/internal/cli/manifest"
	"github.com/carillon-dev/carillon/internal/plan/lint"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

var update = flag.Bool("update", false, "write the golden files of what is found")

var now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// read gives the objects of a text.
func read(t testing.TB, name, text string) *workload.Objects {
	t.Helper()
	loaded, err := manifest.Parse(name, []byte(text), func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	var objects []workload.Object
	for _, o := range loaded {
		objects = append(objects, workload.Object{Content: o.Unstructured, Source: o.Source.String(), File: o.Source.File, Line: o.Source.Line})
	}
	all, err := workload.Read(objects, workload.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// check asks all rules about a text.
func check(t testing.TB, name, text string, options lint.Options) *lint.Report {
	t.Helper()
	options.Now, options.Texts = now, map[string]string{name: text}
	return lint.Check(read(t, name, text), options)
}

// corpus are the texts of testdata/manifests, by name.
func corpus(t testing.TB) map[string]string {
	t.Helper()
	files, err := filepath.Glob("testdata/manifests/*")
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.Base(file)] = string(text)
	}
	return texts
}

// What is found in manifests as the world writes them, line by line.
func TestCorpus(t *testing.T) {
	objects, found := 0, map[string]int{}
	for name, text := range corpus(t) {
		report := check(t, name, text, lint.Options{})
		objects += report.Objects
		var got strings.Builder
		for _, f := range report.Findings {
			found[f.Rule.ID]++
			fix := ""
			if len(f.Changes) > 0 {
				fix = ", --fix"
			}
			fmt.Fprintf(&got, "%d: %s (%s%s): %s: %s\n    %s\n", f.Line, f.Name(), f.Rule.Level, fix, f.Rule.ID, f.Path, f.Message)
		}
		for _, f := range report.Suppressed {
			fmt.Fprintf(&got, "%d: %s (suppressed): %s: %s\n    %s\n", f.Line, f.Name(), f.Rule.ID, f.Path, f.Suppressed)
		}
		golden := filepath.Join("testdata", "findings", name+".txt")
		if *update {
			if err := os.WriteFile(golden, []byte(got.String()), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if got.String() != string(want) {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got.String(), want)
		}
	}
	if objects < 120 {
		t.Errorf("the corpus has %d objects, want 120 or more", objects)
	}
	for _, r := range lint.Rules {
		if r.ID == "refused-by-api" {
			continue // its test is where definitions can be read: internal/cli/planning
		}
		if n := found[r.ID]; n == 0 || n >= objects {
			t.Errorf("%s has %d findings in %d objects: it needs one that has it and one that has not", r.ID, n, objects)
		}
	}
}
