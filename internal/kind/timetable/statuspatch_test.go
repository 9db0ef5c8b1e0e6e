// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/kind/timetable"
)

// A patch names what changes, null for what goes, and the object that it is for (F5).
func TestStatusPatch(t *testing.T) {
	tt := tick()
	tt.ResourceVersion = "7"
	before := &v1alpha1.TimetableStatus{
		ObservedGeneration: 1, Cursor: new(clock("12:10")), Counts: v1alpha1.Counts{Started: 1},
		Pause: &v1alpha1.Pause{Since: new(clock("12:10")), Base: 2}, Waiting: []v1alpha1.WaitingTime{{ScheduledTime: clock("12:10")}},
	}
	after := before.DeepCopy()
	if patch, err := timetable.StatusPatch(tt, before, after); patch != nil || err != nil {
		t.Errorf("nothing changes: %s, %v", patch, err)
	}
	after.Cursor = new(clock("12:20"))
	after.Counts.Started, after.Counts.Skipped = 2, 1
	after.Pause.Since = nil
	after.Waiting = nil
	patch, err := timetable.StatusPatch(tt, before, after)
	want := `{"metadata":{"resourceVersion":"7","uid":"u1"},"status":{"counts":{"skipped":1,"started":2},"cursor":"2026-05-04T12:20:00Z","pause":{"since":null},"waiting":null}}`
	if string(patch) != want || err != nil {
		t.Errorf("%s, %v", patch, err)
	}
}

// merged applies a merge patch as RFC 7386 says.
func merged(target, patch any) any {
	changes, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	object, ok := target.(map[string]any)
	if !ok {
		object = map[string]any{}
	}
	for name, value := range changes {
		if value == nil {
			delete(object, name)
		} else {
			object[name] = merged(object[name], value)
		}
	}
	return object
}

// drawStatus is any status, of few different times and words.
func drawStatus() *rapid.Generator[*v1alpha1.TimetableStatus] {
	return rapid.Custom(func(t *rapid.T) *v1alpha1.TimetableStatus {
		status := &v1alpha1.TimetableStatus{}
		drawInto(t, reflect.ValueOf(status).Elem())
		return status
	})
}

func drawInto(t *rapid.T, v reflect.Value) {
	if at, ok := v.Addr().Interface().(*metav1.Time); ok {
		*at = rapid.SampledFrom([]metav1.Time{clock("12:10"), clock("12:20"), clock("12:30")}).Draw(t, "time")
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if rapid.Bool().Draw(t, "there") {
			v.Set(reflect.New(v.Type().Elem()))
			drawInto(t, v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			drawInto(t, v.Field(i))
		}
	case reflect.Slice:
		if n := rapid.IntRange(0, 2).Draw(t, "length"); n > 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				drawInto(t, v.Index(i))
			}
		}
	case reflect.String:
		v.SetString(rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "text"))
	default:
		v.SetInt(rapid.Int64Range(0, 2).Draw(t, "number"))
	}
}

// The patch from one status to another makes the one the other, and keeps what this program does not know.
func TestStatusPatchGivesTheStatus(t *testing.T) {
	tt := tick()
	rapid.Check(t, func(t *rapid.T) {
		before, after := drawStatus().Draw(t, "before"), drawStatus().Draw(t, "after")
		patch, err := timetable.StatusPatch(tt, before, after)
		if err != nil {
			t.Fatal(err)
		}
		stored, err := json.Marshal(before)
		if err != nil {
			t.Fatal(err)
		}
		var object map[string]any
		if err := json.Unmarshal(stored, &object); err != nil {
			t.Fatal(err)
		}
		object["newer"] = "x"
		if patch != nil {
			var changes map[string]any
			if err := json.Unmarshal(patch, &changes); err != nil {
				t.Fatal(err)
			}
			object = merged(object, changes["status"]).(map[string]any)
		}
		if object["newer"] != "x" {
			t.Fatal("what is not known was lost")
		}
		data, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		var got v1alpha1.TimetableStatus
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		want, _ := json.Marshal(after)
		if again, _ := json.Marshal(&got); string(again) != string(want) {
			t.Fatalf("%s\n%s", patch, cmp.Diff(string(want), string(again)))
		}
	})
}
