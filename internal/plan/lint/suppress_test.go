// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint_test

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/carillon-dev/carillon/internal/plan/lint"
)

// What a comment or an annotation suppresses, and what it does not.
func TestSuppressions(t *testing.T) {
	const text = `HEAD
apiVersion: batch/v1
kind: CronJob
metadata:
  name: a
  annotations: {team: night, ANNOTATION}
spec:
  ABOVE
  schedule: "0 2 * * *"  SAME
  jobTemplate:
    POD
    spec:
      template:
        spec:
          restartPolicy: Never
          containers:
          - name: c
            image: busybox
`
	tests := map[string]struct {
		head, annotation, above, same, pod string
		suppressed, found                  []string
	}{
		"nothing":                  {found: []string{"no-time-zone", "image-latest"}},
		"above the object":         {head: "# carillon-lint ignore=no-time-zone: why", suppressed: []string{"no-time-zone"}, found: []string{"image-latest"}},
		"above the separator":      {head: "# carillon-lint ignore=no-time-zone: why\n---", suppressed: []string{"no-time-zone"}},
		"two rules":                {head: "# carillon-lint ignore=no-time-zone: why; image-latest: because", suppressed: []string{"no-time-zone", "image-latest"}},
		"above the field":          {above: "# carillon-lint ignore=no-time-zone: why", suppressed: []string{"no-time-zone"}},
		"on the line of the field": {same: "# carillon-lint ignore=no-time-zone: why", suppressed: []string{"no-time-zone"}},
		"above another field":      {pod: "# carillon-lint ignore=no-time-zone: why", found: []string{"no-time-zone", "suppression-unused"}},
		"above what holds it":      {pod: "# carillon-lint ignore=image-latest: why", suppressed: []string{"image-latest"}},
		"in an annotation":         {annotation: `carillon.dev/lint-ignore: "no-time-zone: why; image-latest: because"`, suppressed: []string{"no-time-zone", "image-latest"}},
		"without a reason":         {annotation: `carillon.dev/lint-ignore: "no-time-zone"`, found: []string{"no-time-zone", "suppression-without-reason"}},
		"a rule that is none":      {head: "# carillon-lint ignore=no-timezone: why", found: []string{"no-time-zone", "suppression-of-unknown-rule"}},
		"in the text of a value":   {annotation: `more: "# not a comment: carillon-lint ignore=image-latest"`, found: []string{"image-latest"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			annotation := test.annotation
			if annotation == "" {
				annotation = "more: none"
			}
			text := strings.NewReplacer("HEAD", test.head, "ANNOTATION", annotation, "ABOVE", test.above, "SAME", test.same, "POD", test.pod).Replace(text)
			report := check(t, fixed, text, lint.Options{})
			var found, suppressed []string
			for _, f := range report.Findings {
				found = append(found, f.Rule.ID)
			}
			for _, f := range report.Suppressed {
				suppressed = append(suppressed, f.Rule.ID)
			}
			slices.Sort(suppressed)
			slices.Sort(test.suppressed)
			if !slices.Equal(suppressed, test.suppressed) {
				t.Errorf("suppressed are %q, want %q, of\n%s", suppressed, test.suppressed, text)
			}
			for _, id := range test.found {
				if !slices.Contains(found, id) {
					t.Errorf("%s is not among %q, of\n%s", id, found, text)
				}
			}
		})
	}
}

// Who expects many starts in one minute is no part of a herd, and makes others none.
func TestSuppressedHerd(t *testing.T) {
	const one = `---
apiVersion: batch/v1
kind: CronJob
metadata:
  name: NAME
spec:
  schedule: "0 2 * * *" COMMENT
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: "b:1"}]}}}}
`
	for name, test := range map[string]struct {
		suppressing int
		herds       int
	}{"nobody": {0, 1}, "one of six": {1, 1}, "two of six": {2, 0}} {
		t.Run(name, func(t *testing.T) {
			var text strings.Builder
			for i := range 6 {
				comment := ""
				if i < test.suppressing {
					comment = "# carillon-lint ignore=herd: it is alone on its node"
				}
				text.WriteString(strings.NewReplacer("NAME", string(rune('a'+i)), "COMMENT", comment).Replace(one))
			}
			herds := 0
			for _, f := range check(t, fixed, text.String(), lint.Options{}).Findings {
				switch f.Rule.ID {
				case "herd":
					herds++
				case "suppression-unused":
					t.Error(f.Message)
				}
			}
			if herds != test.herds {
				t.Errorf("%d herds, want %d", herds, test.herds)
			}
		})
	}
}

// The annotation is one that an API server takes.
func TestAnnotationKey(t *testing.T) {
	if wrong := validation.IsQualifiedName(lint.AnnotationIgnore); len(wrong) > 0 {
		t.Error(wrong)
	}
}
