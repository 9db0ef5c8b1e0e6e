// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// executed is what counts as one attempt: the containers of a Pod that were started together, or again.
type executed struct {
	pod     types.UID
	restart int32
}

// Numbered gives the attempts of a run in the order in which they began, and the number of each one, from 1: containers
// of one Pod that were restarted as often have the same.
func Numbered(attempts []Attempt) (sorted []Attempt, numbers []int, count int) {
	sorted = slices.Clone(attempts)
	began := func(a *Attempt) time.Time {
		if a.Started.IsZero() {
			return a.Ended
		}
		return a.Started
	}
	slices.SortStableFunc(sorted, func(a, b Attempt) int {
		return cmp.Or(began(&a).Compare(began(&b)), cmp.Compare(a.Restart, b.Restart), cmp.Compare(a.ContainerID, b.ContainerID))
	})
	of := map[executed]int{}
	for i := range sorted {
		key := executed{sorted[i].PodUID, sorted[i].Restart}
		if of[key] == 0 {
			of[key] = len(of) + 1
		}
		numbers = append(numbers, of[key])
	}
	return sorted, numbers, len(of)
}

// WroteNothing tells whether an attempt is known to have written nothing: where nobody measured, nobody knows.
func (a *Attempt) WroteNothing() bool { return a.OutputBytes == 0 && a.CPU > 0 }
