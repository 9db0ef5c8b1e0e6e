// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/carillon-dev/carillon/internal/client/cluster"
	"github.com/carillon-dev/carillon/internal/plan/diagnosis"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// Kubectl is the command that speaks to the same API server.
func Kubectl(flags cluster.Flags) string {
	switch local := flags.OrLocal(); {
	case flags.DataDir != "":
		return "carillon kubectl --data-dir " + diagnosis.Quoted(flags.DataDir)
	case local.DataDir != "":
		return "carillon kubectl"
	}
	command := "kubectl"
	if flags.Kubeconfig != "" {
		command += " --kubeconfig " + diagnosis.Quoted(flags.Kubeconfig)
	}
	if flags.Context != "" {
		command += " --context " + diagnosis.Quoted(flags.Context)
	}
	return command
}

// get reads one object; nil if it is not there, or the API server does not serve its kind.
func (q *inquiry) get(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string) (*workload.Object, error) {
	resource, err := q.Resource(gvk, namespace)
	if meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	content, err := resource.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &workload.Object{Content: content}, nil
}

// add lists objects; ok is false if they could not be read, which is told.
func (q *inquiry) add(ctx context.Context, gvk schema.GroupVersionKind, namespace string, options metav1.ListOptions, keep func(workload.Object) bool) (ok bool, err error) {
	resource, err := q.Resource(gvk, namespace)
	if meta.IsNoMatchError(err) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	for options.Limit = cluster.PageSize; ; {
		page, err := resource.List(ctx, options)
		switch {
		case apierrors.IsForbidden(err):
			if told := fmt.Sprintf("%ss: %v", gvk.Kind, err); !slices.Contains(q.unread, told) {
				q.unread = append(q.unread, told)
			}
			return false, nil
		case err != nil:
			return false, fmt.Errorf("list %ss: %w", gvk.Kind, err)
		}
		for i := range page.Items {
			o := workload.Object{Content: &page.Items[i]}
			known := slices.ContainsFunc(q.objects, func(have workload.Object) bool {
				return have.Content.GetUID() == o.Content.GetUID()
			})
			if !known && (keep == nil || keep(o)) {
				q.objects = append(q.objects, o)
			}
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return true, nil
		}
	}
}
