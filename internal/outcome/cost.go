// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package outcome

import (
	"math/bits"
	"regexp/syntax"
	"strings"

	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// costLimit is what one evaluation may cost (timetable.md 3.9): a step of the interpreter costs 1.
const costLimit = 100_000

// perItem is what a character of a string costs that is looked at or written, and an item of a list or map.
const perItem = 0.1

// callCosts say what a call costs before it is made, for functions whose work or result can be far larger than their
// arguments: a few nested replaces would fill the memory. It is never underestimated by more than a small factor.
var callCosts = map[string]func(args []ref.Val) float64{
	operators.Add:           additionCost,
	operators.Equals:        compareCost,
	operators.NotEquals:     compareCost,
	operators.In:            containmentCost,
	"matches":               matchCost,
	"contains":              searchCost,
	"indexOf":               searchCost,
	"lastIndexOf":           searchCost,
	"replace":               replaceCost,
	"join":                  joinCost,
	"format":                formatCost,
	"lists.range":           rangeCost,
	"flatten":               flattenCost,
	"distinct":              distinctCost,
	"sort":                  sortCost,
	"@sortByAssociatedKeys": sortCost,
}

// callCost is what a call costs before it is made. That of any other function is the size of its arguments; the size of
// its result comes to it afterwards.
func callCost(function string, args []ref.Val) float64 {
	if cost := callCosts[function]; cost != nil {
		return 1 + cost(args)
	}
	cost := 1.0
	for _, arg := range args {
		cost += size(arg)
	}
	return cost
}

func isList(v ref.Val) bool {
	_, ok := v.(traits.Lister)
	return ok
}

// length is the number of bytes or items.
func length(v ref.Val) float64 {
	switch v := v.(type) {
	case types.String:
		return float64(len(v))
	case types.Bytes:
		return float64(len(v))
	case traits.Sizer:
		if n, ok := v.Size().(types.Int); ok {
			return float64(n)
		}
	}
	return 0
}

// size is what it costs to look at a value, but not into the items of a list or map.
func size(v ref.Val) float64 { return perItem * length(v) }

// whole is what it costs to look at a value with all that it holds, as often as it is in it. Above the limit it stops
// counting.
func whole(v ref.Val) float64 {
	left := float64(costLimit)
	count(v, &left)
	return costLimit - left
}

// count subtracts from what is left, which is below 0 at the end if it was not enough. Each value that it comes to is a
// step.
func count(v ref.Val, left *float64) {
	*left--
	switch v := v.(type) {
	case traits.Lister:
		for i, n := types.IntZero, types.Int(length(v)); i < n && *left >= 0; i++ {
			count(v.Get(i), left)
		}
	case traits.Mapper:
		for it := v.Iterator(); it.HasNext() == types.True && *left >= 0; {
			key := it.Next()
			count(key, left)
			count(v.Get(key), left)
		}
	default:
		*left -= size(v)
	}
}

// additionCost: macros such as map append to a list. Any other sum of lists is a tree of lists, of which each item is
// found by going down from the root again and again.
func additionCost(args []ref.Val) float64 {
	first, second := args[0], args[len(args)-1]
	if _, appends := first.(traits.MutableLister); appends {
		return size(second)
	}
	if isList(first) {
		n := length(first) + length(second)
		return n * n / 100
	}
	return size(first) + size(second)
}

func compareCost(args []ref.Val) float64 { return min(whole(args[0]), whole(args[1])) }

func containmentCost(args []ref.Val) float64 {
	if isList(args[1]) {
		return whole(args[1])
	}
	return size(args[0])
}

// matchCost: a regular expression may be in all of its states at once.
func matchCost(args []ref.Val) float64 {
	n := length(args[1])
	if pattern, ok := args[1].(types.String); ok && n < costLimit { // else it costs too much anyway
		n = max(n, states(string(pattern)))
	}
	return (1 + size(args[0])) * (1 + n/4)
}

// states is about how many states a regular expression has: one for each of its characters, as often as it is repeated.
// It is 0 for what is none.
func states(pattern string) float64 {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0
	}
	return statesOf(parsed)
}

func statesOf(part *syntax.Regexp) float64 {
	n := 1.0
	if part.Op == syntax.OpLiteral {
		n = float64(len(part.Rune))
	}
	for _, sub := range part.Sub {
		n += statesOf(sub)
	}
	if part.Op == syntax.OpRepeat { // its largest number is -1 if there is none
		n *= float64(max(part.Min, part.Max, 1))
	}
	return n
}

func searchCost(args []ref.Val) float64 { return size(args[0]) * (1 + size(args[1])) }

func replaceCost(args []ref.Val) float64 {
	text, isText := args[0].(types.String)
	old, isOld := args[1].(types.String)
	if !isText || !isOld {
		return 0 // it will be refused
	}
	times := float64(strings.Count(string(text), string(old)))
	return perItem * (2*float64(len(text)) + times*length(args[2]))
}

func joinCost(args []ref.Val) float64 {
	cost := whole(args[0])
	if len(args) > 1 {
		cost += length(args[0]) * size(args[1])
	}
	return cost
}

// formatCost: each %.NUMBERf writes so many digits, each %s all that its argument holds.
func formatCost(args []ref.Val) float64 {
	text, _ := args[0].(types.String)
	cost := size(text) + whole(args[1])
	number := 0.0
	for _, c := range []byte(text + " ") {
		if '0' <= c && c <= '9' {
			number = number*10 + float64(c-'0')
			continue
		}
		cost += perItem * number
		number = 0
	}
	return cost
}

func rangeCost(args []ref.Val) float64 {
	n, _ := args[0].(types.Int)
	return perItem * max(0, float64(n))
}

// flattenCost counts what the result holds, of lists that may be in it many times.
func flattenCost(args []ref.Val) float64 {
	depth := types.Int(1)
	if len(args) > 1 {
		depth, _ = args[1].(types.Int)
	}
	left := float64(costLimit)
	countFlat(args[0], depth, &left)
	return costLimit - left
}

func countFlat(v ref.Val, depth types.Int, left *float64) {
	*left--
	items, ok := v.(traits.Lister)
	if !ok || depth < 0 {
		return
	}
	for i, n := types.IntZero, types.Int(length(items)); i < n && *left >= 0; i++ {
		countFlat(items.Get(i), depth-1, left)
	}
}

// distinctCost: each item is compared with all others.
func distinctCost(args []ref.Val) float64 { return (1 + length(args[0])) * whole(args[0]) }

// sortCost: each key is compared as often as the length has digits.
func sortCost(args []ref.Val) float64 {
	keys := args[len(args)-1]
	return float64(1+bits.Len(uint(length(keys)))) * whole(keys)
}
