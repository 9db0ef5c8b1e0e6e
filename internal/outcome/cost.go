// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package outcome

import (
	"math"
	"math/bits"
	"strings"

	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// costLimit is what one evaluation may cost (timetable.md 3.9): about a step of the interpreter each.
const costLimit = 100_000

// perCharacter is what a character of a string costs that is looked at or written, and an item of a list or map.
const perCharacter = 0.1

// guarded are the functions whose cost can be far above the size of their arguments, or of their result far above it.
// CEL counts a call after it, which for these would be too late: a few nested replaces fill the memory. So they are not
// called if the cost, which is never underestimated, is above the limit.
var guarded = map[string]func(args []ref.Val) float64{
	operators.Equals:        compareCost,
	operators.NotEquals:     compareCost,
	operators.In:            containsCost,
	"replace":               replaceCost,
	"join":                  joinCost,
	"format":                formatCost,
	"lists.range":           rangeCost,
	"flatten":               flattenCost,
	"distinct":              distinctCost,
	"sort":                  sortCost,
	"@sortByAssociatedKeys": sortCost,
}

// guard puts the check of the cost before each call of a guarded function.
func guard(dispatcher interpreter.Dispatcher) interpreter.InterpretableDecorator {
	calls := map[string]functions.FunctionOp{
		operators.Equals:    func(args ...ref.Val) ref.Val { return types.Equal(args[0], args[1]) },
		operators.NotEquals: func(args ...ref.Val) ref.Val { return types.Bool(types.Equal(args[0], args[1]) != types.True) },
	}
	for name := range guarded {
		if calls[name] != nil {
			continue
		}
		binding, found := dispatcher.FindOverload(name) // the one that looks at the types of all arguments
		if !found {
			panic("no function " + name) // the same for every expression: the tests meet it
		}
		calls[name] = call(name, binding)
	}
	return func(node interpreter.Interpretable) (interpreter.Interpretable, error) {
		planned, ok := node.(interpreter.InterpretableCall)
		if !ok || guarded[planned.Function()] == nil {
			return node, nil
		}
		name := planned.Function()
		return interpreter.NewCall(planned.ID(), name, planned.OverloadID(), planned.Args(), func(args ...ref.Val) ref.Val {
			if guarded[name](args) > costLimit {
				panic(interpreter.EvalCancelledError{Cause: interpreter.CostLimitExceeded, Message: name})
			}
			return calls[name](args...)
		}), nil
	}
}

// call calls what is bound to a function.
func call(name string, binding *functions.Overload) functions.FunctionOp {
	return func(args ...ref.Val) ref.Val {
		switch {
		case binding.OperandTrait != 0 && !args[0].Type().HasTrait(binding.OperandTrait):
		case len(args) == 1 && binding.Unary != nil:
			return binding.Unary(args[0])
		case len(args) == 2 && binding.Binary != nil:
			return binding.Binary(args[0], args[1])
		case binding.Function != nil:
			return binding.Function(args...)
		}
		return types.NewErr("no such overload: %s", name)
	}
}

// calls counts what calls cost; it implements interpreter.ActualCostEstimator.
type calls struct{}

// CallCost implements interpreter.ActualCostEstimator. nil leaves it to CEL.
func (calls) CallCost(function, _ string, args []ref.Val, result ref.Val) *uint64 {
	cost := 1.0
	switch {
	case function == "matches" || function == "contains": // CEL multiplies the lengths
		return nil
	case guarded[function] != nil:
		cost += guarded[function](args)
	case function == operators.Add && isList(result):
		cost += concatenationCost(args, result)
	default:
		for _, arg := range args {
			cost += size(arg)
		}
		cost += size(result)
	}
	rounded := uint64(math.Ceil(min(cost, 2*costLimit)))
	return &rounded
}

func isList(v ref.Val) bool {
	_, ok := v.(traits.Lister)
	return ok
}

// concatenationCost: macros such as map append to a list. Any other concatenation makes a tree of lists, of which each
// item is found by going down from the root again and again.
func concatenationCost(args []ref.Val, result ref.Val) float64 {
	if _, appends := result.(traits.MutableLister); appends {
		return size(args[1])
	}
	n := length(result)
	return n * n / 100
}

// length is the number of characters, bytes or items.
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
func size(v ref.Val) float64 { return perCharacter * length(v) }

// whole is what it costs to look at a value with all that it holds, as often as it is in it. Above the limit it stops
// counting.
func whole(v ref.Val) float64 {
	left := float64(costLimit)
	count(v, &left)
	return costLimit - left
}

// count subtracts from what is left, which is below 0 at the end if it was not enough.
func count(v ref.Val, left *float64) {
	*left -= perCharacter
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

func compareCost(args []ref.Val) float64 { return min(whole(args[0]), whole(args[1])) }

func containsCost(args []ref.Val) float64 {
	if isList(args[1]) {
		return whole(args[1])
	}
	return size(args[0])
}

func replaceCost(args []ref.Val) float64 {
	text, isText := args[0].(types.String)
	old, isOld := args[1].(types.String)
	if !isText || !isOld || len(args) < 3 {
		return 0 // it will be refused
	}
	times := float64(strings.Count(string(text), string(old)))
	return perCharacter * (2*float64(len(text)) + times*length(args[2]))
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
	cost := size(args[0])
	if len(args) > 1 {
		cost += whole(args[1])
	}
	text, _ := args[0].(types.String)
	number := 0.0
	for _, c := range []byte(text + " ") {
		if '0' <= c && c <= '9' {
			number = number*10 + float64(c-'0')
			continue
		}
		cost += perCharacter * number
		number = 0
	}
	return cost
}

func rangeCost(args []ref.Val) float64 {
	n, _ := args[0].(types.Int)
	return perCharacter * float64(n)
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
	*left -= perCharacter
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
