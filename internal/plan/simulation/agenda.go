// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// happening is what will happen to a child.
type happening struct {
	at    time.Time
	order int
	uid   types.UID
	// gone: it is there no more. Otherwise it ends: failed, and overdue if it had no more time.
	gone            bool
	failed, overdue bool
}

// agenda is a heap of what will happen, by time, and at the same time in the order in which it was entered.
type agenda struct {
	heap    []happening
	entered int
}

func (a *agenda) before(i, j int) bool {
	if c := a.heap[i].at.Compare(a.heap[j].at); c != 0 {
		return c < 0
	}
	return a.heap[i].order < a.heap[j].order
}

// next is when something happens next, zero if nothing will.
func (a *agenda) next() time.Time {
	if len(a.heap) == 0 {
		return time.Time{}
	}
	return a.heap[0].at
}

func (a *agenda) add(h happening) {
	h.order = a.entered
	a.entered++
	a.heap = append(a.heap, h)
	for i := len(a.heap) - 1; i > 0 && a.before(i, (i-1)/2); i = (i - 1) / 2 {
		a.heap[i], a.heap[(i-1)/2] = a.heap[(i-1)/2], a.heap[i]
	}
}

// take gives what happens next. There has to be something.
func (a *agenda) take() happening {
	first, last := a.heap[0], len(a.heap)-1
	a.heap[0] = a.heap[last]
	a.heap = a.heap[:last]
	for i := 0; ; {
		least := i
		for _, child := range []int{2*i + 1, 2*i + 2} {
			if child < len(a.heap) && a.before(child, least) {
				least = child
			}
		}
		if least == i {
			return first
		}
		a.heap[i], a.heap[least] = a.heap[least], a.heap[i]
		i = least
	}
}
