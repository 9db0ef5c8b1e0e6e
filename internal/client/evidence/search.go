// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"cmp"
	"slices"
	"strings"

	"github.com/carillon-dev/carillon/internal/client/exitcode"
	"github.com/carillon-dev/carillon/internal/client/reference"
	"github.com/carillon-dev/carillon/internal/plan/diagnosis"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// Search finds the object of a reference among all that is known, and what tells of it. namespace is "" if none was
// named.
func Search(all *workload.Objects, ref reference.Reference, namespace string) (*diagnosis.Evidence, error) {
	if ref.Kind == "job" {
		if in := namespacesOf(all, ref.Name); namespace == "" && len(in) > 1 {
			return nil, exitcode.UsageError("%s is in the namespaces %s: name one with -n", ref, reference.ShortList(in))
		}
		evidence := diagnosis.Gather(all, nil, namespace, ref.Name)
		if evidence.Job == nil {
			return nil, reference.NotThere(ref, namespace, jobNames(all))
		}
		return evidence, nil
	}
	var names []string
	for _, s := range all.Scheduled {
		if strings.HasPrefix(s.Reference(), ref.Kind+"/") {
			names = append(names, s.Owner.Name)
		}
	}
	if !slices.Contains(names, ref.Name) {
		return nil, reference.NotThere(ref, namespace, names)
	}
	if namespace != "" {
		all = &workload.Objects{Jobs: all.Jobs, Others: all.Others, Scheduled: slices.DeleteFunc(slices.Clone(all.Scheduled),
			func(s *workload.Scheduled) bool { return s.Owner.Namespace != namespace })}
	}
	found, err := reference.Find(all, ref, "")
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
