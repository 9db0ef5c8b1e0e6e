// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint_test

import (
	"testing"

	"github.com/carillon-dev/carillon/internal/cli/manifest"
	"github.com/carillon-dev/carillon/internal/plan/lint"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// Whatever a manifest holds, nothing panics, findings point into the text, reports can be written, and a fix leaves a
// text that can be read.
func FuzzCheck(f *testing.F) {
	for _, text := range corpus(f) {
		f.Add(text)
	}
	f.Add("apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: *a\n")
	f.Add("apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a, annotations: {carillon.dev/lint-ignore: \";:;herd:\"}}\nspec: {schedule: 'TZ= ', jobTemplate: {spec: {template: {spec: {containers: [{}]}}}}}\n")
	f.Fuzz(func(t *testing.T, text string) {
		parse := func(text string) *workload.Objects {
			loaded, err := manifest.Parse("f.yaml", []byte(text), func(string) {})
			if err != nil {
				return nil
			}
			var objects []workload.Object
			for _, o := range loaded {
				objects = append(objects, workload.Object{Content: o.Unstructured, Source: o.Source.String(), File: o.Source.File, Line: o.Source.Line})
			}
			all, err := workload.Read(objects, workload.Options{})
			if err != nil {
				return nil
			}
			return all
		}
		objects := parse(text)
		if objects == nil {
			return
		}
		report := lint.Check(objects, lint.Options{Now: now, Texts: map[string]string{"f.yaml": text}, Zone: "Etc/UTC"})
		for _, finding := range report.Findings {
			if finding.Line < 1 || finding.Line > len(text)+1 {
				t.Errorf("%s is on line %d", finding.Rule.ID, finding.Line)
			}
		}
		if _, err := lint.SARIF(report, ""); err != nil {
			t.Error(err)
		}
		if _, err := lint.JUnit(report, lint.Warning); err != nil {
			t.Error(err)
		}
		if after, mended := lint.Fix(report, "f.yaml"); len(mended) > 0 && parse(after) == nil {
			t.Errorf("cannot be read any more:\n%s", after)
		}
	})
}

// Whatever somebody types for a rule, what is said to be near is one.
func FuzzNearest(f *testing.F) {
	f.Add("no-timezone")
	f.Add("")
	f.Fuzz(func(t *testing.T, id string) {
		if near := lint.Nearest(id); near != "" && lint.Find(near) == nil {
			t.Errorf("%q is near to %q, which is no rule", id, near)
		}
	})
}
