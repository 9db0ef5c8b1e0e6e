// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package outcome

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/interpreter"
)

// The fields of the expressions, as errors call them.
const (
	failedField    = "outcome.failed"
	succeededField = "outcome.succeeded"
)

// expressions are the two expressions of an outcome.
type expressions struct{ failed, succeeded cel.Program }

// Compile reads the expressions of spec.outcome (CEL over the variable object). The error is the user's: it says in
// which of them, where, and what to write instead.
func Compile(succeeded, failed string) (*Rule, error) {
	f, err := compile(failedField, failed)
	if err != nil {
		return nil, err
	}
	s, err := compile(succeededField, succeeded)
	if err != nil {
		return nil, err
	}
	return &Rule{expressions: &expressions{failed: f, succeeded: s}}, nil
}

// guards is the guard of all programs.
var guards = sync.OnceValues(func() (cel.ProgramOption, error) { return guard(environment()) })

func compile(field, expression string) (cel.Program, error) {
	ast, issues := environment().Compile(expression)
	if found := issues.Errors(); len(found) > 0 {
		first := found[0]
		place := fmt.Sprintf("column %d", first.Location.Column()+1)
		if strings.Contains(expression, "\n") {
			place = fmt.Sprintf("line %d, %s", first.Location.Line(), place)
		}
		return nil, fmt.Errorf("%s, %s: %s%s", field, place, oneLine(first.Message), advice(first.Message))
	}
	if t := ast.OutputType(); !t.IsExactType(cel.BoolType) && !t.IsExactType(cel.DynType) {
		return nil, fmt.Errorf("%s is of type %s, and must be true or false: compare it, as in object.status.phase == 'Completed'", field, t)
	}
	decorator, err := guards()
	if err != nil {
		return nil, err
	}
	program, err := environment().Program(ast, decorator, cel.CostTracking(calls{}), cel.CostLimit(costLimit), cel.EvalOptions(cel.OptOptimize))
	if err != nil {
		return nil, fmt.Errorf("%s: %s", field, oneLine(err.Error()))
	}
	return program, nil
}

// advice says what to write instead of what the message of the CEL compiler complains about.
func advice(message string) string {
	const undeclared = "undeclared reference to '"
	if _, rest, ok := strings.Cut(message, undeclared); ok {
		switch name, _, _ := strings.Cut(rest, "'"); name {
		case "self", "this", "oldSelf", "oldObject":
			return "; what the run has started is called object"
		case "status", "spec", "metadata", "kind", "apiVersion":
			return "; write object." + name
		}
		return "; there is only the variable object, and the functions of CEL for strings and lists"
	}
	if strings.Contains(message, "Syntax error") {
		return "; an expression looks like object.status.phase == 'Completed'"
	}
	return ""
}

// oneLine puts a message of CEL, which may hold lines, on one.
func oneLine(message string) string { return strings.Join(strings.Fields(message), " ") }

// of asks failed first. The first that is true decides.
func (e *expressions) of(object map[string]any) (Outcome, error) {
	input := map[string]any{"object": object}
	isFailed, problem := isTrue(failedField, e.failed, input)
	if isFailed {
		return Outcome{Phase: Failed}, nil
	}
	hasSucceeded, err := isTrue(succeededField, e.succeeded, input)
	if problem == nil {
		problem = err
	}
	if hasSucceeded {
		return Outcome{Phase: Succeeded}, problem
	}
	return Outcome{}, problem
}

// isTrue evaluates an expression. What is no bool is false, and so is an error, which is not told if it is about a key
// that is missing.
func isTrue(field string, program cel.Program, input map[string]any) (bool, error) {
	value, _, err := program.Eval(input)
	var cancelled interpreter.EvalCancelledError
	switch {
	case err == nil:
	case errors.As(err, &cancelled):
		return false, fmt.Errorf("%s costs more than the %d steps that an evaluation may take, and counts as false: make it simpler", field, costLimit)
	case strings.HasPrefix(err.Error(), "no such key: "):
		return false, nil
	default:
		return false, fmt.Errorf("%s counts as false: %s", field, oneLine(err.Error()))
	}
	if truth, ok := value.(types.Bool); ok {
		return bool(truth), nil
	}
	return false, fmt.Errorf("%s is of type %s and counts as false: it must be true or false, as object.status.phase == 'Completed' is",
		field, value.Type().TypeName())
}
