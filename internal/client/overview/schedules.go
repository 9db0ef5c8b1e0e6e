// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/kind"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	kindbatch "github.com/carillon-dev/carillon/internal/kind/batchv1"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// fromCache is how many objects a page may have that an API server gives from its memory.
const fromCache = 5000

// schedules reads the CronJobs and Timetables. Those of batch/v1 come in protobuf: there may be thousands. What may not
// be read is noted.
func (g *gatherer) schedules(ctx context.Context) error {
	typed, err := g.cronJobs(ctx)
	switch {
	case apierrors.IsForbidden(err):
		g.note("CronJobs are not known: %v", err)
	case err != nil:
		return fmt.Errorf("list CronJobs: %w", err)
	}
	scheduled, err := workload.ReadTyped(kindbatch.Kind{}, typed, nil, workload.Options{})
	if err != nil {
		return err
	}
	var others []workload.Object
	options := workload.Options{KeepUnreadable: true}
	for _, k := range kind.Owners {
		info := k.Info()
		if info.Owner == batchv1.SchemeGroupVersion.WithKind("CronJob") {
			continue
		}
		objects, err := g.objects(ctx, info.Owner)
		switch {
		case meta.IsNoMatchError(err), apierrors.IsNotFound(err):
		case apierrors.IsForbidden(err):
			g.note("%s are not known: %v", info.Name, err)
		case err != nil:
			return fmt.Errorf("list %s: %w", info.Name, err)
		}
		others = append(others, objects...)
	}
	if len(others) > 0 {
		calendars, err := g.objects(ctx, calendarKind)
		if apierrors.IsForbidden(err) {
			options.CalendarsUnread = err.Error()
		} else if err != nil && !meta.IsNoMatchError(err) {
			return fmt.Errorf("list Calendars: %w", err)
		}
		others = append(others, calendars...)
	}
	all, err := workload.Read(others, options)
	if err != nil {
		return err
	}
	for _, u := range all.Unreadable {
		g.note("%s cannot be read: %v", u.Object, u)
	}
	g.in.Schedules = append(scheduled, all.Scheduled...)
	return nil
}

func (g *gatherer) cronJobs(ctx context.Context) ([]adapter.Object, error) {
	var all []adapter.Object
	options := metav1.ListOptions{ResourceVersion: "0", Limit: fromCache, LabelSelector: g.o.Selector.String()}
	for {
		page, err := g.client.BatchV1().CronJobs(g.o.Namespace).List(ctx, options)
		if err != nil {
			return all, err
		}
		for i := range page.Items {
			all = append(all, &page.Items[i])
		}
		if options.Continue, options.ResourceVersion = page.Continue, ""; options.Continue == "" {
			return all, nil
		}
	}
}

// calendarKind is what Timetables name.
var calendarKind = v1alpha1.GroupVersion.WithKind("Calendar")

// objects reads the objects of another kind. Only those that are suspended keep their managed fields, which tell who
// did that: they are as large as all the rest.
func (g *gatherer) objects(ctx context.Context, gvk schema.GroupVersionKind) ([]workload.Object, error) {
	resource, err := g.o.Server.Resource(gvk, g.o.Namespace)
	if err != nil {
		return nil, err
	}
	options := metav1.ListOptions{ResourceVersion: "0", Limit: fromCache}
	if gvk != calendarKind {
		options.LabelSelector = g.o.Selector.String()
	}
	var all []workload.Object
	for {
		page, err := resource.List(ctx, options)
		if err != nil {
			return all, err
		}
		for i := range page.Items {
			o := &page.Items[i]
			if !suspended(o) {
				o.SetManagedFields(nil)
			}
			all = append(all, workload.Object{Content: o})
		}
		if options.Continue, options.ResourceVersion = page.GetContinue(), ""; options.Continue == "" {
			return all, nil
		}
	}
}

func suspended(o *unstructured.Unstructured) bool {
	spec, _ := o.Object["spec"].(map[string]any) // what is none cannot be read, which is told
	return spec["suspend"] == true || spec["suspendUntil"] != nil
}
