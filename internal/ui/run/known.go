// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/client/lookup"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// known is all that is known of a run.
type known struct {
	run run.Run
	// others have the same name; tries are the runs of the same scheduled time with it, the first one first.
	others, tries []run.Run
	// previous and next are the runs of its schedule before and after it; nil if there are none.
	previous, next *run.Run
	usual          journal.Usual
	// repeats is the scheduled time of the run that it repeats, for one that somebody started by hand from another; zero
	// otherwise.
	repeats time.Time
	// stopping is since when it is being stopped, and killed when what still runs of it is killed at the latest; each zero
	// if that is not so, or not known.
	stopping, killed time.Time
	// schedule is what it belongs to, as it is now; nil if that is not known.
	schedule *workload.Scheduled
	// attempts are in the order in which they began; numbers are theirs, and count is the last of these.
	attempts []run.Attempt
	numbers  []int
	count    int
	// attemptsUnread: they could not be read.
	attemptsUnread bool
	// job is its live object, if that is one of batch/v1; live tells that there is one, of whatever kind.
	job  *batchv1.Job
	live bool
	// pods are those of this page, and morePods leads to the next ones; "" if there are none.
	pods     []corev1.Pod
	morePods string
	events   []corev1.Event
	// limits are the memory limits of containers, by name, 0 if there is none; those of the schedule as it is now, if
	// limitsNow.
	limits    map[string]int64
	limitsNow bool
	// stopped: it is of a Carillon that does not run.
	stopped bool
	// faults say what could not be read.
	faults []string
	// now is when the viewer looks, and viewer the zone in which times are told.
	now    time.Time
	viewer *time.Location
}

const (
	podsPerPage = 50
	mostEvents  = 100
)

// gather asks for what is known. What may not be read, or cannot be at this moment, is told on the page.
func (h *handlers) gather(ctx context.Context, f *found, podsFrom string) (*known, error) {
	k := &known{run: f.run, others: f.others, stopped: lookup.Stopped(h.site.Source) != ""}
	if err := h.gatherSchedule(ctx, k); err != nil {
		return nil, err
	}
	r := &k.run
	attempts, err := h.site.Source.Attempts(ctx, r)
	k.fault("its attempts", err)
	k.attemptsUnread = err != nil
	k.attempts, k.numbers, k.count = run.Numbered(attempts)
	if h.site.Server != nil {
		h.gatherObjects(ctx, k, podsFrom)
	}
	if r.Owner.UID != "" {
		usual, err := h.site.Source.Usual(ctx, []types.UID{r.Owner.UID})
		k.fault("how long runs take usually", err)
		k.usual = usual[r.Owner.UID]
		k.fault("the runs before and after it", h.neighbours(ctx, k))
	}
	return k, ctx.Err()
}

// gatherSchedule finds the schedule in what is known at once, and what only that tells.
func (h *handlers) gatherSchedule(ctx context.Context, k *known) error {
	if k.run.Owner.Name == "" {
		return nil
	}
	all, err := h.site.Cache.Schedules(ctx)
	if err != nil {
		k.fault("the schedule", err)
		return ctx.Err()
	}
	for _, s := range all {
		if s.Owner.UID == k.run.Owner.UID && k.run.Owner.UID != "" {
			k.schedule = s
			k.run = s.MarkRetrying([]run.Run{k.run})[0]
		}
	}
	return nil
}

// fault says that something could not be read.
func (k *known) fault(what string, err error) {
	if err != nil {
		k.faults = append(k.faults, unread(what, err))
	}
}

// unread says that something could not be read, and why.
func unread(what string, err error) string {
	if apierrors.IsForbidden(err) {
		return fmt.Sprintf("Not allowed to read %s: %v.", what, err)
	}
	return fmt.Sprintf("Not known: %s, as it could not be read: %v.", what, err)
}

// get reads an object into its Go type; false if there is none.
func (h *handlers) get(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string, into any) (bool, error) {
	resource, err := h.site.Server.Resource(gvk, namespace)
	if absent(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	object, err := resource.Get(ctx, name, metav1.GetOptions{})
	if absent(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if u, ok := into.(*unstructured.Unstructured); ok {
		*u = *object
		return true, nil
	}
	return true, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, into)
}

// list reads objects of a page.
func list[T any](ctx context.Context, h *handlers, gvk schema.GroupVersionKind, namespace string, options metav1.ListOptions) ([]T, string, error) {
	resource, err := h.site.Server.Resource(gvk, namespace)
	if absent(err) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	found, err := resource.List(ctx, options)
	if err != nil {
		return nil, "", err
	}
	all := make([]T, len(found.Items))
	for i := range found.Items {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found.Items[i].Object, &all[i]); err != nil {
			return nil, "", err
		}
	}
	return all, found.GetContinue(), nil
}

// gatherObjects reads what the API server has of the run.
func (h *handlers) gatherObjects(ctx context.Context, k *known, podsFrom string) {
	r := &k.run
	gvk := schema.FromAPIVersionAndKind(r.APIVersion, r.Kind)
	object := &unstructured.Unstructured{}
	ok, err := h.get(ctx, gvk, r.Namespace, r.Name, object)
	k.fault("its live object", err)
	k.live = ok && (r.UID == "" || object.GetUID() == r.UID)
	if k.live && gvk == batchv1.SchemeGroupVersion.WithKind("Job") {
		job := &batchv1.Job{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, job); err == nil {
			k.job = job
			k.limits = limitsOf(&job.Spec.Template.Spec)
		}
	}
	if !k.live {
		h.gatherLimits(ctx, k)
		return
	}
	if r.Trigger == run.Manual {
		k.repeats = repeatedTime(object)
	}
	switch {
	case r.Kind == "Pod" && r.APIVersion == "v1":
		pod := corev1.Pod{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &pod); err == nil {
			k.pods = []corev1.Pod{pod}
		}
	case k.job != nil:
		options := metav1.ListOptions{LabelSelector: batchv1.ControllerUidLabel + "=" + string(r.UID), Limit: podsPerPage, Continue: podsFrom}
		k.pods, k.morePods, err = list[corev1.Pod](ctx, h, corev1.SchemeGroupVersion.WithKind("Pod"), r.Namespace, options)
		if apierrors.IsResourceExpired(err) { // the address is old
			options.Continue = ""
			k.pods, k.morePods, err = list[corev1.Pod](ctx, h, corev1.SchemeGroupVersion.WithKind("Pod"), r.Namespace, options)
		}
		k.fault("its Pods", err)
	}
	k.isStopping(object)
	h.gatherEvents(ctx, k)
}

// gatherEvents reads the events of the object and of the Pods that are shown, newest first.
func (h *handlers) gatherEvents(ctx context.Context, k *known) {
	of := []types.UID{k.run.UID}
	for i := range k.pods {
		if len(of) < 10 && k.pods[i].UID != k.run.UID {
			of = append(of, k.pods[i].UID)
		}
	}
	for _, uid := range of {
		options := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("involvedObject.uid", string(uid)).String(), Limit: mostEvents}
		events, _, err := list[corev1.Event](ctx, h, corev1.SchemeGroupVersion.WithKind("Event"), k.run.Namespace, options)
		if err != nil {
			k.fault("its events", err)
			return
		}
		for i := range events {
			if events[i].InvolvedObject.UID == uid { // whoever answers may know no selectors
				k.events = append(k.events, events[i])
			}
		}
	}
}

// gatherLimits reads the memory limits of the schedule, for a run whose object is gone and that had too much memory.
func (h *handlers) gatherLimits(ctx context.Context, k *known) {
	o := k.run.Owner
	if o.Name == "" || !k.outOfMemory() {
		return
	}
	owner := &unstructured.Unstructured{}
	ok, err := h.get(ctx, schema.FromAPIVersionAndKind(o.APIVersion, o.Kind), k.run.Namespace, o.Name, owner)
	if err != nil || !ok || owner.GetUID() != o.UID {
		return // the page says what it had, and not what it was allowed
	}
	for _, path := range [][]string{{"spec", "jobTemplate", "spec", "template", "spec"}, {"spec", "template", "spec", "template", "spec"}} {
		content, found, err := unstructured.NestedMap(owner.Object, path...)
		spec := &corev1.PodSpec{}
		if err == nil && found && runtime.DefaultUnstructuredConverter.FromUnstructured(content, spec) == nil {
			k.limits, k.limitsNow = limitsOf(spec), true
			return
		}
	}
}

func (k *known) outOfMemory() bool {
	for i := range k.attempts {
		if k.attempts[i].Reason == "OOMKilled" {
			return true
		}
	}
	return false
}

// limitsOf are the memory limits of containers.
func limitsOf(spec *corev1.PodSpec) map[string]int64 {
	limits := map[string]int64{}
	for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range list {
			limits[list[i].Name] = list[i].Resources.Limits.Memory().Value()
		}
	}
	return limits
}

// eventTime is when an event was seen last.
func eventTime(e *corev1.Event) time.Time {
	switch {
	case e.Series != nil && !e.Series.LastObservedTime.IsZero():
		return e.Series.LastObservedTime.Time
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	case !e.EventTime.IsZero():
		return e.EventTime.Time
	}
	return e.CreationTimestamp.Time
}
