// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/carillon-dev/carillon/internal/kind"
)

// KindsOf are the kinds that a reference's word may mean.
func KindsOf(word string) []schema.GroupVersionKind {
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
