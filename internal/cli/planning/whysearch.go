// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"cmp"
	"context"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/carillon-dev/carillon/internal/cli/exitcode"
	"github.com/carillon-dev/carillon/internal/kind"
	"github.com/carillon-dev/carillon/internal/plan/diagnosis"
	"github.com/carillon-dev/carillon/internal/plan/spelling"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// search finds the object of a reference among all that is known, and what tells of it. namespace is "" if none was
// named.
func (w *why) search(all *workload.Objects, ref reference, namespace string) (*diagnosis.Evidence, error) {
	if ref.kind == "job" {
		if in := namespacesOf(all, ref.name); namespace == "" && len(in) > 1 {
			return nil, exitcode.UsageError("%s is in the namespaces %s: name one with -n", ref, shortList(in))
		}
		evidence := diagnosis.Gather(all, nil, namespace, ref.name)
		if evidence.Job == nil {
			return nil, notThere(ref, namespace, jobNames(all))
		}
		return evidence, nil
	}
	var names []string
	for _, s := range all.Scheduled {
		if strings.HasPrefix(s.Reference(), ref.kind+"/") {
			names = append(names, s.Owner.Name)
		}
	}
	if !slices.Contains(names, ref.name) {
		return nil, notThere(ref, namespace, names)
	}
	if namespace != "" {
		all = &workload.Objects{Jobs: all.Jobs, Others: all.Others, Scheduled: slices.DeleteFunc(slices.Clone(all.Scheduled),
			func(s *workload.Scheduled) bool { return s.Owner.Namespace != namespace })}
	}
	found, err := find(all, ref, "")
	if err != nil {
		return nil, err
	}
	return diagnosis.Gather(all, found, "", ""), nil
}

// namespacesOf are the namespaces that have a Job of that name.
func namespacesOf(all *workload.Objects, name string) []string {
	var in []string
	for _, o := range all.Jobs {
		if o.Content.GetName() == name && o.Content.GroupVersionKind() == jobKind {
			in = append(in, cmp.Or(o.Content.GetNamespace(), "default"))
		}
	}
	slices.Sort(in)
	return slices.Compact(in)
}

func jobNames(all *workload.Objects) []string {
	var names []string
	for _, o := range all.Jobs {
		names = append(names, o.Content.GetName())
	}
	return names
}

// notThere says that there is no such object, and which ones have nearly its name.
func notThere(ref reference, namespace string, names []string) error {
	where := ""
	if namespace != "" {
		where = " in namespace " + namespace
	}
	near := spelling.Nearest(ref.name, names)
	for i := range near {
		near[i] = ref.kind + "/" + near[i]
	}
	switch {
	case len(near) > 0:
		return exitcode.UsageError("there is no %s%s; did you mean %s?", ref, where, strings.Join(near, " or "))
	case len(names) > 0:
		slices.Sort(names)
		return exitcode.UsageError("there is no %s%s; there are %s", ref, where, shortList(slices.Compact(names)))
	}
	return exitcode.UsageError("there is no %s%s; no %s is there at all (-n names another namespace)", ref, where, ref.kind)
}

// names are the names of all objects of a kind, for completion and for messages.
func (w *why) names(ctx context.Context, kindWord string) ([]string, error) {
	if len(w.input.files) > 0 {
		objects, err := w.input.fromFiles(ctx, w.streams, func(string) {})
		if err != nil {
			return nil, err
		}
		var names []string
		for _, o := range objects {
			if slices.Contains(kindsOf(kindWord), o.Content.GroupVersionKind()) {
				names = append(names, o.Content.GetName())
			}
		}
		return names, nil
	}
	server, err := w.input.connect()
	if err != nil {
		return nil, err
	}
	return server.names(ctx, kindWord)
}

func (s *server) names(ctx context.Context, kindWord string) ([]string, error) {
	var names []string
	for _, gvk := range kindsOf(kindWord) {
		objects, err := s.list(ctx, gvk, false)
		if meta.IsNoMatchError(err) || apierrors.IsForbidden(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			names = append(names, o.Content.GetName())
		}
	}
	return names, nil
}

// kindsOf are the kinds that a reference's word may mean.
func kindsOf(word string) []schema.GroupVersionKind {
	switch word {
	case "timetable":
		return []schema.GroupVersionKind{kind.Timetable{}.Info().Owner}
	case "job":
		return []schema.GroupVersionKind{batchv1.SchemeGroupVersion.WithKind("Job")}
	}
	var kinds []schema.GroupVersionKind
	for _, k := range kind.All {
		kinds = append(kinds, k.Info().Owner)
	}
	return kinds
}
