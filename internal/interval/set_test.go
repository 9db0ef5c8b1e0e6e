// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package interval_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/internal/interval"
)

// JOB-209: whether an index is in a set is right before, in, between and behind its
// intervals, and at their edges.
func TestHas(t *testing.T) {
	s := interval.Of(2, 3, 4, 5, 9, 12, 13)
	cases := map[string]struct {
		index int
		want  bool
	}{
		"negative":            {-1, false},
		"before the first":    {1, false},
		"first edge":          {2, true},
		"inside":              {4, true},
		"last edge":           {5, true},
		"just behind":         {6, false},
		"in a gap":            {8, false},
		"single":              {9, true},
		"behind the single":   {10, false},
		"edge of the last":    {12, true},
		"end of the last":     {13, true},
		"behind the last":     {14, false},
		"far behind the last": {1 << 30, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := s.Has(tc.index); got != tc.want {
				t.Errorf("Has(%d) = %v", tc.index, got)
			}
		})
	}
	if (interval.Set{}).Has(0) {
		t.Error("the empty set has 0")
	}
}

// JOB-210: the next indexes to create are the lowest that are neither active nor
// succeeded nor failed.
func TestMissing(t *testing.T) {
	cases := map[string]struct {
		taken    interval.Set
		bound, n int
		want     []int
	}{
		"active 3,5,8 and succeeded 2-4,9": {
			interval.Of(3, 5, 8).Union(interval.Of(2, 3, 4, 9)), 20, 5, []int{0, 1, 6, 7, 10},
		},
		"failed as well": {
			interval.Of(3, 9).Union(interval.Of(1, 5, 9)).Union(interval.Of(2, 6, 7)), 20, 5, []int{0, 4, 8, 10, 11},
		},
		"fewer than asked for":         {interval.Of(0, 2), 4, 9, []int{1, 3}},
		"none left":                    {interval.Span(0, 3), 4, 1, nil},
		"none asked for":               {interval.Set{}, 4, 0, nil},
		"a negative number asked for":  {interval.Set{}, 4, -3, nil},
		"no completions":               {interval.Set{}, 0, 3, nil},
		"nothing taken":                {interval.Set{}, 100000, 3, []int{0, 1, 2}},
		"taken beyond the completions": {interval.Of(1, 7, 8, 9), 4, 9, []int{0, 2, 3}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.taken.Missing(tc.bound, tc.n)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// The indexes of a Job that has no completions to speak of or very many cost nothing.
func TestHugeSpans(t *testing.T) {
	const most = int(^uint(0) >> 1)
	s := interval.Span(0, most)
	if got := s.Len(); got != most {
		t.Errorf("Len = %d", got)
	}
	if got := s.Missing(most, 10); got != nil {
		t.Errorf("Missing = %v", got)
	}
	if got := s.Minus(interval.Of(7)).Missing(most, 10); !slices.Equal(got, []int{7}) {
		t.Errorf("Missing = %v", got)
	}
	if got := interval.Span(5, 4); !got.Empty() {
		t.Errorf("a span that runs backwards = %v", got)
	}
}

// model is a set of indexes, told the slow way.
type model map[int]bool

func (m model) sorted() []int {
	var is []int
	for i := range m {
		is = append(is, i)
	}
	slices.Sort(is)
	return is
}

func drawSet(t *rapid.T, label string) (interval.Set, model) {
	indexes := rapid.SliceOfN(rapid.IntRange(-2, 40), 0, 30).Draw(t, label)
	m := model{}
	for _, i := range indexes {
		if i >= 0 {
			m[i] = true
		}
	}
	return interval.Of(indexes...), m
}

func filter(m model, keep func(int) bool) model {
	out := model{}
	for i := range m {
		if keep(i) {
			out[i] = true
		}
	}
	return out
}

func equals(t *rapid.T, what string, got interval.Set, want model) {
	t.Helper()
	if diff := cmp.Diff(want.sorted(), slices.Collect(got.All())); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
	if got.Len() != len(want) || got.Empty() != (len(want) == 0) {
		t.Fatalf("%s: Len = %d, Empty = %v, want %d indexes", what, got.Len(), got.Empty(), len(want))
	}
	behind := -1
	for first, last := range got.Spans() {
		if first <= behind || last < first {
			t.Fatalf("%s: %s is not canonical", what, got)
		}
		behind = last + 1
	}
}

// The algebra of sets is that of map[int]bool, and no operation changes its
// operands.
func TestAgainstMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, ms := drawSet(t, "s")
		u, mu := drawSet(t, "t")
		bound := rapid.IntRange(-1, 42).Draw(t, "bound")
		n := rapid.IntRange(-1, 45).Draw(t, "n")
		text := s.String()

		equals(t, "s", s, ms)
		union := filter(ms, func(int) bool { return true })
		for i := range mu {
			union[i] = true
		}
		equals(t, "Union", s.Union(u), union)
		equals(t, "Add", s.Add(slices.Collect(u.All())...), union)
		equals(t, "Intersect", s.Intersect(u), filter(ms, func(i int) bool { return mu[i] }))
		equals(t, "Minus", s.Minus(u), filter(ms, func(i int) bool { return !mu[i] }))
		equals(t, "Clip", s.Clip(bound), filter(ms, func(i int) bool { return i < bound }))

		var missing []int
		for i := 0; i < bound && len(missing) < n; i++ {
			if !ms[i] {
				missing = append(missing, i)
			}
		}
		if diff := cmp.Diff(missing, s.Missing(bound, n)); diff != "" {
			t.Fatalf("Missing(%d, %d) (-want +got):\n%s", bound, n, diff)
		}
		for i := -2; i < 43; i++ {
			if s.Has(i) != ms[i] {
				t.Fatalf("Has(%d) = %v", i, s.Has(i))
			}
		}
		if s.Equal(u) != slices.Equal(ms.sorted(), mu.sorted()) {
			t.Fatalf("Equal(%s, %s) = %v", s, u, s.Equal(u))
		}
		if s.String() != text {
			t.Fatalf("%s became %s", text, s)
		}
	})
}

// Growing a set from one that another set shares leaves the other as it was.
func TestSharedSetsDoNotMix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, ms := drawSet(t, "s")
		bound := rapid.IntRange(0, 42).Draw(t, "bound")
		clipped := s.Clip(bound)
		a := clipped.Add(bound + 1)
		b := clipped.Add(bound + 3)
		equals(t, "s", s, ms)
		if a.Has(bound+3) || b.Has(bound+1) || clipped.Has(bound+1) {
			t.Fatalf("mixed: %s, %s, %s", clipped, a, b)
		}
	})
}

// Stopping a loop early stops it.
func TestLoopsStop(t *testing.T) {
	s := interval.Of(1, 2, 3, 7)
	n := 0
	for range s.All() {
		if n++; n == 2 {
			break
		}
	}
	for range s.Spans() {
		if n++; n == 3 {
			break
		}
	}
	if n != 3 {
		t.Errorf("%d steps", n)
	}
}
