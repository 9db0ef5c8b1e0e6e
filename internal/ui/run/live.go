// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/kind"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

var jobKind = batchv1.SchemeGroupVersion.WithKind("Job")

// live finds a run among the objects of the API server: one that has begun just now is in no list yet. It is nil if it
// is none of them, or if they may not be read.
func (h *handlers) live(ctx context.Context, namespace, name string, uid types.UID) (*found, error) {
	if h.site.Server == nil {
		return nil, nil
	}
	schedules, err := h.site.Cache.Schedules(ctx)
	if err != nil {
		schedules = nil // they are asked for only because of the kinds that they start
	}
	for _, gvk := range childKinds(schedules, namespace) {
		object := &unstructured.Unstructured{}
		ok, err := h.get(ctx, gvk, namespace, name, object)
		switch {
		case apierrors.IsForbidden(err):
			continue
		case err != nil:
			return nil, err
		case !ok || uid != "" && object.GetUID() != uid:
			continue
		}
		if object.GroupVersionKind().Empty() {
			object.SetGroupVersionKind(gvk)
		}
		r := run.FromObject(object, nil)
		for _, s := range schedules {
			if s.Owner.UID == r.Owner.UID && r.Owner.UID != "" {
				r = run.FromObject(object, s.Typed)
			}
		}
		if gvk == jobKind || r.Owner.Name != "" && run.KindOfOwner(r.Owner) != nil {
			return &found{run: r}, nil
		}
	}
	return nil, nil
}

// childKinds are the kinds of what the schedules of a namespace start, that of batch first.
func childKinds(schedules []*workload.Scheduled, namespace string) []schema.GroupVersionKind {
	kinds := []schema.GroupVersionKind{jobKind}
	add := func(gvk schema.GroupVersionKind) {
		if !slices.Contains(kinds, gvk) {
			kinds = append(kinds, gvk)
		}
	}
	for _, k := range kind.All {
		add(k.Info().Child)
	}
	for _, s := range schedules {
		if chooser, ok := s.Kind.(adapter.ChildChooser); ok && s.Unreadable == nil && s.Owner.Namespace == namespace {
			for _, gvk := range chooser.ChildKinds(s.Typed) {
				add(gvk)
			}
		}
	}
	return kinds
}
