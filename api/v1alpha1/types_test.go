// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/testkit/vectors"
)

func TestScheme(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for kind, obj := range map[string]runtime.Object{
		"Timetable": &v1alpha1.Timetable{}, "TimetableList": &v1alpha1.TimetableList{},
		"Calendar": &v1alpha1.Calendar{}, "CalendarList": &v1alpha1.CalendarList{},
	} {
		got, _, err := scheme.ObjectKinds(obj)
		if want := v1alpha1.GroupVersion.WithKind(kind); err != nil || len(got) != 1 || got[0] != want {
			t.Errorf("%v, %v; want %v", got, err, want)
		}
	}
	if got, want := v1alpha1.Resource("timetables"), (schema.GroupResource{Group: "batch.carillon.dev", Resource: "timetables"}); got != want {
		t.Errorf("%v, want %v", got, want)
	}
}

// A copy equals what it was made from and shares nothing with it, in whatever field.
func TestDeepCopies(t *testing.T) {
	for _, obj := range []runtime.Object{
		&v1alpha1.Timetable{}, &v1alpha1.TimetableList{}, &v1alpha1.Calendar{}, &v1alpha1.CalendarList{},
	} {
		fill(reflect.ValueOf(obj).Elem())
		cp := obj.DeepCopyObject()
		if diff := cmp.Diff(obj, cp); diff != "" {
			t.Errorf("%T (-want +got):\n%s", obj, diff)
		}
		before, err := json.Marshal(obj)
		if err != nil {
			t.Fatal(err)
		}
		spoil(reflect.ValueOf(cp).Elem())
		if after, err := json.Marshal(obj); err != nil || string(after) != string(before) {
			t.Errorf("%T shares something with its copy: %v\n%s", obj, err, cmp.Diff(string(before), string(after)))
		}
	}
}

// An object with something in every field is read again as it was written.
func TestEveryFieldIsWritten(t *testing.T) {
	for want, got := range map[runtime.Object]runtime.Object{
		&v1alpha1.Timetable{}: &v1alpha1.Timetable{}, &v1alpha1.Calendar{}: &v1alpha1.Calendar{},
	} {
		fill(reflect.ValueOf(want).Elem())
		data, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%T (-want +got):\n%s", want, diff)
		}
	}
}

var instant = time.Date(2026, 5, 4, 12, 10, 0, 0, time.Local)

// fill puts something into every field.
func fill(v reflect.Value) {
	switch at := v.Addr().Interface().(type) {
	case *metav1.Time:
		*at = metav1.NewTime(instant)
		return
	case *runtime.RawExtension:
		at.Raw = []byte(`{"a":1}`)
		return
	case *metav1.FieldsV1:
		*at = *metav1.NewFieldsV1("{}")
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0))
		fill(v.Index(1))
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key)
		fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString("text")
	case reflect.Int32, reflect.Int64:
		v.SetInt(7)
	case reflect.Bool:
		v.SetBool(true)
	}
}

// spoil changes all that v and what it points to hold.
func spoil(v reflect.Value) {
	switch at := v.Addr().Interface().(type) {
	case *metav1.Time:
		*at = metav1.Time{}
		return
	case *metav1.FieldsV1:
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			spoil(v.Elem())
		}
	case reflect.Interface:
	case reflect.Struct:
		for i := range v.NumField() {
			spoil(v.Field(i))
		}
	case reflect.Slice:
		for i := range v.Len() {
			spoil(v.Index(i))
		}
	case reflect.Map:
		v.Clear()
	default:
		v.SetZero()
	}
}

// The largest status that there can be is one that the schema takes and etcd has room for (TT-184): under 200 KiB.
func TestWorstStatus(t *testing.T) {
	data, err := json.Marshal(vectors.WorstTimetableStatus(instant))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes", len(data))
	if len(data) >= 200<<10 {
		t.Errorf("%d bytes", len(data))
	}
	obj := vectors.Timetable(t)
	obj["status"] = vectors.Decode(t, string(data))
	if err := crd(t, "timetables").Admit(t, obj).ToAggregate(); err != nil {
		t.Errorf("refused: %v", err)
	}
	if diff := cmp.Diff(vectors.Decode(t, string(data)), obj["status"]); diff != "" {
		t.Errorf("status (-sent +stored):\n%s", diff)
	}
}
