// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable

import (
	"slices"
	"time"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
)

var _ adapter.Compacter = Kind{}

// compactTimetable is a Timetable that can be read, with its spec as compressed text. What many Timetables have in
// common is held once for all of them. It is never modified.
type compactTimetable struct {
	adapter.CompactMeta
	// resume is the annotation v1alpha1.AnnotationResume, "" when it is absent.
	resume string
	// childKind is the kind of the template.
	childKind unique.Handle[schema.GroupVersionKind]
	// calendars are the names of the Calendars that the spec excludes.
	calendars []string
	spec      specText
	// status is the status without conditions and next, which follow.
	status     v1alpha1.TimetableStatus
	conditions []compactCondition
	// nextTimes is status.next if that holds nothing but times, in seconds since 1970; otherwise it stays in status.
	nextTimes []int64
}

// compactCondition is a condition. Most Timetables are well, and say so in the same words.
type compactCondition struct {
	says               unique.Handle[conditionWords]
	observedGeneration int64
	// lastTransitionTime is in seconds since 1970.
	lastTransitionTime int64
}

type conditionWords struct {
	kind            string
	status          metav1.ConditionStatus
	reason, message string
}

// Compact implements adapter.Compacter. One of which something cannot be read stays as it is, and so does one with
// fractions of seconds, which JSON as we write it does not have.
func (Kind) Compact(obj adapter.Object) adapter.Object {
	tt, ok := obj.(*Object)
	if !ok || tt == nil || tt.trouble != nil || tt.statusTrouble != nil || hasFractions(tt) {
		return obj
	}
	spec, err := newSpecText(&tt.Spec)
	if err != nil {
		return obj
	}
	c := &compactTimetable{
		CompactMeta: adapter.NewCompactMeta(tt, info),
		resume:      tt.Annotations[v1alpha1.AnnotationResume],
		childKind:   unique.Make(schema.FromAPIVersionAndKind(templateKind(&tt.Spec.Template))),
		calendars:   Calendars(&tt.Spec),
		spec:        spec,
		status:      tt.Status,
	}
	c.status.Conditions = nil
	for _, is := range tt.Status.Conditions {
		c.conditions = append(c.conditions, compactCondition{unique.Make(conditionWords{is.Type, is.Status, is.Reason, is.Message}),
			is.ObservedGeneration, is.LastTransitionTime.Unix()})
	}
	if !slices.ContainsFunc(tt.Status.Next, func(n v1alpha1.NextTime) bool { return n.StartsAt != nil || n.Schedules != nil }) {
		c.status.Next = nil
		for _, n := range tt.Status.Next {
			c.nextTimes = append(c.nextTimes, n.Time.Unix())
		}
	}
	c.conditions, c.nextTimes = slices.Clip(c.conditions), slices.Clip(c.nextTimes)
	return c
}

func hasFractions(tt *Object) bool {
	times := []*metav1.Time{tt.Spec.SuspendUntil}
	if w := tt.Spec.Window; w != nil {
		times = append(times, w.NotBefore, w.NotAfter)
	}
	for i := range tt.Status.Conditions {
		times = append(times, &tt.Status.Conditions[i].LastTransitionTime)
	}
	for i := range tt.Status.Next {
		times = append(times, &tt.Status.Next[i].Time)
	}
	return slices.ContainsFunc(times, func(t *metav1.Time) bool { return t != nil && t.Nanosecond() != 0 })
}

// wholeTime is a time of an API that is a whole second.
func wholeTime(unix int64) metav1.Time { return metav1.NewTime(time.Unix(unix, 0).UTC()) }

// GetObjectKind implements runtime.Object; like objects that come from a client it does not know its own kind.
func (*compactTimetable) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject implements runtime.Object.
func (c *compactTimetable) DeepCopyObject() runtime.Object {
	twin := *c
	twin.status = *c.status.DeepCopy()
	return &twin
}

// object gives both forms of a Timetable as one that can be read; false for anything else. It must not be modified:
// parts of it are shared.
func (k Kind) object(obj adapter.Object) (*Object, bool) {
	switch tt := obj.(type) {
	case *Object:
		return tt, tt != nil
	case *compactTimetable:
		if tt == nil {
			return nil, false
		}
		return tt.whole(k.Compilations)
	}
	return nil, false
}

// whole is the Timetable as it was, as far as its controller reads it.
func (c *compactTimetable) whole(kept *Compilations) (*Object, bool) {
	of := compiledFor{namespace: c.GetNamespace(), name: c.GetName(), uid: c.GetUID()}
	compiled := kept.get(of, c.spec)
	if compiled == nil {
		spec, length, err := c.spec.read()
		if err != nil { // it was written by us, and nobody modifies it
			return nil, false
		}
		compiled = newCompilation(spec)
		compiled.text, compiled.length = c.spec, length
		kept.put(of, compiled) // a pass asks several times
	}
	tt := &Object{compiled: compiled}
	tt.Namespace, tt.Name, tt.UID = of.namespace, of.name, of.uid
	tt.ResourceVersion, tt.Generation = c.GetResourceVersion(), c.GetGeneration()
	tt.CreationTimestamp, tt.DeletionTimestamp = c.GetCreationTimestamp(), c.GetDeletionTimestamp()
	if c.resume != "" {
		tt.Annotations = map[string]string{v1alpha1.AnnotationResume: c.resume}
	}
	tt.Spec, tt.Status = *compiled.spec, c.wholeStatus()
	return tt, true
}

func (c *compactTimetable) wholeStatus() v1alpha1.TimetableStatus {
	status := c.status
	status.Conditions = slices.Grow(status.Conditions, len(c.conditions))
	for _, is := range c.conditions {
		says := is.says.Value()
		status.Conditions = append(status.Conditions, metav1.Condition{Type: says.kind, Status: says.status, Reason: says.reason, Message: says.message,
			ObservedGeneration: is.observedGeneration, LastTransitionTime: wholeTime(is.lastTransitionTime)})
	}
	status.Next = slices.Grow(status.Next, len(c.nextTimes))
	for _, at := range c.nextTimes {
		status.Next = append(status.Next, v1alpha1.NextTime{Time: wholeTime(at)})
	}
	return status
}
