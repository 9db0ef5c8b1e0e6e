// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/carillon-dev/carillon/api/v1alpha1"
)

var unknownKind = &Rule{
	ID: "unknown-kind", Level: Error, Kinds: "all",
	Summary: "a CronJob, Job, Timetable or Calendar under an apiVersion or a spelling that no API has",
	Reason:  "The API server refuses it: no matches for kind. Nothing else was looked at in it.",
	Cure:    "Write the apiVersion and kind that the message names.",
	check: func(s *Subject) []problem {
		want, path, ok := s.meant()
		if !ok {
			return nil
		}
		version, kind := want.ToAPIVersionAndKind()
		found := one(path, "there is no kind %s in %s", s.Content.GetKind(), s.Content.GetAPIVersion())
		found[0].cure = fmt.Sprintf("Write apiVersion: %s and kind: %s.", version, kind)
		return found
	},
}

// ownKinds are the kinds that are looked at, the most common of a name first.
var ownKinds = []schema.GroupVersionKind{
	{Group: "batch", Version: "v1", Kind: "CronJob"},
	{Group: "batch.volcano.sh", Version: "v1alpha1", Kind: "CronJob"},
	{Group: "batch.tutorial.kubebuilder.io", Version: "v1", Kind: "CronJob"},
	{Group: "batch", Version: "v1", Kind: "Job"},
	{Group: "batch.volcano.sh", Version: "v1alpha1", Kind: "Job"},
	v1alpha1.GroupVersion.WithKind("Timetable"),
	v1alpha1.GroupVersion.WithKind("Calendar"),
}

// meant is the kind that an object that is of none was meant to have, and the field at fault; ok is false if it has
// one, or is something else altogether.
func (s *Subject) meant() (want schema.GroupVersionKind, path Path, ok bool) {
	gvk := s.Content.GroupVersionKind()
	if s.scheduled != nil || len(s.jobs) > 0 || gvk.Group == "batch" && gvk.Kind == "CronJob" && gvk.Version != "v1" && deprecated(s.Content.GetAPIVersion()) {
		return want, nil, false
	}
	for _, own := range ownKinds {
		switch {
		case gvk == own:
			return want, nil, false
		case !strings.EqualFold(gvk.Kind, own.Kind):
		case want.Empty(), gvk.Group == own.Group:
			want = own
		}
	}
	if want.Empty() || gvk.Kind == want.Kind && foreign(gvk.Group) && (want.Kind == "Job" || want.Kind == "Calendar") {
		return want, nil, false // others have kinds of these names, too
	}
	if gvk.GroupVersion() == want.GroupVersion() {
		return want, at("kind"), true
	}
	return want, at("apiVersion"), true
}

// foreign tells whether a group is one of somebody else's definitions.
func foreign(group string) bool {
	return strings.Contains(group, ".") && !strings.Contains(group, "carillon") && !strings.Contains(group, "volcano")
}
