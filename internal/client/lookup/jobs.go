// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"context"
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/client/cluster"
	"github.com/carillon-dev/carillon/internal/kind"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// mostJobs is up to how many Jobs all are read where nobody asks about one schedule. With more of them only those are
// read that run or have failed: the others say least, and would take long.
const mostJobs = 20_000

// scope is what is read at once: what a namespace has, "" for all.
type scope struct {
	namespace string
	// name is that of the objects, "" for any.
	name string
	// kind and uid are those of what started them: only a Timetable's can be asked for by label. "" is any.
	kind string
	uid  types.UID
	// all: however many there are.
	all bool
}

var (
	jobKind       = batchv1.SchemeGroupVersion.WithKind("Job")
	podKind       = corev1.SchemeGroupVersion.WithKind("Pod")
	timetableKind = v1alpha1.GroupVersion.WithKind("Timetable")
)

func (c *scope) options() metav1.ListOptions {
	options := metav1.ListOptions{Limit: cluster.PageSize}
	if c.name != "" {
		options.FieldSelector = fields.OneTermEqualSelector("metadata.name", c.name).String()
	}
	if c.kind == timetableKind.Kind && c.uid != "" {
		options.LabelSelector = v1alpha1.LabelTimetableUID + "=" + string(c.uid)
	}
	return options
}

// list reads the runs of a scope. What their Pods tell is not in them.
func (s *apiSource) list(ctx context.Context, c scope) ([]run.Run, error) {
	var runs []run.Run
	tables, err := s.timetables(ctx, c)
	if err != nil {
		return nil, err
	}
	for _, gvk := range childKinds(c, tables) {
		var more []run.Run
		if gvk == jobKind {
			more, err = s.jobs(ctx, c)
		} else {
			more, err = s.objects(ctx, c, gvk, tables)
		}
		switch {
		case apierrors.IsForbidden(err):
			s.leftOut(gvk.Kind+"s", err)
		case meta.IsNoMatchError(err):
		case err != nil:
			return nil, fmt.Errorf("list %ss: %w", gvk.Kind, err)
		}
		runs = append(runs, more...)
	}
	return runs, nil
}

// childKinds are the kinds of what the owners in a scope may start.
func childKinds(c scope, tables map[types.UID]*workload.Scheduled) []schema.GroupVersionKind {
	kinds := []schema.GroupVersionKind{jobKind}
	add := func(gvk schema.GroupVersionKind) {
		if !slices.Contains(kinds, gvk) {
			kinds = append(kinds, gvk)
		}
	}
	if c.kind != timetableKind.Kind {
		for _, k := range kind.All {
			add(k.Info().Child)
		}
	}
	for _, t := range tables {
		if chooser, ok := t.Kind.(adapter.ChildChooser); ok && t.Unreadable == nil {
			for _, gvk := range chooser.ChildKinds(t.Typed) {
				add(gvk)
			}
		}
	}
	slices.SortFunc(kinds[1:], func(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) })
	return kinds
}

// timetables reads those of a scope: they choose what they start, and tell how that has ended.
func (s *apiSource) timetables(ctx context.Context, c scope) (map[types.UID]*workload.Scheduled, error) {
	if c.kind != "" && c.kind != timetableKind.Kind {
		return nil, nil
	}
	resource, err := s.server.Resource(timetableKind, c.namespace)
	if meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var found []workload.Object
	for options := (metav1.ListOptions{Limit: cluster.PageSize}); ; {
		page, err := resource.List(ctx, options)
		if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
			s.leftOut("Timetables", err)
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("list Timetables: %w", err)
		}
		for i := range page.Items {
			page.Items[i].SetManagedFields(nil)
			if c.uid == "" || page.Items[i].GetUID() == c.uid {
				found = append(found, workload.Object{Content: &page.Items[i]})
			}
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			break
		}
	}
	all, err := workload.Read(found, workload.Options{KeepUnreadable: true})
	if err != nil {
		return nil, err
	}
	tables := map[types.UID]*workload.Scheduled{}
	for _, t := range all.Scheduled {
		tables[t.Typed.GetUID()] = t
	}
	return tables, nil
}

// jobs reads Jobs of batch/v1.
func (s *apiSource) jobs(ctx context.Context, c scope) ([]run.Run, error) {
	options := c.options()
	if !c.all && c.name == "" && options.LabelSelector == "" {
		first, err := s.client.BatchV1().Jobs(c.namespace).List(ctx, metav1.ListOptions{Limit: 1})
		if err != nil {
			return nil, err
		}
		if n := first.RemainingItemCount; n != nil && int(*n)+len(first.Items) > s.most {
			return s.jobsThatMatter(ctx, c, int(*n)+len(first.Items))
		}
	}
	return s.jobPages(ctx, c.namespace, options, 0)
}

// jobPages reads the Jobs that options choose, at most as many as most says unless that is 0.
func (s *apiSource) jobPages(ctx context.Context, namespace string, options metav1.ListOptions, most int) ([]run.Run, error) {
	var runs []run.Run
	for {
		page, err := s.client.BatchV1().Jobs(namespace).List(ctx, options)
		if err != nil {
			return runs, err
		}
		for i := range page.Items {
			runs = append(runs, run.FromJob(&page.Items[i]))
		}
		if options.Continue = page.Continue; options.Continue == "" || most > 0 && len(runs) >= most {
			return runs, nil
		}
	}
}

// jobsThatMatter reads, of very many Jobs, those that have failed or run.
func (s *apiSource) jobsThatMatter(ctx context.Context, c scope, count int) ([]run.Run, error) {
	options := c.options()
	options.FieldSelector = "status.successful!=1"
	runs, err := s.jobPages(ctx, c.namespace, options, s.most)
	if err != nil {
		return nil, err
	}
	told := "of " + quantity.CountGrouped(count, "Job") + " only those were read that run or have failed (-n NAMESPACE or the name of one object asks about fewer)"
	if len(runs) >= s.most {
		told = "of " + quantity.CountGrouped(count, "Job") + " only " + quantity.Grouped(len(runs)) + " were read (-n NAMESPACE or the name of one object asks about fewer)"
	}
	s.limit(told)
	known := map[types.UID]bool{}
	for i := range runs {
		known[runs[i].UID] = true
	}
	// A Job of which one Pod has succeeded may run all the same.
	pods := metav1.ListOptions{Limit: cluster.PageSize, LabelSelector: batchv1.ControllerUidLabel, FieldSelector: "status.phase!=Succeeded,status.phase!=Failed"}
	for {
		page, err := s.client.CoreV1().Pods(c.namespace).List(ctx, pods)
		if apierrors.IsForbidden(err) {
			s.leftOut("Pods", err)
			return runs, nil
		}
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			pod := &page.Items[i]
			owner := metav1.GetControllerOfNoCopy(pod)
			if owner == nil || owner.Kind != jobKind.Kind || known[owner.UID] {
				continue
			}
			known[owner.UID] = true
			j, err := s.client.BatchV1().Jobs(pod.Namespace).Get(ctx, owner.Name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				continue
			}
			if err != nil {
				return nil, err
			}
			runs = append(runs, run.FromJob(j))
		}
		if pods.Continue = page.Continue; pods.Continue == "" {
			return runs, nil
		}
	}
}

// objects reads objects of another kind: those that a schedule has started.
func (s *apiSource) objects(ctx context.Context, c scope, gvk schema.GroupVersionKind, tables map[types.UID]*workload.Scheduled) ([]run.Run, error) {
	resource, err := s.server.Resource(gvk, c.namespace)
	if err != nil {
		return nil, err
	}
	options := c.options()
	if gvk == podKind {
		options.LabelSelector = strings.Join([]string{v1alpha1.LabelTimetableUID, options.LabelSelector}, ",")
		options.LabelSelector = strings.TrimSuffix(options.LabelSelector, ",")
	}
	var runs []run.Run
	for {
		page, err := resource.List(ctx, options)
		if err != nil {
			return runs, err
		}
		for i := range page.Items {
			var owner adapter.Object
			if ref := metav1.GetControllerOfNoCopy(&page.Items[i]); ref != nil && tables[ref.UID] != nil {
				owner = tables[ref.UID].Typed
			}
			runs = append(runs, run.FromObject(&page.Items[i], owner))
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return runs, nil
		}
		if len(runs) >= s.most && !c.all {
			s.limit("of " + gvk.Kind + "s only " + quantity.Grouped(len(runs)) + " were read")
			return runs, nil
		}
	}
}
