// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package outcome

import (
	"errors"
	"regexp"

	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// ErrTooExpensive ends an evaluation that costs more than it may: it will do so again.
var ErrTooExpensive = errors.New("cost limit exceeded")

// evaluation is the outermost scope of variables of one evaluation, and knows what it may still cost. CEL's own count
// of costs comes after each call, knows some functions only, and takes a time that grows with the square of the steps.
type evaluation struct {
	object map[string]any
	left   float64
}

var _ interpreter.Activation = (*evaluation)(nil)

// ResolveName implements interpreter.Activation.
func (e *evaluation) ResolveName(name string) (any, bool) { return e.object, name == "object" }

// Parent implements interpreter.Activation.
func (e *evaluation) Parent() interpreter.Activation { return nil }

// spend counts what a step costs. Above the limit it panics with ErrTooExpensive: as an error, an expression could go
// on from it (x || true).
func (e *evaluation) spend(cost float64) {
	if e.left -= cost; e.left < 0 {
		panic(ErrTooExpensive)
	}
}

// evaluate evaluates an expression. The interpreter may panic at values that a function did not expect: that is an
// error of the expression, too.
func evaluate(program interpreter.Interpretable, object map[string]any) (value ref.Val) {
	defer func() {
		switch problem := recover(); problem {
		case nil:
		case ErrTooExpensive:
			value = types.WrapErr(ErrTooExpensive)
		default:
			value = types.NewErr("internal error: %v", problem)
		}
	}()
	return program.Eval(&evaluation{object: object, left: costLimit})
}

// evaluationOf is the evaluation that these variables, such as those of a macro, belong to.
func evaluationOf(vars interpreter.Activation) *evaluation {
	for {
		if e, ok := vars.(*evaluation); ok {
			return e
		}
		vars = vars.Parent()
	}
}

// counted gives the parts of an expression that count what they cost.
func counted(dispatcher interpreter.Dispatcher) interpreter.InterpretableDecorator {
	return func(node interpreter.Interpretable) (interpreter.Interpretable, error) {
		switch node := node.(type) {
		case interpreter.InterpretableConst, *countedAttribute:
			return node, nil
		case interpreter.InterpretableAttribute:
			return &countedAttribute{node}, nil
		case interpreter.InterpretableCall:
			return countCall(dispatcher, node)
		}
		return &countedStep{node}, nil
	}
}

// countedStep is a part that costs one step beside those of its own parts.
type countedStep struct{ interpreter.Interpretable }

// Eval implements interpreter.Interpretable.
func (s *countedStep) Eval(vars interpreter.Activation) ref.Val {
	evaluationOf(vars).spend(1)
	return s.Interpretable.Eval(vars)
}

// countedAttribute is a variable with fields and items of it.
type countedAttribute struct {
	interpreter.InterpretableAttribute
}

// Eval implements interpreter.Interpretable.
func (a *countedAttribute) Eval(vars interpreter.Activation) ref.Val {
	evaluationOf(vars).spend(1)
	return a.InterpretableAttribute.Eval(vars)
}

// countedCall is a call of a function.
type countedCall struct {
	interpreter.InterpretableCall

	function string
	args     []interpreter.Interpretable
	bound    functions.Overload
}

// countCall gives the call of the function that the interpreter would call.
func countCall(dispatcher interpreter.Dispatcher, planned interpreter.InterpretableCall) (interpreter.Interpretable, error) {
	call := &countedCall{InterpretableCall: planned, function: planned.Function(), args: planned.Args()}
	switch call.function {
	case operators.Equals:
		call.bound.Binary = types.Equal
		return call, nil
	case operators.NotEquals:
		call.bound.Binary = func(a, b ref.Val) ref.Val { return types.Bool(types.Equal(a, b) != types.True) }
		return call, nil
	}
	bound, found := dispatcher.FindOverload(planned.OverloadID())
	if !found {
		bound, found = dispatcher.FindOverload(call.function)
	}
	if !found {
		return &countedStep{planned}, nil
	}
	call.bound = *bound
	if call.function == "matches" {
		return call, call.compilePattern()
	}
	return call, nil
}

// keptStates is how many states a regular expression has at most that is compiled once and kept: each takes some 100
// bytes, and a few characters can ask for a hundred thousand of them.
const keptStates = 250

// compilePattern compiles a regular expression that is written in the expression, once. A large one is compiled at each
// call, which pays for it.
func (c *countedCall) compilePattern() error {
	constant, ok := c.args[len(c.args)-1].(interpreter.InterpretableConst)
	if !ok {
		return nil
	}
	text, ok := constant.Value().(types.String)
	if !ok || states(string(text)) > keptStates {
		return nil
	}
	pattern, err := regexp.Compile(string(text))
	if err != nil {
		return err
	}
	byText := c.bound.Binary
	c.bound.Binary = func(a, b ref.Val) ref.Val {
		if text, ok := a.(types.String); ok {
			return types.Bool(pattern.MatchString(string(text)))
		}
		return byText(a, b) // which tells what is wrong
	}
	return nil
}

// Eval implements interpreter.Interpretable. Its order is that of the interpreter's own calls.
func (c *countedCall) Eval(vars interpreter.Activation) ref.Val {
	args := make([]ref.Val, len(c.args))
	for i, arg := range c.args {
		args[i] = arg.Eval(vars)
		if !c.bound.NonStrict && types.IsUnknownOrError(args[i]) {
			return args[i]
		}
	}
	e := evaluationOf(vars)
	e.spend(callCost(c.function, args))
	result := c.call(args)
	if callCosts[c.function] == nil {
		e.spend(size(result))
	}
	return result
}

// call calls what is bound to the function, or else asks the first argument.
func (c *countedCall) call(args []ref.Val) ref.Val {
	fits := c.bound.OperandTrait == 0 || len(args) > 0 && (types.IsUnknownOrError(args[0]) || args[0].Type().HasTrait(c.bound.OperandTrait))
	switch {
	case !fits:
	case len(args) == 1 && c.bound.Unary != nil:
		return c.bound.Unary(args[0])
	case len(args) == 2 && c.bound.Binary != nil:
		return c.bound.Binary(args[0], args[1])
	case c.bound.Function != nil:
		return c.bound.Function(args...)
	}
	if len(args) > 0 {
		if receiver, ok := args[0].(traits.Receiver); ok {
			return receiver.Receive(c.function, c.OverloadID(), args[1:])
		}
	}
	return types.NewErr("no such overload: %s", c.function)
}
