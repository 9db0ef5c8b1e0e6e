// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"maps"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/carillon-dev/carillon/api/v1alpha1"
)

var unknownField = &Rule{
	ID: "unknown-field", Level: Warning, Kinds: "CronJob (tutorial, Volcano), Timetable",
	Summary: "a field does not exist, and is dropped",
	Reason:  "API servers drop fields that they do not know from custom resources without a word: comand is not command.",
	Cure:    "Mend its spelling, or take it out; kubectl explain lists the fields.",
	check: func(s *Subject) []problem {
		if s.scheduled == nil || s.scheduled.Unreadable != nil || s.isBatchCronJob() {
			return nil // those of batch/v1 were read strictly
		}
		var found []problem
		if s.timetable != nil {
			found = unknown(s.Content.Object, nil, &v1alpha1.Timetable{})
		}
		kind, path := s.runKind()
		written, _ := get(s.Content.Object, path)
		switch kind {
		case schema.GroupKind{Group: batchv1.GroupName, Kind: "Job"}:
			found = append(found, unknown(written, path, &batchv1.JobSpec{})...)
		case schema.GroupKind{Kind: "Pod"}:
			found = append(found, unknown(written, path, &corev1.PodSpec{})...)
		}
		return found
	},
}

// unknown are the fields at a path that a type lacks.
func unknown(written any, path Path, into any) []problem {
	fields, ok := written.(map[string]any)
	if !ok {
		return nil
	}
	err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(fields, into, true)
	strict, ok := runtime.AsStrictDecodingError(err)
	if !ok {
		return nil
	}
	var found []problem
	for _, each := range strict.Errors() {
		text := strings.Trim(strings.TrimPrefix(each.Error(), "unknown field "), `"`)
		field := path.and(parsePath(text)...)
		found = append(found, one(field, "there is no field %s; it is dropped", field)...)
	}
	slices.SortFunc(found, func(a, b problem) int { return strings.Compare(a.message, b.message) })
	return found
}

// parsePath reads "a.b[0].c".
func parsePath(text string) Path {
	var path Path
	for part := range strings.SplitSeq(text, ".") {
		name, rest, _ := strings.Cut(part, "[")
		if name != "" {
			path = append(path, name)
		}
		for number := range strings.SplitSeq(strings.ReplaceAll(rest, "[", ""), "]") {
			if n, ok := digits(number); ok {
				path = append(path, n)
			}
		}
	}
	return path
}

func digits(text string) (n int, ok bool) {
	for _, c := range text {
		if c < '0' || c > '9' || n > 1<<20 {
			return 0, false
		}
		n = 10*n + int(c-'0')
	}
	return n, text != ""
}

func sortedKeys(fields map[string]any) []string { return slices.Sorted(maps.Keys(fields)) }
