// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

var invalidValue = &Rule{
	ID: "invalid-value", Level: Error, Kinds: "CronJob, Timetable, Job",
	Summary: "a field has a value that the API server refuses",
	Reason:  "It is applied by nobody: the API server answers with an error.",
	Cure:    "Write a value of the API; kubectl explain lists them.",
	check: func(s *Subject) []problem {
		if s.scheduled == nil && len(s.jobs) == 0 {
			return nil
		}
		var found []problem
		if name := s.Content.GetName(); name != "" {
			if wrong := validation.IsDNS1123Subdomain(name); len(wrong) > 0 {
				found = append(found, one(at("metadata", "name"), "the name %q is refused", name)...)
				found[0].cure = "A name is small letters, digits and hyphens."
			}
		}
		if s.scheduled != nil {
			for _, each := range ownWords(s) {
				found = append(found, s.oneOf(each.path, each.words)...)
			}
		}
		if s.isCronJob() {
			for _, field := range []string{"startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"} {
				found = append(found, s.notNegative(at("spec", field))...)
			}
		}
		for _, j := range s.jobs {
			found = append(found, s.oneOf(j.path.and("completionMode"), []string{"NonIndexed", "Indexed"})...)
			found = append(found, s.oneOf(j.path.and("podReplacementPolicy"), []string{"TerminatingOrFailed", "Failed"})...)
			for _, field := range []string{"parallelism", "completions", "backoffLimit", "ttlSecondsAfterFinished", "backoffLimitPerIndex", "maxFailedIndexes"} {
				found = append(found, s.notNegative(j.path.and(field))...)
			}
		}
		for _, p := range s.pods {
			found = append(found, s.oneOf(p.path.and("restartPolicy"), []string{"Always", "OnFailure", "Never"})...)
			for _, c := range p.containers() {
				found = append(found, s.oneOf(c.path.and("imagePullPolicy"), []string{"Always", "IfNotPresent", "Never"})...)
			}
		}
		return found
	},
}

// choice is a field that has one of some words.
type choice struct {
	path  Path
	words []string
}

// ownWords are such fields of a CronJob or Timetable itself.
func ownWords(s *Subject) []choice {
	if s.timetable == nil {
		return []choice{{at("spec", "concurrencyPolicy"), []string{"Allow", "Forbid", "Replace"}}}
	}
	all := []choice{
		{at("spec", "concurrency", "policy"), []string{"Forbid", "Queue", "Replace", "Allow"}},
		{at("spec", "catchUp", "policy"), []string{"None", "Latest", "All"}},
		{at("spec", "onResume"), []string{"Skip", "CatchUp"}},
		{at("spec", "dst", "gap"), []string{"Skip", "Shift"}},
		{at("spec", "dst", "overlap"), []string{"First", "Last", "Both"}},
	}
	for i := range s.timetable.Spec.Schedules {
		all = append(all, choice{at("spec", "schedules", i, "dayRule"), []string{"Either", "Both"}})
	}
	return all
}

// oneOf finds a text that is none of some words.
func (s *Subject) oneOf(path Path, allowed []string) []problem {
	value, written := s.written(path...)
	text, ok := value.(string)
	if !written || !ok || slices.Contains(allowed, text) {
		return nil
	}
	found := one(path, "%s: %s is refused", path[len(path)-1], text)
	found[0].cure = "It is one of " + strings.Join(allowed, ", ") + "."
	for _, word := range allowed {
		if strings.EqualFold(word, text) {
			found[0].cure = "Write " + word + ", with these capitals."
		}
	}
	return found
}

// notNegative finds a number below 0.
func (s *Subject) notNegative(path Path) []problem {
	if n, ok := s.number(path...); ok && n < 0 {
		found := one(path, "%s: %d is refused", path[len(path)-1], n)
		found[0].cure = "It is 0 or more."
		return found
	}
	return nil
}
