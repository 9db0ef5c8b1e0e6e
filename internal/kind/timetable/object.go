// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
)

// Object is a Timetable as the controller reads it: one that holds something unreadable keeps nobody from reading the
// others of a list. The schema lets some through, such as times that only look like times in a status that somebody
// wrote by hand, and what was stored under an older schema.
//
// An unreadable spec leaves spec and status empty (Trouble says why). Of a status only what cannot be read goes, as if
// it had not been there (StatusTrouble says what): a status may be lost but for cursor, counts, pause and waiting, so
// what of it can be read stays.
type Object struct {
	v1alpha1.Timetable

	trouble, statusTrouble *adapter.Unreadable
	// compiled is what is known of Spec, nil if nothing is.
	compiled *compilation
}

// compilation is what is made of the spec.
func (o *Object) compilation() *compilation {
	if o.compiled != nil {
		return o.compiled
	}
	return newCompilation(&o.Spec)
}

var (
	_ adapter.Reader       = (*Object)(nil)
	_ adapter.StatusReader = (*Object)(nil)
)

// UnmarshalJSON reads what a Timetable is, also when its spec or status is none. It forgets what o held.
func (o *Object) UnmarshalJSON(data []byte) error {
	*o = Object{}
	if json.Unmarshal(data, &o.Timetable) == nil {
		return nil
	}
	*o = Object{}
	var whole map[string]any
	if err := json.Unmarshal(data, &whole); err != nil {
		return err
	}
	status := whole["status"]
	delete(whole, "status")
	rest, err := json.Marshal(whole)
	if err != nil {
		return err
	}
	trouble, err := adapter.Decode(rest, &o.Timetable)
	if err != nil {
		return err
	}
	o.trouble = trouble
	if trouble == nil {
		o.statusTrouble = decodeStatus(status, &o.Status)
	}
	return nil
}

// Trouble implements adapter.Reader: it says why the spec could not be read; nil if it could.
func (o *Object) Trouble() *adapter.Unreadable { return o.trouble }

// StatusTrouble implements adapter.StatusReader.
func (o *Object) StatusTrouble() *adapter.Unreadable { return o.statusTrouble }

// DeepCopyInto copies o into out.
func (o *Object) DeepCopyInto(out *Object) {
	*out = *o          // what is unreadable is never modified
	out.compiled = nil // the spec of a copy may be
	o.Timetable.DeepCopyInto(&out.Timetable)
}

// DeepCopy copies o.
func (o *Object) DeepCopy() *Object {
	if o == nil {
		return nil
	}
	out := new(Object)
	o.DeepCopyInto(out)
	return out
}

// DeepCopyObject implements runtime.Object.
func (o *Object) DeepCopyObject() runtime.Object { return o.DeepCopy() }

// ObjectList is a list of Timetables as the controller reads them.
type ObjectList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Object `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (l *ObjectList) DeepCopyObject() runtime.Object {
	out := &ObjectList{TypeMeta: l.TypeMeta}
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	if l.Items != nil {
		out.Items = make([]Object, len(l.Items))
		for i := range l.Items {
			l.Items[i].DeepCopyInto(&out.Items[i])
		}
	}
	return out
}

// AddToScheme registers Timetables as Object, and Calendars.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypeWithName(ownerKind, &Object{})
	scheme.AddKnownTypeWithName(v1alpha1.GroupVersion.WithKind("TimetableList"), &ObjectList{})
	scheme.AddKnownTypes(v1alpha1.GroupVersion, &v1alpha1.Calendar{}, &v1alpha1.CalendarList{})
	metav1.AddToGroupVersion(scheme, v1alpha1.GroupVersion)
	return nil
}
