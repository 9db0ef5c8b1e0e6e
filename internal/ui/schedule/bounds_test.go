// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"net/http"
	"runtime"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/carillon-dev/carillon/internal/ui/uitest"
)

// deep is an object in which maps lie far within each other.
func deep(levels int) string {
	fields := ", x0: " + strings.Repeat("{a: ", levels) + "1" + strings.Repeat("}", levels)
	return `
apiVersion: batch.carillon.dev/v1alpha1
kind: Timetable
metadata: {name: deep, uid: u-deep}
spec:
  schedules: [{name: main, cron: "0 2 * * *"}]
  template: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: app}]` + fields + `}}}}
`
}

// An object that is small and deep makes no large page, and says how it can be seen.
func TestDeepObject(t *testing.T) {
	s := uitest.Site(t, uitest.World{Manifests: deep(4500)}, Register)
	code, body := uitest.Get(t, s, "/schedule/timetable/default/deep")
	if code != http.StatusOK || len(body) > 1<<20 {
		t.Fatalf("%d: %d bytes", code, len(body))
	}
	uitest.Says(t, body, []string{
		"It is not shown here: it is nested more than 100 levels deep.", "carillon kubectl -n default get timetable deep -o yaml",
		"It is not compared with what was applied: it is nested more than 100 levels deep.",
	}, nil)
}

// What was applied is bounded as well, and so are the paths of fields: many far below long names are no large page.
func TestDifferenceBounds(t *testing.T) {
	live := object(t, "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: backup}\n"+liveSpec)
	live.SetAnnotations(map[string]string{lastApplied: strings.Repeat(`{"a":`, 4500) + "1" + strings.Repeat("}", 4500)})
	if d := differenceOf(live); len(d.Lines) > 0 || !strings.Contains(d.Fault, "100 levels") {
		t.Errorf("%d lines, %s", len(d.Lines), d.Fault)
	}
	long, set, content := strings.Repeat("k", 100_000), map[string]any{}, map[string]any{}
	for n := range 4000 {
		name := "n" + string(rune('a'+n%26)) + strings.Repeat("o", n/26)
		set["f:"+name], content[name] = map[string]any{}, "1"
	}
	live = &unstructured.Unstructured{Object: map[string]any{"apiVersion": "batch/v1", "kind": "CronJob", "spec": map[string]any{long: content}}}
	fields, err := (&unstructured.Unstructured{Object: map[string]any{"kind": "x", "f:spec": map[string]any{"f:" + long: set}}}).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	live.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "x", Operation: metav1.ManagedFieldsOperationApply, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(string(fields))}})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	d := differenceOf(live)
	runtime.ReadMemStats(&after)
	if taken := (after.TotalAlloc - before.TotalAlloc) >> 20; taken > 200 {
		t.Errorf("it takes %d MiB", taken)
	}
	for _, o := range d.Owners {
		for _, f := range o.Fields {
			if len(f) > longestPath+3 {
				t.Errorf("a field of %d bytes", len(f))
			}
		}
	}
}
