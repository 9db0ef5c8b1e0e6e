// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/kind/timetable"
	"github.com/carillon-dev/carillon/internal/testkit/vectors"
)

const stored = `{"apiVersion":"batch.carillon.dev/v1alpha1","kind":"Timetable","metadata":{"name":"tick","namespace":"ops","uid":"u1"},
	"spec":{"schedules":[{"cron":"*/10 * * * *"}],"template":{"spec":{}}},"status":STATUS}`

// What of a status cannot be read is as if it were absent; the rest stays, and the object is served.
func TestUnreadableStatus(t *testing.T) {
	cursor := new(clock("12:10"))
	for sentence, c := range map[string]struct {
		status  string
		trouble string // the field, "" for none
		want    v1alpha1.TimetableStatus
	}{
		"none":            {`null`, "", v1alpha1.TimetableStatus{}},
		"a readable one":  {`{"cursor":"2026-05-04T12:10:00Z"}`, "", v1alpha1.TimetableStatus{Cursor: cursor}},
		"a list":          {`[]`, "status", v1alpha1.TimetableStatus{}},
		"a bad time":      {`{"cursor":"2026-05-04t12:10:00z","lastStartTime":"2026-05-04T12:10:00Z"}`, "status.cursor", v1alpha1.TimetableStatus{LastStartTime: cursor}},
		"a bad number":    {`{"counts":{"started":"7","failed":3},"cursor":"2026-05-04T12:10:00Z"}`, "status.counts.started", v1alpha1.TimetableStatus{Counts: v1alpha1.Counts{Failed: 3}, Cursor: cursor}},
		"a part of one":   {`{"activeCount":1.5,"waitingCount":2}`, "status.activeCount", v1alpha1.TimetableStatus{WaitingCount: 2}},
		"a list of other": {`{"active":{"a":1},"cursor":"2026-05-04T12:10:00Z"}`, "status.active", v1alpha1.TimetableStatus{Cursor: cursor}},
		"an entry without its time": {`{"ledger":[{"scheduledTime":"2026-05-04T12:10:00Z","result":"Succeeded"},{"scheduledTime":"soon","result":"Failed"}]}`, "status.ledger[1].scheduledTime",
			v1alpha1.TimetableStatus{Ledger: []v1alpha1.LedgerEntry{{ScheduledTime: *cursor, Result: "Succeeded"}}}},
		"an entry without another time": {`{"active":[{"name":"a","scheduledTime":"2026-05-04T12:10:00Z","startTime":"soon","trigger":"Schedule","attempt":2,"retryAt":"later"}]}`,
			"status.active[0].startTime", v1alpha1.TimetableStatus{Active: []v1alpha1.ActiveRun{{Name: "a", ScheduledTime: *cursor, StartTime: *cursor, Trigger: "Schedule", Attempt: 2}}}},
		"one that waits, at no time": {`{"waiting":[{"scheduledTime":"2026-05-04T12:10:00Z","startsAt":"soon","reason":"Overlap","since":7}]}`, "status.waiting[0].startsAt",
			v1alpha1.TimetableStatus{Waiting: []v1alpha1.WaitingTime{{ScheduledTime: *cursor, StartsAt: *cursor, Reason: "Overlap"}}}},
		"a condition without its time": {`{"conditions":[{"type":"Ready","status":"True","reason":"Accepted","lastTransitionTime":"soon","message":""}],"observedGeneration":3}`,
			"status.conditions[0].lastTransitionTime", v1alpha1.TimetableStatus{ObservedGeneration: 3}},
		"a timing without its time": {`{"timing":{"fingerprint":"0123456789abcdef","since":"soon"}}`, "status.timing.since",
			v1alpha1.TimetableStatus{Timing: &v1alpha1.Timing{Fingerprint: "0123456789abcdef", Since: metav1.Unix(0, 0)}}},
		"a timing of nothing": {`{"timing":{"fingerprint":1,"since":"2026-05-04T12:10:00Z"}}`, "status.timing.fingerprint", v1alpha1.TimetableStatus{}},
		"a part of a pause":   {`{"pause":{"since":"soon","base":3,"generation":7}}`, "status.pause.since", v1alpha1.TimetableStatus{Pause: &v1alpha1.Pause{Base: 3, Generation: 7}}},
	} {
		var obj timetable.Object
		if err := json.Unmarshal([]byte(strings.Replace(stored, "STATUS", c.status, 1)), &obj); err != nil {
			t.Errorf("%s: %v", sentence, err)
			continue
		}
		if obj.Trouble() != nil || obj.UID != "u1" || len(obj.Spec.Schedules) != 1 {
			t.Errorf("%s: %v, %+v", sentence, obj.Trouble(), obj.Spec)
		}
		if trouble := obj.StatusTrouble(); (trouble != nil) != (c.trouble != "") || trouble != nil && trouble.Field != c.trouble {
			t.Errorf("%s: %v", sentence, trouble)
		}
		if diff := cmp.Diff(c.want, obj.Status, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", sentence, diff)
		}
	}
}

// An unreadable spec leaves the metadata, so that the others of a list can be read; an object that is none is an error.
func TestUnreadableSpec(t *testing.T) {
	text := `{"items":[` + strings.Replace(strings.Replace(stored, "STATUS", `{"cursor":"soon"}`, 1), `"*/10 * * * *"`, `7`, 1) + `,` + strings.Replace(stored, "STATUS", `{}`, 1) + `]}`
	var list timetable.ObjectList
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatal(err)
	}
	bad, good := &list.Items[0], &list.Items[1]
	if trouble := bad.Trouble(); trouble == nil || trouble.Error() != "spec.schedules[0].cron is the number 7, and must be a string" || bad.Name != "tick" || bad.Spec.Schedules != nil {
		t.Errorf("%v, %+v", trouble, bad)
	}
	if good.Trouble() != nil || good.StatusTrouble() != nil || len(good.Spec.Schedules) != 1 {
		t.Errorf("%v, %+v", good.Trouble(), good)
	}
	if err := json.Unmarshal([]byte(strings.Replace(stored, "STATUS", `{}`, 1)), bad); err != nil || bad.Trouble() != nil {
		t.Errorf("read anew: %v, %v", err, bad.Trouble())
	}
	for _, text := range []string{`{"items":[7]}`, `{"items":[{"metadata":7}]}`} {
		if err := json.Unmarshal([]byte(text), &list); err == nil {
			t.Errorf("%s was read", text)
		}
	}
}

// In a scheme it is the Timetable; a copy shares nothing with what it was made from.
func TestObject(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := timetable.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for kind, obj := range map[string]runtime.Object{"Timetable": &timetable.Object{}, "TimetableList": &timetable.ObjectList{}, "Calendar": &v1alpha1.Calendar{}} {
		if got, _, err := scheme.ObjectKinds(obj); err != nil || len(got) != 1 || got[0] != v1alpha1.GroupVersion.WithKind(kind) {
			t.Errorf("%v, %v", got, err)
		}
	}
	list := &timetable.ObjectList{Items: make([]timetable.Object, 1)}
	if err := json.Unmarshal([]byte(strings.Replace(stored, "STATUS", `{"cursor":"soon","waitingCount":1}`, 1)), &list.Items[0]); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	cp := list.DeepCopyObject().(*timetable.ObjectList)
	if cp.Items[0].StatusTrouble() == nil || !reflect.DeepEqual(list, cp) {
		t.Errorf("%+v, want %+v", cp, list)
	}
	cp.Items[0].Spec.Schedules[0].Cron, cp.Items[0].Name = "x", "y"
	if again, err := json.Marshal(list); err != nil || string(again) != string(data) {
		t.Errorf("%s, %v", again, err)
	}
}

// places lists the leaves of a JSON value as functions that replace them.
func places(value any, set func(any), found *[]func(any)) {
	*found = append(*found, set)
	switch v := value.(type) {
	case map[string]any:
		for name := range v {
			places(v[name], func(x any) { v[name] = x }, found)
		}
	case []any:
		for i := range v {
			places(v[i], func(x any) { v[i] = x }, found)
		}
	}
}

// Whatever stands in whatever place of a status, the object is read, and what was read can be written: the schema takes
// it.
func TestAnyStatusCanBeWrittenAgain(t *testing.T) {
	crd := timetableCRD(t)
	rapid.Check(t, func(rt *rapid.T) {
		full := vectors.WorstTimetableStatus(at("2026-05-04T12:10:00Z"))
		full.Active, full.Waiting, full.Ledger, full.Next = full.Active[:2], full.Waiting[:2], full.Ledger[:2], full.Next[:2]
		data, err := json.Marshal(full)
		if err != nil {
			rt.Fatal(err)
		}
		var whole map[string]any
		if err := json.Unmarshal([]byte(strings.Replace(stored, "STATUS", string(data), 1)), &whole); err != nil {
			rt.Fatal(err)
		}
		for range rapid.IntRange(1, 4).Draw(rt, "mistakes") {
			var found []func(any)
			places(whole["status"], func(x any) { whole["status"] = x }, &found)
			rapid.SampledFrom(found).Draw(rt, "place")(rapid.SampledFrom([]any{nil, "", "soon", -1.5, true, 7.0, []any{}, []any{7.0}, map[string]any{}, map[string]any{"a": "b"}}).Draw(rt, "value"))
		}
		text, err := json.Marshal(whole)
		if err != nil {
			rt.Fatal(err)
		}
		var obj timetable.Object
		if err := json.Unmarshal(text, &obj); err != nil || obj.Trouble() != nil {
			rt.Fatalf("%s: %v, %v", text, err, obj.Trouble())
		}
		if obj.StatusTrouble() == nil {
			return // it can be read as it is, so it is not ours to mend
		}
		timetable.Limit(&obj.Status)
		admitStatus(t, crd, &obj.Status)
		if t.Failed() {
			rt.Fatalf("%s", text)
		}
	})
}

// FuzzObject: no JSON makes it panic, and what it reads it can write and read again.
func FuzzObject(f *testing.F) {
	f.Add(strings.Replace(stored, "STATUS", `{"cursor":"soon"}`, 1))
	f.Add(`{"status":{"active":[null,{},[]],"counts":7}}`)
	f.Add(`{"metadata":{"creationTimestamp":"x"}}`)
	f.Fuzz(func(t *testing.T, text string) {
		var obj timetable.Object
		if json.Unmarshal([]byte(text), &obj) != nil {
			return
		}
		data, err := json.Marshal(&obj)
		if err != nil {
			return // raw parts may be no JSON
		}
		var again timetable.Object
		if err := json.Unmarshal(data, &again); err != nil || again.Trouble() != nil {
			t.Errorf("%s is read as %s: %v, %v", text, data, err, again.Trouble())
		}
	})
}
