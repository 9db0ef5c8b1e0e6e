// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"cmp"
	"slices"
	"time"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// A Subject is an object that rules look at: a CronJob, a Timetable, a Job or a Calendar.
type Subject struct {
	workload.Object
	// scheduled is set for a CronJob or Timetable, timetable for the latter.
	scheduled *workload.Scheduled
	timetable *v1alpha1.Timetable
	// unreadable says why it is no object of its API; nil if it is.
	unreadable *workload.Unreadable
	// jobs are the specs of its Jobs of batch/v1, pods its Pod templates, those of jobs among them.
	jobs []jobSpec
	pods []podSpec
	// starts are its first scheduled times from now on.
	starts starts

	now          time.Time
	fixZone      string
	refusals     Refusals
	document     *document // nil if the text is not known
	suppressions suppressions
	namespace    string

	order, fileOrder int
}

// subjects are all objects that rules look at, in the order in which they were given: those with a schedule, then Jobs,
// then Calendars and whatever else may be there twice.
type subjects struct {
	subjects []*Subject
	now      time.Time
}

func subjectsOf(objects *workload.Objects, options Options) *subjects {
	all := &subjects{now: options.Now}
	texts := newDocuments(options.Texts)
	files := map[string]int{}
	add := func(o workload.Object) *Subject {
		if _, known := files[o.File]; !known {
			files[o.File] = len(files)
		}
		s := &Subject{Object: o, now: options.Now, fixZone: options.Zone, refusals: options.Refusals, order: len(all.subjects), fileOrder: files[o.File]}
		s.document = texts.of(o)
		s.namespace = cmp.Or(o.Content.GetNamespace(), "default")
		s.suppressions = suppressionsOf(s)
		all.subjects = append(all.subjects, s)
		return s
	}
	for _, scheduled := range objects.Scheduled {
		s := add(scheduled.Object)
		s.scheduled, s.timetable, s.namespace = scheduled, scheduled.Timetable(), scheduled.Owner.Namespace
		s.starts = startsOf(scheduled, options.Now)
		s.readTemplates()
	}
	for _, o := range objects.Jobs {
		add(o).readTemplates()
	}
	for _, o := range objects.Others {
		add(o)
	}
	for _, o := range objects.Unreadable {
		add(o.Object).unreadable = &o
	}
	return all
}

// name is the kind and name, "CronJob backup", with the namespace if it is written.
func (s *Subject) name() string {
	name := cmp.Or(s.Content.GetName(), s.Content.GetGenerateName()+"…")
	if namespace := s.Content.GetNamespace(); namespace != "" {
		name = namespace + "/" + name
	}
	return s.Content.GetKind() + " " + name
}

// known tells whether it has a kind that rules look at, or was meant to have one.
func (s *Subject) known() bool {
	gvk := s.Content.GroupVersionKind()
	if slices.Contains(ownKinds, gvk) || gvk.Kind == "CronJob" && deprecated(s.Content.GetAPIVersion()) {
		return true
	}
	_, _, meant := s.meant()
	return meant
}

// isCronJob tells whether it is a CronJob of some kind.
func (s *Subject) isCronJob() bool { return s.scheduled != nil && s.timetable == nil }

// isBatchCronJob tells whether it is a CronJob of batch/v1.
func (s *Subject) isBatchCronJob() bool {
	return s.isCronJob() && s.Content.GroupVersionKind().Group == "batch"
}

// zoned tells whether it has a field timeZone: the CronJob of the tutorial has not.
func (s *Subject) zoned() bool {
	return s.scheduled != nil && s.Content.GroupVersionKind().Group != "batch.tutorial.kubebuilder.io"
}

// written gives what stands at a path, as it was written: without defaults.
func (s *Subject) written(steps ...any) (any, bool) { return get(s.Content.Object, steps) }

func (s *Subject) has(steps ...any) bool {
	value, ok := get(s.Content.Object, steps)
	return ok && value != nil
}

func (s *Subject) text(steps ...any) string { return getString(s.Content.Object, steps) }

// number gives a whole number that stands at a path.
func (s *Subject) number(steps ...any) (int64, bool) {
	value, _ := s.written(steps...)
	switch n := value.(type) {
	case int64:
		return n, true
	case float64:
		return int64(n), n == float64(int64(n))
	}
	return 0, false
}
