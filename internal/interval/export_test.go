// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package interval

import "iter"

// Span returns the set of the indexes from first to last, both included. It is
// empty if last is before first.
func Span(first, last int) Set {
	first, last = max(first, 0), min(last, maxIndex)
	if first > last {
		return Set{}
	}
	return Set{[]span{{first, last}}}
}

// Empty tells whether the set has no index.
func (s Set) Empty() bool { return len(s.spans) == 0 }

// Spans returns the intervals in ascending order, each as its first and last index.
// No two of them touch.
func (s Set) Spans() iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		for _, p := range s.spans {
			if !yield(p.first, p.last) {
				return
			}
		}
	}
}
