// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatal(err)
	}
	return o
}

// linesText are the lines of a difference that differ, without their blanks.
func linesText(d difference) string {
	var all []string
	for _, l := range d.Lines {
		if l.Class == "added" || l.Class == "removed" {
			all = append(all, l.Mark+strings.TrimSpace(l.Text))
		}
	}
	return strings.Join(all, "|")
}

const liveSpec = `
spec:
  schedule: "0 2 * * *"
  concurrencyPolicy: Allow
  suspend: false
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          dnsPolicy: ClusterFirst
          containers:
          - name: main
            image: app:2
            imagePullPolicy: Always
            resources: {requests: {cpu: 500m, memory: 64Mi}}
status: {lastScheduleTime: "2026-11-02T02:00:00Z"}
`

// applied is a CronJob that kubectl apply was given as this text.
func applied(text string) string {
	return "apiVersion: batch/v1\nkind: CronJob\nmetadata:\n  name: backup\n  namespace: default\n  uid: u\n  annotations:\n" +
		"    kubectl.kubernetes.io/last-applied-configuration: '" + text + "'\n"
}

const appliedText = `{"apiVersion":"batch/v1","kind":"CronJob","metadata":{"annotations":{},"name":"backup","namespace":"default","creationTimestamp":null},` +
	`"spec":{"schedule":"0 2 * * *","jobTemplate":{"spec":{"template":{"spec":{"restartPolicy":"Never",` +
	`"containers":[{"name":"main","image":"app:2","resources":{"requests":{"cpu":0.5,"memory":"64Mi"}}}]}}}}}}`

func TestDifference(t *testing.T) {
	for name, test := range map[string]struct {
		object string
		how    string
		// changed is when it was last applied, as the object tells.
		changed string
		equal   bool
		lines   string
		fault   string
	}{
		"as it was applied, but for defaults and the spelling of quantities": {
			object: applied(appliedText) + liveSpec, how: "kubectl apply", equal: true,
		},
		"changed since": {
			object: applied(strings.Replace(appliedText, "0 2", "0 3", 1)) + liveSpec, how: "kubectl apply",
			lines: "−schedule: 0 3 * * *|+schedule: 0 2 * * *",
		},
		"a field that is gone": {
			object: applied(strings.Replace(appliedText, `"spec":{"schedule"`, `"spec":{"timeZone":"Etc/UTC","schedule"`, 1)) + liveSpec,
			how:    "kubectl apply", lines: "−timeZone: Etc/UTC",
		},
		"a container that was added": {
			object: applied(appliedText) + strings.Replace(liveSpec, "status:", "          - name: sidecar\n            image: mesh:1\nstatus:", 1), how: "kubectl apply",
			lines: "+- image: mesh:1|+name: sidecar",
		},
		"a label that somebody else added": {
			object: strings.Replace(applied(appliedText), "  uid: u\n", `  uid: u
  labels: {team: a}
  managedFields:
  - {manager: kubectl-label, operation: Update, fieldsType: FieldsV1, fieldsV1: {"f:metadata": {"f:labels": {".": {}, "f:team": {}}}}}
`, 1) + liveSpec, how: "kubectl apply", lines: "+labels:|+team: a",
		},
		"an annotation that cannot be read": {object: applied("{") + liveSpec, how: "kubectl apply", fault: "cannot be read"},
		"server-side, nothing since": {object: `apiVersion: batch/v1
kind: CronJob
metadata:
  name: backup
  managedFields:
  - {manager: carillon, operation: Apply, time: "2026-11-01T10:00:00Z", fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:schedule": {}}}}
  - {manager: carillon-manager, operation: Update, subresource: status, fieldsType: FieldsV1, fieldsV1: {"f:status": {"f:lastScheduleTime": {}}}}
` + liveSpec, how: "applied by carillon (server-side apply).", changed: "2026-11-01T10:00:00Z", equal: true},
		"server-side, and somebody else took a field over": {object: `apiVersion: batch/v1
kind: CronJob
metadata:
  name: backup
  managedFields:
  - manager: carillon
    operation: Apply
    fieldsType: FieldsV1
    fieldsV1: {"f:spec": {"f:jobTemplate": {"f:spec": {"f:template": {"f:spec": {"f:containers": {'k:{"name":"main"}': {".": {}, "f:name": {}, "f:image": {}}}}}}}}}
  - {manager: kubectl-edit, operation: Update, fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:schedule": {}}}}
` + liveSpec, how: "applied by carillon", lines: "+schedule: 0 2 * * *"},
		"created, not applied": {object: `apiVersion: batch/v1
kind: CronJob
metadata:
  name: backup
  managedFields:
  - {manager: kubectl-create, operation: Update, fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:schedule": {}}}}
` + liveSpec, how: "Nobody applied it"},
		"without managed fields": {object: "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: backup}\n" + liveSpec, how: "does not tell who wrote it"},
	} {
		t.Run(name, func(t *testing.T) {
			live := object(t, test.object)
			before := live.DeepCopy()
			d := differenceOf(live)
			if !strings.Contains(d.How, test.how) {
				t.Errorf("how: %s", d.How)
			}
			if (test.changed == "") != d.Changed.IsZero() || test.changed != "" && d.Changed.UTC().Format(time.RFC3339) != test.changed {
				t.Errorf("changed %s", d.Changed)
			}
			if d.Equal != test.equal || linesText(d) != test.lines {
				t.Errorf("equal %v, lines %s", d.Equal, linesText(d))
			}
			if !strings.Contains(d.Fault, test.fault) || (d.Fault == "") != (test.fault == "") {
				t.Errorf("fault: %s", d.Fault)
			}
			if text, _ := yaml.Marshal(before.Object); string(text) != mustYAML(t, live) {
				t.Error("the object was changed")
			}
		})
	}
}

func mustYAML(t *testing.T, o *unstructured.Unstructured) string {
	t.Helper()
	text, err := yaml.Marshal(o.Object)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestOwners(t *testing.T) {
	owners := ownersOf(object(t, `
metadata:
  managedFields:
  - {manager: first, operation: Apply, time: "2026-11-01T10:00:00Z", fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:containers": {'k:{"name":"main"}': {".": {}, "f:image": {}}}}}}
  - {manager: second, operation: Update, time: "2026-11-02T10:00:00Z", subresource: status, fieldsType: FieldsV1, fieldsV1: {"f:status": {"f:list": {"v:1": {}}}}}
  - {manager: third, operation: Update, fieldsType: FieldsV1, fieldsV1: [broken]}
`))
	if len(owners) != 3 || owners[0].Name != "second" || owners[0].Part != "status" || owners[0].How != "updated" {
		t.Fatalf("%+v", owners)
	}
	if got := strings.Join(owners[1].Fields, ","); got != "spec.containers[main].image" || owners[1].How != "applied" {
		t.Errorf("fields %s, %s", got, owners[1].How)
	}
	if owners[0].Fields[0] != "status.list[1]" || owners[2].Count != 0 {
		t.Errorf("%+v", owners)
	}
}

// FuzzDifference: an object may have anything in its annotations and managed fields.
func FuzzDifference(f *testing.F) {
	f.Add(appliedText, `{"f:spec":{"f:schedule":{}}}`)
	f.Add(`[]`, `{"f:spec":{"f:x":{"k:{}":{},"i:-1":{},"v:":{}}}}`)
	f.Add(`{"spec":{"jobTemplate":[1,{"a":null}]}}`, `{".":{}}`)
	f.Fuzz(func(t *testing.T, applied, fields string) {
		live := object(t, "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: backup}\n"+liveSpec)
		live.SetAnnotations(map[string]string{lastApplied: applied})
		differenceOf(live)
		kept := places{}
		kept.owned("", live.Object, fieldsOf(metav1.NewFieldsV1(fields)))
		leaves("", fieldsOf(metav1.NewFieldsV1(fields)), &[]string{})
		prune("", live.Object, kept)
	})
}
