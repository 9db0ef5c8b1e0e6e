// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reference names objects as kubectl does: cronjob/backup, tt/report, job/import.
//
//   - reference.go   what a user writes, and the object that it means
//   - kinds.go       the kinds of the API that a word may mean
//   - completion.go  names for the shell
package reference

import (
	"fmt"
	"slices"
	"strings"

	"github.com/carillon-dev/carillon/internal/client/exitcode"
	"github.com/carillon-dev/carillon/internal/plan/spelling"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// Reference is kind/name, as kubectl writes it.
type Reference struct {
	Kind string // cronjob, timetable or job
	Name string
}

// words are those that a reference may have for a kind.
var words = map[string][]string{
	"cronjob":   {"cronjob", "cronjobs", "cj", "cronjob.batch", "cronjobs.batch"},
	"timetable": {"timetable", "timetables", "tt", "timetables.batch.carillon.dev"},
	"job":       {"job", "jobs", "job.batch", "jobs.batch"},
}

// Parse reads kind/name; ok is false for what is no reference: an expression, or a bare name.
func Parse(text string) (ref Reference, ok bool) {
	word, name, found := strings.Cut(text, "/")
	if !found || name == "" || strings.ContainsAny(text, " \t*@,") {
		return Reference{}, false
	}
	for kind, known := range words {
		if slices.Contains(known, strings.ToLower(word)) {
			return Reference{kind, name}, true
		}
	}
	return Reference{}, false
}

func (r Reference) String() string { return r.Kind + "/" + r.Name }

// Find gives the CronJob or Timetable of a reference: that of the namespace, if one was named ("" for none).
func Find(all *workload.Objects, ref Reference, namespace string) (*workload.Scheduled, error) {
	var found []*workload.Scheduled
	var names, qualified []string
	for _, s := range all.Scheduled {
		if namespace != "" && s.Typed.GetNamespace() != namespace {
			continue
		}
		if s.Reference() == ref.String() {
			found = append(found, s)
			qualified = append(qualified, s.Typed.GetNamespace()+"/"+s.Owner.Name)
		}
		names = append(names, s.Reference())
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		if len(names) == 0 && len(all.Scheduled) > 0 {
			return nil, exitcode.UsageError("there is no %s in the namespace %s, nor any other CronJob or Timetable", ref, namespace)
		}
		if len(names) == 0 {
			return nil, exitcode.UsageError("there is no %s: no CronJob or Timetable was found at all", ref)
		}
		return nil, exitcode.UsageError("there is no %s; there are %s", ref, ShortList(names))
	}
	cure := "name one of the namespaces with --namespace"
	if sameNamespace(found) {
		cure = "name a file that has one of them with -f"
	}
	return nil, exitcode.UsageError("%s is the name of %d objects, %s; %s", ref, len(found), ShortList(qualified), cure)
}

func sameNamespace(objects []*workload.Scheduled) bool {
	return !slices.ContainsFunc(objects, func(s *workload.Scheduled) bool { return s.Typed.GetNamespace() != objects[0].Typed.GetNamespace() })
}

// ShortList is the first of some names.
func ShortList(names []string) string {
	const most = 8
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}

// NotThere says that there is no such object, and which ones have nearly its name.
func NotThere(ref Reference, namespace string, names []string) error {
	where := ""
	if namespace != "" {
		where = " in namespace " + namespace
	}
	near := spelling.Nearest(ref.Name, names)
	for i := range near {
		near[i] = ref.Kind + "/" + near[i]
	}
	switch {
	case len(near) > 0:
		return exitcode.UsageError("there is no %s%s; did you mean %s?", ref, where, strings.Join(near, " or "))
	case len(names) > 0:
		slices.Sort(names)
		return exitcode.UsageError("there is no %s%s; there are %s", ref, where, ShortList(slices.Compact(names)))
	}
	return exitcode.UsageError("there is no %s%s; no %s is there at all (-n names another namespace)", ref, where, ref.Kind)
}
