// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	kubefake "k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/yaml"

	"github.com/carillon-dev/carillon/internal/client/cluster"
	"github.com/carillon-dev/carillon/internal/journal"
)

// Without a journal the status of a Timetable tells which of its times had no run.
func TestAPIServerTellsOmissionsOfATimetable(t *testing.T) {
	content := map[string]any{}
	if err := yaml.Unmarshal([]byte(`apiVersion: batch.carillon.dev/v1alpha1
kind: Timetable
metadata: {name: report, namespace: shop, uid: u-report, generation: 2, creationTimestamp: "2026-10-18T10:00:00Z"}
spec:
  schedules: [{name: day, cron: "0 */2 * * *"}]
  template: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: "registry.example/report:1"}]}}}}
status:
  cursor: "2026-10-19T08:00:00Z"
  ledger:
  - {scheduledTime: "2026-10-19T08:00:00Z", result: Succeeded}
  - {scheduledTime: "2026-10-19T02:00:00Z", until: "2026-10-19T06:00:00Z", result: Missed, reason: Outage, count: 3}`), &content); err != nil {
		t.Fatal(err)
	}
	object := &unstructured.Unstructured{Object: content}
	if err := unstructured.SetNestedField(object.Object, int64(2), "metadata", "generation"); err != nil {
		t.Fatal(err)
	}
	timetableKind := schema.GroupVersionKind{Group: "batch.carillon.dev", Version: "v1alpha1", Kind: "Timetable"}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(timetableKind, meta.RESTScopeNamespace)
	resource := schema.GroupVersionResource{Group: timetableKind.Group, Version: timetableKind.Version, Resource: "timetables"}
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{resource: "TimetableList"}, object)
	from := &apiSource{server: &cluster.Server{Namespace: "shop", Client: client, Mapper: mapper}, client: kubefake.NewClientset(), namespace: "shop", now: time.Now, known: map[scope]listing{}}
	found, err := from.Omissions(t.Context(), journal.Query{Namespace: "shop", OwnerKind: "Timetable", OwnerName: "report", OwnerUID: "u-report"})
	if err != nil || len(found) != 1 || !found[0].Missed || found[0].Reason != "Outage" || found[0].Count != 3 || found[0].Owner.Name != "report" {
		t.Errorf("%v %+v", err, found)
	}
}
