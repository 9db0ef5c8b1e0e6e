// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"fmt"

	"github.com/carillon-dev/carillon/internal/interval"
)

// matchSuccessPolicy finds the first rule of spec.successPolicy that the completed indexes satisfy (job.md 6.3) and the
// message for it. A rule whose set of indexes cannot be read or is empty never matches. Facts:
// pkg/controller/job/success_policy.go, KEP-3998.
func (s *syncState) matchSuccessPolicy() (message string, ok bool) {
	if s.indexes == nil || s.job.Spec.SuccessPolicy == nil || s.indexes.completed.Len() == 0 {
		return "", false
	}
	done := s.indexes.completed
	for i, rule := range s.job.Spec.SuccessPolicy.Rules {
		if rule.SucceededIndexes != nil {
			required := interval.Parse(*rule.SucceededIndexes, s.indexes.completions)
			if required.Len() == 0 {
				continue
			}
			met := required.Intersect(done).Len()
			ok = met == required.Len() || rule.SucceededCount != nil && met >= int(*rule.SucceededCount)
		} else {
			ok = rule.SucceededCount != nil && done.Len() >= int(*rule.SucceededCount)
		}
		if ok {
			return fmt.Sprintf("Matched rules at index %d", i), true
		}
	}
	return "", false
}
