// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/carillon-dev/carillon/internal/manager"
)

// firstJob waits for the first Job of a Timetable.
func (w *world) firstJob(name string) *batchv1.Job {
	w.Helper()
	var first *batchv1.Job
	w.step("a Job of "+name, func(ctx context.Context) error {
		jobs, err := w.jobsLabelled(ctx, name)
		if err != nil || len(jobs) != 1 {
			return fmt.Errorf("%d Jobs: %w", len(jobs), err)
		}
		first = &jobs[0]
		return nil
	})
	return first
}

// deleteTimetable deletes a Timetable, and waits until it is gone.
func (w *world) deleteTimetable(name string, propagation metav1.DeletionPropagation) {
	w.Helper()
	if err := w.objects(timetables).Delete(w.Context(), name, metav1.DeleteOptions{PropagationPolicy: &propagation}); err != nil {
		w.Fatal(err)
	}
	w.eventually(name+" is gone", func(ctx context.Context) error {
		if _, err := w.objects(timetables).Get(ctx, name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there, or not known: %w", err)
		}
		return nil
	})
}

// Whoever deletes a Timetable deletes what it has started, and nothing of ours waits for anything; with orphaning what
// it has started stays, and a new Timetable of the same name neither counts nor touches it (TT-221, TT-222).
func TestTimetableDeleted(t *testing.T) {
	w := newTimetableAPI(t)
	w.clock = clocktesting.NewFakeClock(time.Now())
	w.run(manager.Options{Config: w.plane.Config(), Clock: w.clock, Zone: time.UTC, Controllers: []string{manager.Timetable}})
	names := []string{"background", "foreground", "orphan"}
	first := map[string]*batchv1.Job{}
	for _, name := range names {
		w.createTimetable(name, "{}")
	}
	for _, name := range names {
		first[name] = w.firstJob(name)
		obj, err := w.objects(timetables).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil || len(obj.GetFinalizers()) > 0 || len(first[name].Finalizers) > 0 {
			t.Errorf("%s: finalizers %v of the Timetable, %v of the Job, %v", name, obj.GetFinalizers(), first[name].Finalizers, err)
		}
	}
	gone := func(name string) {
		w.eventually("the Job of "+name+" is gone", func(ctx context.Context) error {
			if jobs, err := w.jobsLabelled(ctx, name); err != nil || len(jobs) > 0 {
				return fmt.Errorf("%d Jobs: %w", len(jobs), err)
			}
			return nil
		})
	}
	w.deleteTimetable("background", metav1.DeletePropagationBackground)
	gone("background")
	w.deleteTimetable("foreground", metav1.DeletePropagationForeground)
	gone("foreground")

	w.deleteTimetable("orphan", metav1.DeletePropagationOrphan)
	w.createTimetable("orphan", "{}")
	w.step("the new one starts, beside the Job of the old one", func(ctx context.Context) error {
		s, err := w.timetableStatus(ctx, "orphan")
		if err != nil || s.ActiveCount != 1 || s.Active[0].UID == first["orphan"].UID {
			return fmt.Errorf("status %+v: %w", s, err)
		}
		return nil
	})
	old, err := w.client.BatchV1().Jobs(w.namespace).Get(t.Context(), first["orphan"].Name, metav1.GetOptions{})
	if err != nil || old.UID != first["orphan"].UID || len(old.OwnerReferences) > 0 || old.DeletionTimestamp != nil {
		t.Errorf("the Job of the old one: %+v, %v", old, err)
	}
}

// definition gives the definitions of custom resources.
func (w *world) definitions() apiextensions.CustomResourceDefinitionInterface {
	return apiextensions.NewForConfigOrDie(w.plane.Config()).CustomResourceDefinitions()
}

// undefine deletes the definition of a custom resource, and waits until it is gone.
func (w *world) undefine(name string) {
	w.Helper()
	if err := w.definitions().Delete(w.Context(), name, metav1.DeleteOptions{}); err != nil {
		w.Fatal(err)
	}
	w.eventually("the definition of "+name+" is gone", func(ctx context.Context) error {
		if _, err := w.definitions().Get(ctx, name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there, or not known: %w", err)
		}
		return nil
	})
}

// Once the controller is gone, the definitions can be deleted with all Timetables, and nothing hangs: neither they nor
// the Jobs that were started wait for anybody (TT-223).
func TestTimetableUninstalled(t *testing.T) {
	w := newTimetableAPI(t)
	w.clock = clocktesting.NewFakeClock(time.Now())
	stop := w.run(manager.Options{Config: w.plane.Config(), Clock: w.clock, Zone: time.UTC, Controllers: []string{manager.Timetable}})
	w.createTimetable("tick", "{}")
	job := w.firstJob("tick")
	stop()
	for _, resource := range []schema.GroupVersionResource{timetables, calendars} {
		w.undefine(resource.GroupResource().String())
	}
	background := metav1.DeletePropagationBackground
	err := w.client.BatchV1().Jobs(w.namespace).Delete(t.Context(), job.Name, metav1.DeleteOptions{PropagationPolicy: &background})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	w.eventually("its Job can be deleted", func(ctx context.Context) error {
		if jobs, err := w.jobsLabelled(ctx, "tick"); err != nil || len(jobs) > 0 {
			return fmt.Errorf("%d Jobs: %w", len(jobs), err)
		}
		return nil
	})
}

// The kind of what a Timetable starts is removed while a run is active, and comes back. Meanwhile nothing starts, times
// wait, and the condition Ready says why; the run is one that somebody has deleted (timetable.md 3.9, 6).
func TestTimetableKindRemoved(t *testing.T) {
	w := newTimetableAPI(t)
	w.clock = clocktesting.NewFakeClock(time.Now())
	group := w.namespace + ".example.com"
	gadget := []*apiextensionsv1.CustomResourceDefinition{anything(group, "v1", "Gadget", "gadgets")}
	install(t, gadget)
	gadgets := dynamic.NewForConfigOrDie(w.plane.Config()).Resource(schema.GroupVersionResource{Group: group, Version: "v1", Resource: "gadgets"}).Namespace(w.namespace)
	served := func(ctx context.Context) error {
		_, err := gadgets.List(ctx, metav1.ListOptions{})
		return err
	}
	w.eventually("the kind is served", served)
	w.run(manager.Options{Config: w.plane.Config(), Clock: w.clock, Zone: time.UTC, Controllers: []string{manager.Timetable}})
	w.createTimetable("tick", fmt.Sprintf(`{template: {apiVersion: %s/v1, kind: Gadget, spec: {}}, outcome: {succeeded: "object.status.phase == 'Done'", failed: "false"}}`, group))
	w.step("a run is active", func(ctx context.Context) error {
		s, err := w.timetableStatus(ctx, "tick")
		if err != nil || s.ActiveCount != 1 {
			return fmt.Errorf("status %+v: %w", s, err)
		}
		return nil
	})

	w.undefine("gadgets." + group)
	w.step("Ready says so", func(ctx context.Context) error { return w.readyIs(ctx, "tick", "KindNotFound", "Gadget") })
	before, err := w.timetableStatus(t.Context(), "tick")
	if err != nil {
		t.Fatal(err)
	}
	passed := func(n int64) func(ctx context.Context) error {
		return func(ctx context.Context) error {
			s, err := w.timetableStatus(ctx, "tick")
			if err != nil || s.Cursor.Sub(before.Cursor.Time) < time.Duration(n)*time.Minute {
				return fmt.Errorf("cursor %v: %w", s.Cursor, err)
			}
			if s.Counts.Started != before.Counts.Started || s.WaitingCount != 1 || s.Waiting[0].Reason != "NotReady" {
				t.Fatalf("meanwhile: %+v", s)
			}
			return nil
		}
	}
	w.step("times wait", passed(3))

	install(t, gadget)
	w.eventually("the kind is served again", served)
	w.step("the run was deleted, and the one that waits starts", func(ctx context.Context) error {
		s, err := w.timetableStatus(ctx, "tick")
		if err != nil || s.Counts.Cancelled != 1 || s.Counts.Started != before.Counts.Started+1 || s.ActiveCount != 1 {
			return fmt.Errorf("status %+v: %w", s, err)
		}
		return w.readyIs(ctx, "tick", "Accepted", "")
	})
}
