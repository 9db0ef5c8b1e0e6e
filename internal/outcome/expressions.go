// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package outcome

import (
	"errors"
	"fmt"
	"strings"

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
type expressions struct{ failed, succeeded interpreter.Interpretable }

// Compile reads the expressions of spec.outcome (CEL over the variable object). The error is the user's: it says in
// which of them, where, and what to write instead. What was compiled lately is not compiled again.
func Compile(succeeded, failed string) (*Rule, error) {
	from := source{succeeded, failed}
	if rule := kept.get(from); rule != nil {
		return rule, nil
	}
	f, err := compile(failedField, failed)
	if err != nil {
		return nil, err
	}
	s, err := compile(succeededField, succeeded)
	if err != nil {
		return nil, err
	}
	rule := &Rule{expressions: &expressions{failed: f, succeeded: s}}
	kept.add(from, rule)
	return rule, nil
}

func compile(field, expression string) (interpreter.Interpretable, error) {
	compiled, issues := environment().Compile(expression)
	if found := issues.Errors(); len(found) > 0 {
		first := found[0]
		place := fmt.Sprintf("column %d", first.Location.Column()+1)
		if strings.Contains(expression, "\n") {
			place = fmt.Sprintf("line %d, %s", first.Location.Line(), place)
		}
		return nil, fmt.Errorf("%s, %s: %s%s", field, place, oneLine(first.Message), advice(first.Message))
	}
	if t := compiled.OutputType(); !t.IsExactType(cel.BoolType) && !t.IsExactType(cel.DynType) {
		return nil, fmt.Errorf("%s is of type %s, and must be true or false: compare it, as in object.status.phase == 'Completed'", field, t)
	}
	program, err := plan()(compiled.NativeRep())
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
	if strings.Contains(message, "invalid argument to has() macro") {
		return "; has asks for a field, as in has(object.status)"
	}
	if strings.Contains(message, "Syntax error") {
		return "; an expression looks like object.status.phase == 'Completed'"
	}
	return ""
}

// oneLine puts a message of CEL, which may hold lines, on one. Containers are nothing that a user knows of.
func oneLine(message string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(message, " (in container '')", "")), " ")
}

// of asks failed first. The first that is true decides.
func (e *expressions) of(object map[string]any) (Outcome, error) {
	isFailed, problem := isTrue(failedField, e.failed, object)
	if isFailed {
		return Outcome{Phase: Failed}, nil
	}
	hasSucceeded, err := isTrue(succeededField, e.succeeded, object)
	if problem == nil {
		problem = err
	}
	if hasSucceeded {
		return Outcome{Phase: Succeeded}, problem
	}
	return Outcome{}, problem
}

// tooExpensive is the error of an expression that costs more than it may.
type tooExpensive struct{ field string }

func (e tooExpensive) Error() string {
	return fmt.Sprintf("%s costs more than the %d steps that an evaluation may take, and counts as false: make it simpler", e.field, costLimit)
}

// Unwrap gives ErrTooExpensive.
func (tooExpensive) Unwrap() error { return ErrTooExpensive }

// isTrue evaluates an expression. What is no bool is false, and so is an error, which is not told if it is about a key
// that is missing.
func isTrue(field string, program interpreter.Interpretable, object map[string]any) (bool, error) {
	switch value := evaluate(program, object).(type) {
	case types.Bool:
		return bool(value), nil
	case *types.Err:
		switch {
		case errors.Is(value, ErrTooExpensive):
			return false, tooExpensive{field}
		case strings.HasPrefix(value.Error(), "no such key: "):
			return false, nil
		}
		return false, fmt.Errorf("%s counts as false: %s", field, oneLine(value.Error()))
	default:
		return false, fmt.Errorf("%s is of type %s and counts as false: it must be true or false, as object.status.phase == 'Completed' is",
			field, value.Type().TypeName())
	}
}
