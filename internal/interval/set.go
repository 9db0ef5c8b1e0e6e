// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package interval keeps sets of completion indexes as sorted intervals, and reads
// and writes the text that a Job's status keeps them in ("1,3-5,7").
//
// A [Set] costs what its intervals cost, not what its indexes cost: the status of a
// Job with 100,000 completions is usually a handful of intervals, and every
// operation here is a walk over intervals. Operations return a new Set and leave
// their operands as they are.
//
//	set.go   the set and its algebra
//	text.go  the readers (lenient, strict) and the canonical writer
//
// Behaviour is that of job.md 4.1 and 4.2. Upstream sources:
// pkg/controller/job/indexed_job_utils.go (reader, writer, pending indexes) and
// pkg/apis/batch/validation/validation.go (strict reader).
package interval

import (
	"iter"
	"math"
	"slices"
	"sort"
)

// A Set is a set of indexes, whole numbers from 0 to MaxInt-1. The zero Set is
// empty. It is immutable: copy it freely, use it from several goroutines.
type Set struct {
	// spans are ascending, and at least one index lies between neighbours.
	spans []span
}

// span holds the indexes first to last, both included; 0 <= first <= last.
type span struct {
	first, last int
}

const maxIndex = math.MaxInt - 1

// Of returns the set of the given indexes, in any order and with repetitions.
// Negative numbers are left out.
func Of(indexes ...int) Set {
	if !slices.IsSorted(indexes) {
		indexes = slices.Clone(indexes)
		slices.Sort(indexes)
	}
	var b builder
	for _, i := range indexes {
		if i >= 0 {
			b.add(span{i, min(i, maxIndex)})
		}
	}
	return b.set()
}

// Len returns how many indexes the set has.
func (s Set) Len() int {
	n := 0
	for _, p := range s.spans {
		n += p.last - p.first + 1
	}
	return n
}

// Has tells whether an index is in the set, by binary search.
func (s Set) Has(index int) bool {
	at := s.search(index)
	return at < len(s.spans) && s.spans[at].first <= index
}

// search returns the position of the first span that does not end before index.
func (s Set) search(index int) int {
	return sort.Search(len(s.spans), func(i int) bool { return s.spans[i].last >= index })
}

// Equal tells whether two sets have the same indexes.
func (s Set) Equal(t Set) bool { return slices.Equal(s.spans, t.spans) }

// All returns the indexes in ascending order.
func (s Set) All() iter.Seq[int] {
	return func(yield func(int) bool) {
		for _, p := range s.spans {
			for i := p.first; i <= p.last; i++ {
				if !yield(i) {
					return
				}
			}
		}
	}
}

// Add returns the set with the given indexes as well. Negative numbers are left
// out.
func (s Set) Add(indexes ...int) Set { return s.Union(Of(indexes...)) }

// Union returns the indexes that are in s or in t.
func (s Set) Union(t Set) Set {
	if len(t.spans) == 0 {
		return s
	}
	if len(s.spans) == 0 {
		return t
	}
	b := builder{make([]span, 0, len(s.spans)+len(t.spans))}
	x, y := s.spans, t.spans
	for len(x) > 0 && len(y) > 0 {
		if x[0].first > y[0].first {
			x, y = y, x
		}
		b.add(x[0])
		x = x[1:]
	}
	for _, p := range x {
		b.add(p)
	}
	for _, p := range y {
		b.add(p)
	}
	return b.set()
}

// Intersect returns the indexes that are in both s and t.
func (s Set) Intersect(t Set) Set {
	var b builder
	x, y := s.spans, t.spans
	for len(x) > 0 && len(y) > 0 {
		if common := (span{max(x[0].first, y[0].first), min(x[0].last, y[0].last)}); common.first <= common.last {
			b.add(common)
		}
		if x[0].last < y[0].last {
			x = x[1:]
		} else {
			y = y[1:]
		}
	}
	return b.set()
}

// Minus returns the indexes of s that are not in t.
func (s Set) Minus(t Set) Set {
	if len(s.spans) == 0 || len(t.spans) == 0 {
		return s
	}
	var b builder
	y := t.spans
	for _, p := range s.spans {
		for len(y) > 0 && y[0].last < p.first {
			y = y[1:]
		}
		rest := p
		for _, cut := range y {
			if cut.first > rest.last {
				break
			}
			if cut.first > rest.first {
				b.add(span{rest.first, cut.first - 1})
			}
			rest.first = cut.last + 1
			if rest.first > rest.last {
				break
			}
		}
		if rest.first <= rest.last {
			b.add(rest)
		}
	}
	return b.set()
}

// Clip returns the indexes of s below bound.
func (s Set) Clip(bound int) Set {
	at := s.search(bound)
	if at == len(s.spans) {
		return s
	}
	spans := s.spans[:at:at]
	if p := s.spans[at]; p.first < bound {
		spans = append(spans, span{p.first, bound - 1})
	}
	if len(spans) == 0 {
		return Set{}
	}
	return Set{spans}
}

// Missing returns the lowest n indexes below bound that are not in s, ascending;
// fewer if there are no more, and nil if there are none. It takes as long as s has
// intervals and the answer has indexes.
func (s Set) Missing(bound, n int) []int {
	free := bound
	for _, p := range s.spans {
		if p.first >= bound {
			break
		}
		free -= min(p.last, bound-1) - p.first + 1
	}
	n = min(n, free)
	if n <= 0 {
		return nil
	}
	missing := make([]int, 0, n)
	next := 0
	for _, p := range s.spans {
		for ; next < p.first && len(missing) < n; next++ {
			missing = append(missing, next)
		}
		next = p.last + 1
	}
	for ; len(missing) < n; next++ {
		missing = append(missing, next)
	}
	return missing
}

// builder makes a set of spans that come in ascending order of their first index.
type builder struct {
	spans []span
}

func (b *builder) add(p span) {
	if n := len(b.spans); n > 0 && p.first-1 <= b.spans[n-1].last {
		b.spans[n-1].last = max(b.spans[n-1].last, p.last)
		return
	}
	b.spans = append(b.spans, p)
}

func (b *builder) set() Set { return Set{b.spans} }
