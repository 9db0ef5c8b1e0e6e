// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
)

// decodeStatus reads what of a status can be read, and tells the first part that cannot: that is absent.
func decodeStatus(value any, status *v1alpha1.TimetableStatus) *adapter.Unreadable {
	d := &statusDecoder{}
	d.read("status", value, reflect.ValueOf(status).Elem())
	complete(status)
	return d.first
}

// complete gives the entries of a status what the schema requires of them, so that the status can be written again.
// Those that lack what makes them one, such as their time, go. Conditions are made anew.
func complete(s *v1alpha1.TimetableStatus) {
	seen := map[string]bool{}
	s.Conditions = slices.DeleteFunc(s.Conditions, func(c metav1.Condition) bool {
		known := c.Status == metav1.ConditionTrue || c.Status == metav1.ConditionFalse || c.Status == metav1.ConditionUnknown
		twice := seen[c.Type]
		seen[c.Type] = true
		return c.Type == "" || !known || twice || c.Reason == "" || c.LastTransitionTime.IsZero()
	})
	s.Next = slices.DeleteFunc(s.Next, func(n v1alpha1.NextTime) bool { return n.Time.IsZero() })
	s.Active = slices.DeleteFunc(s.Active, func(a v1alpha1.ActiveRun) bool { return a.ScheduledTime.IsZero() || a.Name == "" })
	for i := range s.Active {
		a := &s.Active[i]
		a.Attempt = max(a.Attempt, 1)
		if a.StartTime.IsZero() {
			a.StartTime = a.ScheduledTime
		}
	}
	s.Waiting = slices.DeleteFunc(s.Waiting, func(w v1alpha1.WaitingTime) bool { return w.ScheduledTime.IsZero() })
	for i := range s.Waiting {
		if w := &s.Waiting[i]; w.StartsAt.IsZero() {
			w.StartsAt = w.ScheduledTime
		}
	}
	s.Ledger = slices.DeleteFunc(s.Ledger, func(e v1alpha1.LedgerEntry) bool { return e.ScheduledTime.IsZero() || e.Result == "" })
	if s.Timing != nil && s.Timing.Since.IsZero() {
		s.Timing.Since = metav1.Unix(0, 0) // since nobody knows when; the fingerprint is what edits are noticed by
	}
	if s.Timing != nil && s.Timing.Fingerprint == "" {
		s.Timing = nil
	}
}

// statusDecoder reads JSON into Go values, field by field.
type statusDecoder struct{ first *adapter.Unreadable }

// read sets into, which is zero, to what value says; a part that cannot be read stays zero.
func (d *statusDecoder) read(path string, value any, into reflect.Value) {
	if value == nil {
		return
	}
	text, err := json.Marshal(value)
	if err == nil {
		whole := reflect.New(into.Type())
		if err = json.Unmarshal(text, whole.Interface()); err == nil {
			into.Set(whole.Elem())
			return
		}
	}
	switch members, items := asObject(value), asList(value); {
	case into.Kind() == reflect.Pointer && into.Type().Elem().Kind() == reflect.Struct && hasFields(into.Type().Elem()) && members != nil:
		into.Set(reflect.New(into.Type().Elem()))
		d.readFields(path, members, into.Elem())
	case into.Kind() == reflect.Struct && hasFields(into.Type()) && members != nil:
		d.readFields(path, members, into)
	case into.Kind() == reflect.Slice && items != nil:
		for i, item := range items {
			element := reflect.New(into.Type().Elem()).Elem()
			d.read(fmt.Sprintf("%s[%d]", path, i), item, element)
			into.Set(reflect.Append(into, element))
		}
	case d.first == nil:
		d.first = &adapter.Unreadable{Field: path, Problem: fmt.Sprintf("cannot be read: %v", err)}
	}
}

func (d *statusDecoder) readFields(path string, members map[string]any, into reflect.Value) {
	for i := range into.NumField() {
		name, _, _ := strings.Cut(into.Type().Field(i).Tag.Get("json"), ",")
		if value, there := members[name]; there && name != "" {
			d.read(path+"."+name, value, into.Field(i))
		}
	}
}

// hasFields tells whether JSON has a type as an object of fields that can be read one by one.
func hasFields(t reflect.Type) bool {
	return t.NumField() > 0 && t.Field(0).Tag.Get("json") != "" && t.Field(0).Tag.Get("json") != "-"
}

func asObject(value any) map[string]any {
	members, _ := value.(map[string]any)
	return members
}

func asList(value any) []any {
	items, _ := value.([]any)
	return items
}
