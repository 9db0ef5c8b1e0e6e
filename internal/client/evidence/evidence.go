// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package evidence collects what is known of one object: what an API server has of it, of what it has started and of
// what goes on there.
//
//   - evidence.go  Ask: what an API server knows
//   - server.go    reading from it
//   - journal.go   what the journal of this machine remembers beside that
//   - search.go    the object that a reference means, among objects
//   - near.go      Near: what an API server knows of an object whose runs are known otherwise, without listing them
package evidence

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/client/cluster"
	"github.com/carillon-dev/carillon/internal/client/reference"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/plan/diagnosis"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

var (
	jobKind       = batchv1.SchemeGroupVersion.WithKind("Job")
	podKind       = corev1.SchemeGroupVersion.WithKind("Pod")
	eventKind     = corev1.SchemeGroupVersion.WithKind("Event")
	namespaceKind = corev1.SchemeGroupVersion.WithKind("Namespace")
	quotaKind     = corev1.SchemeGroupVersion.WithKind("ResourceQuota")
	calendarKind  = v1alpha1.GroupVersion.WithKind("Calendar")
	leaseKind     = coordinationv1.SchemeGroupVersion.WithKind("Lease")
)

// How many Jobs and Pods are looked at closely: the active ones and the newest, which is what explains something.
const maxClose = 12

// NotThere is the error for an object that is not there, for the user: it says which ones have nearly its name.
type NotThere struct{ Err error }

func (e *NotThere) Error() string { return e.Err.Error() }

// Unwrap gives the error with its exit code.
func (e *NotThere) Unwrap() error { return e.Err }

// inquiry asks an API server about one object.
type inquiry struct {
	*cluster.Server
	objects []workload.Object
	// unread says what could not be read, and calendars why that is so of Calendars; "" if they were.
	unread    []string
	calendars string
	read      diagnosis.Kinds
	// kinds are those that the object may be of; nil for all that its reference may mean.
	kinds []schema.GroupVersionKind
	// near are the names of the Jobs that are read of what it has started; nil for all.
	near []string
}

func (q *inquiry) options() workload.Options {
	return workload.Options{Namespace: q.Namespace, CalendarsUnread: q.calendars}
}

// Ask collects what an API server knows of the object that ref means, for a present of now. Of what may not be read it
// says so (Evidence.Unread). The error is NotThere when there is no such object.
func Ask(ctx context.Context, flags cluster.Flags, server *cluster.Server, ref reference.Reference, now time.Time) (*diagnosis.Evidence, error) {
	found, err := (&inquiry{Server: server}).ask(ctx, ref, now)
	if err != nil {
		return nil, err
	}
	found.Standalone = flags.OrLocal().DataDir != ""
	found.Kubectl = Kubectl(flags)
	return found, nil
}

// ask collects what an API server knows.
func (q *inquiry) ask(ctx context.Context, ref reference.Reference, now time.Time) (*diagnosis.Evidence, error) {
	server := q.Server
	owners, err := q.subject(ctx, ref)
	if err != nil {
		return nil, err
	}
	if err := q.children(ctx, owners); err != nil {
		return nil, err
	}
	all, err := workload.Read(q.objects, q.options())
	if err != nil {
		return nil, err
	}
	first, err := Search(all, ref, server.Namespace)
	if err != nil {
		return nil, err
	}
	if err := q.details(ctx, first); err != nil {
		return nil, err
	}
	if all, err = workload.Read(q.objects, q.options()); err != nil {
		return nil, err
	}
	found, err := Search(all, ref, server.Namespace)
	if err != nil {
		return nil, err
	}
	found.Now, found.Read, found.Unread = now, q.read, q.unread
	return found, nil
}

// subject reads the object itself, and what made it if it is a Job. It gives the CronJobs and Timetables among them.
func (q *inquiry) subject(ctx context.Context, ref reference.Reference) ([]workload.Object, error) {
	kinds := q.kinds
	if kinds == nil {
		kinds = reference.KindsOf(ref.Kind)
	}
	var found []workload.Object
	for _, gvk := range kinds {
		object, err := q.get(ctx, gvk, q.Namespace, ref.Name)
		switch {
		case err != nil:
			return nil, err
		case object != nil:
			found = append(found, *object)
		}
	}
	if len(found) == 0 {
		var names []string
		if q.kinds == nil { // somebody has written a name, and may mean another one
			var err error
			if names, err = q.Names(ctx, kinds); err != nil {
				return nil, err
			}
		}
		return nil, &NotThere{reference.NotThere(ref, q.Namespace, names)}
	}
	q.objects = append(q.objects, found...)
	if ref.Kind != "job" {
		return found, nil
	}
	controller := metav1.GetControllerOf(found[0].Content)
	if controller == nil {
		return nil, nil
	}
	gvk := schema.FromAPIVersionAndKind(controller.APIVersion, controller.Kind)
	if !slices.Contains(reference.KindsOf("cronjob"), gvk) && !slices.Contains(reference.KindsOf("timetable"), gvk) {
		return nil, nil
	}
	owner, err := q.get(ctx, gvk, q.Namespace, controller.Name)
	if apierrors.IsForbidden(err) {
		q.unread = append(q.unread, fmt.Sprintf("%s %s: %v", controller.Kind, controller.Name, err))
		return nil, nil
	}
	if err != nil || owner == nil {
		return nil, err
	}
	q.objects = append(q.objects, *owner)
	return []workload.Object{*owner}, nil
}

// children reads what CronJobs and Timetables have started, and the Calendars of Timetables.
func (q *inquiry) children(ctx context.Context, owners []workload.Object) error {
	q.read.Jobs = true
	for _, owner := range owners {
		uid := owner.Content.GetUID()
		ours := func(o workload.Object) bool {
			controller := metav1.GetControllerOfNoCopy(o.Content)
			return controller != nil && controller.UID == uid
		}
		kinds, options := []schema.GroupVersionKind{jobKind}, metav1.ListOptions{}
		if owner.Content.GroupVersionKind() == v1alpha1.GroupVersion.WithKind("Timetable") {
			ok, err := q.add(ctx, calendarKind, q.Namespace, metav1.ListOptions{}, nil)
			if err != nil {
				return err
			}
			if !ok {
				q.calendars = "Calendars may not be read by whoever asks"
			}
			options.LabelSelector = v1alpha1.LabelTimetableUID + "=" + string(uid)
			kinds = chosenKinds(owner, q.Namespace)
		} else if owner.Content.GroupVersionKind().Group != batchv1.GroupName {
			kinds = childKinds(owner)
		}
		for _, gvk := range kinds {
			if q.near != nil {
				if err := q.addNear(ctx, gvk, ours); err != nil {
					return err
				}
				continue
			}
			ok, err := q.add(ctx, gvk, q.Namespace, options, ours)
			if err != nil {
				return err
			}
			q.read.Jobs = q.read.Jobs && ok
		}
	}
	return nil
}

// chosenKinds are the kinds of what a Timetable starts.
func chosenKinds(owner workload.Object, namespace string) []schema.GroupVersionKind {
	all, err := workload.Read([]workload.Object{owner}, workload.Options{Namespace: namespace})
	if err != nil || len(all.Scheduled) != 1 {
		return nil
	}
	if chooser, ok := all.Scheduled[0].Kind.(adapter.ChildChooser); ok && all.Scheduled[0].Unreadable == nil {
		return chooser.ChildKinds(all.Scheduled[0].Typed)
	}
	return nil
}

// childKinds is the kind of what a CronJob of that kind starts.
func childKinds(owner workload.Object) []schema.GroupVersionKind {
	all, err := workload.Read([]workload.Object{owner}, workload.Options{})
	if err != nil || len(all.Scheduled) != 1 {
		return nil
	}
	return []schema.GroupVersionKind{all.Scheduled[0].Kind.Info().Child}
}

// details reads the Pods and events of what matters most, and what may keep a controller from starting anything.
func (q *inquiry) details(ctx context.Context, first *diagnosis.Evidence) error {
	jobs, about := closest(first)
	q.read.Pods, q.read.Events = true, true
	if len(jobs) > 0 {
		ok, err := q.add(ctx, podKind, q.Namespace, metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + " in (" + strings.Join(jobs, ",") + ")"}, nil)
		if err != nil {
			return err
		}
		q.read.Pods = ok
	}
	pods := 0
	for i := len(q.objects) - 1; i >= 0 && pods < maxClose; i-- {
		if o := q.objects[i].Content; o.GroupVersionKind() == podKind {
			about, pods = append(about, o.GetUID()), pods+1
		}
	}
	for _, uid := range about {
		ok, err := q.add(ctx, eventKind, q.Namespace, metav1.ListOptions{FieldSelector: "involvedObject.uid=" + string(uid)}, nil)
		if err != nil {
			return err
		}
		if q.read.Events = q.read.Events && ok; !ok {
			break
		}
	}
	if _, err := q.add(ctx, quotaKind, q.Namespace, metav1.ListOptions{}, nil); err != nil {
		return err
	}
	namespace, err := q.get(ctx, namespaceKind, "", q.Namespace)
	switch {
	case apierrors.IsForbidden(err):
		q.unread = append(q.unread, fmt.Sprintf("Namespace %s: %v", q.Namespace, err))
	case err != nil:
		return err
	case namespace != nil:
		q.objects = append(q.objects, *namespace)
	}
	return q.leases(ctx)
}

// leases reads those of controllers.
func (q *inquiry) leases(ctx context.Context) error {
	q.read.Leases = true
	for _, name := range []string{"carillon-manager", "kube-controller-manager"} {
		ok, err := q.add(ctx, leaseKind, "", metav1.ListOptions{FieldSelector: "metadata.name=" + name}, nil)
		if err != nil {
			return err
		}
		if q.read.Leases = q.read.Leases && ok; !ok {
			break
		}
	}
	return nil
}

// closest are the names of the Jobs, and the UIDs of the objects, that are worth a closer look: what was asked about,
// what is active, and the newest.
func closest(e *diagnosis.Evidence) (jobs []string, uids []types.UID) {
	add := func(name string, uid types.UID) {
		if uid != "" && !slices.Contains(uids, uid) {
			uids = append(uids, uid)
			if name != "" {
				jobs = append(jobs, name)
			}
		}
	}
	if e.Job != nil {
		add(e.Job.Name, e.Job.UID)
	}
	if e.Scheduled != nil {
		add("", e.Scheduled.Owner.UID)
	}
	runName := func(r *diagnosis.Run) string {
		if r.Job != nil {
			return r.Name
		}
		return ""
	}
	for i := range e.Runs {
		if r := &e.Runs[i]; r.Active() && len(uids) < maxClose {
			add(runName(r), r.UID)
		}
	}
	for i := len(e.Runs) - 1; i >= 0 && len(uids) < maxClose; i-- {
		add(runName(&e.Runs[i]), e.Runs[i].UID)
	}
	return jobs, uids
}
