// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/cli/manifest"
	"github.com/carillon-dev/carillon/internal/kind"
	"github.com/carillon-dev/carillon/internal/kind/timetable"
)

var (
	timetableKind = kind.Timetable{}.Info().Owner
	calendarKind  = v1alpha1.GroupVersion.WithKind("Calendar")
)

func isTimetable(gvk schema.GroupVersionKind) bool { return gvk == timetableKind }

// fromTimetable is what a Timetable starts when somebody starts it by hand, now. Only one that exists on the API server
// can own it. What of it has to be known before it runs is told by tell.
func fromTimetable(obj manifest.Object, exists bool, calendar findCalendar, tell func(string)) (manifest.Object, error) {
	fault := func(err error) (manifest.Object, error) {
		return manifest.Object{}, &manifest.Fault{Where: obj.String(), What: err.Error()}
	}
	tt, err := readTimetable(obj)
	if err != nil {
		return fault(err)
	}
	if !exists {
		tt.UID = ""
	}
	if err := followable(obj, timetable.ChildKind(&tt.Timetable)); err != nil {
		return manifest.Object{}, err
	}
	var notRead error // why a Calendar could not be read that may exist
	child, unread, err := timetable.BuildByHand(tt, timetable.ByHand{Request: uuid.NewUUID(), Now: time.Now(), Calendar: func(name string) *v1alpha1.Calendar {
		c, err := calendar(name)
		if err != nil {
			notRead = fmt.Errorf("cannot read calendar %s: %w", name, err)
		}
		return c
	}})
	if err != nil {
		return fault(err)
	}
	if unread != nil {
		why := unread.Message
		if notRead != nil {
			why = notRead.Error()
		}
		tell(obj.String() + ": the scheduled times before and after this run are left empty: " + why)
	}
	return manifest.Object{Unstructured: child, Source: obj.Source}, nil
}

func readTimetable(obj manifest.Object) (*timetable.Object, error) {
	text, err := json.Marshal(obj.Object)
	if err != nil {
		return nil, err
	}
	tt := &timetable.Object{}
	if err := json.Unmarshal(text, tt); err != nil {
		return nil, err
	}
	if trouble := tt.Trouble(); trouble != nil {
		return nil, trouble
	}
	return tt, nil
}

// childKindOf is the kind of what is started for the target: its own if it is a Job.
func childKindOf(target manifest.Object) (schema.GroupVersionKind, error) {
	gvk := target.GroupVersionKind()
	if k, ok := kindOf(gvk); ok {
		return k.Info().Child, nil
	}
	if !isTimetable(gvk) {
		return gvk, nil
	}
	tt, err := readTimetable(target)
	if err != nil {
		return schema.GroupVersionKind{}, &manifest.Fault{Where: target.String(), What: err.Error()}
	}
	return timetable.ChildKind(&tt.Timetable), nil
}

// followable refuses what run cannot follow to its end.
func followable(from manifest.Object, child schema.GroupVersionKind) error {
	if isJob(child) {
		return nil
	}
	return usage("%s: spec.template makes a %s of %s, and run can follow only Jobs, of batch/v1 and of Volcano: "+
		"put the work into a Job, or apply the Timetable with a moment of spec.schedules[].at", from, child.Kind, child.GroupVersion())
}

// findCalendar gives a Calendar by name, nil if there is none.
type findCalendar func(name string) (*v1alpha1.Calendar, error)

// calendarsAmong finds Calendars: those of the files, and then those that the API server has.
func calendarsAmong(ctx context.Context, applier *manifest.Applier, namespace string, files []manifest.Object) findCalendar {
	return func(name string) (*v1alpha1.Calendar, error) {
		i := slices.IndexFunc(files, func(o manifest.Object) bool {
			ns := o.GetNamespace()
			return o.GroupVersionKind() == calendarKind && o.GetName() == name && (ns == "" || ns == namespace)
		})
		if i >= 0 {
			return readCalendar(files[i].Unstructured)
		}
		calendars, err := applier.Resource(calendarKind, namespace)
		if meta.IsNoMatchError(err) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		live, err := calendars.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return readCalendar(live)
	}
}

func readCalendar(obj *unstructured.Unstructured) (*v1alpha1.Calendar, error) {
	calendar := &v1alpha1.Calendar{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, calendar); err != nil {
		return nil, err
	}
	return calendar, nil
}
