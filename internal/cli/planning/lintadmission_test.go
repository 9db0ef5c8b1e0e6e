// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/carillon-dev/carillon/internal/testkit/vectors"
)

// What lint says of a Timetable or Calendar is what an API server says: the validation vectors of the contract.
func TestLintRefusesWhatTheAPIRefuses(t *testing.T) {
	asked := admission{definitions: map[string]*definition{}}
	tried := 0
	for _, v := range vectors.ReadValidation(t, "../../../docs/contract/timetable-vectors.json") {
		if v.ID == "VV-83" {
			continue // an unknown field, which is no matter of the definition; lint has a rule for it
		}
		tried++
		t.Run(v.ID+" "+v.Fragment, func(t *testing.T) {
			var said []string
			for _, r := range asked.refusals(t.Context(), &unstructured.Unstructured{Object: v.Object(t)}) {
				said = append(said, r.Field+": "+r.Message)
			}
			if v.Accepted != (len(said) == 0) {
				t.Errorf("accepted is %t, and lint says %q", v.Accepted, said)
			}
		})
	}
	if tried < 50 || asked.definitions["timetables.batch.carillon.dev"] == nil {
		t.Errorf("%d vectors were tried", tried)
	}
}

// A refusal is told with its line, and only where nothing else tells of the object.
func TestLintTellsRefusals(t *testing.T) {
	const text = `apiVersion: batch.carillon.dev/v1alpha1
kind: Timetable
metadata:
  name: both
spec:
  schedules: [{cron: "0 2 * * *"}]
  timeout: 1h
  concurrency:
    policy: POLICY
    limit: 3
  template: {spec: {backoffLimit: 0, template: {spec: {restartPolicy: Never, containers: [{name: c, image: "b:1"}]}}}}
`
	file := lintFile(t, strings.Replace(text, "POLICY", "Allow", 1))
	out, _, code := lintRun(t, "", "-f", file, "--level", "error")
	if want := file + ":8: Timetable both\n  error: the API server refuses it: policy Allow has no limit [refused-by-api]\n"; code != 1 || !strings.HasPrefix(out, want) {
		t.Errorf("exit code %d, got\n%s\nwant\n%s", code, out, want)
	}
	out, _, _ = lintRun(t, "", "-f", lintFile(t, strings.Replace(text, "POLICY", "allow", 1)), "--level", "error")
	if strings.Contains(out, "refused-by-api") || !strings.Contains(out, "invalid-value") {
		t.Errorf("got\n%s", out)
	}
}
