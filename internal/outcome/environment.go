// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package outcome

import (
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/ext"
	"github.com/google/cel-go/interpreter"
)

// environment is what expressions can use: the object, standard CEL, and the functions of strings and lists. It is made
// once in a process. The versions of the functions are pinned, so that a newer library does not change what a stored
// expression means.
var environment = sync.OnceValue(func() *cel.Env {
	env, err := cel.NewEnv(
		cel.Variable("object", cel.DynType),
		ext.Strings(ext.StringsVersion(4)),
		ext.Lists(ext.ListsVersion(2)),
		cel.CrossTypeNumericComparisons(true), // JSON does not tell 1 from 1.0
		cel.DefaultUTCTimeZone(true),          // never that of the machine
		cel.ASTValidators(cel.ValidateDurationLiterals(), cel.ValidateTimestampLiterals(), cel.ValidateRegexLiterals()),
	)
	if err != nil {
		panic(err) // the same for every expression: the tests meet it
	}
	return env
})

// plan makes a compiled expression ready to be evaluated. cel.Env.Program would do the same, but give each expression
// 20 KB of tables of functions, which all can share.
var plan = sync.OnceValue(func() func(*ast.AST) (interpreter.Interpretable, error) {
	env, dispatcher := environment(), interpreter.NewDispatcher()
	for _, function := range env.Functions() {
		bindings, err := function.Bindings()
		if err == nil {
			err = dispatcher.Add(bindings...)
		}
		if err != nil {
			panic(err) // as above
		}
	}
	adapter, provider := env.CELTypeAdapter(), env.CELTypeProvider()
	machine := interpreter.NewInterpreter(dispatcher, env.Container, provider, adapter, interpreter.NewAttributeFactory(env.Container, adapter, provider))
	options := []interpreter.PlannerOption{interpreter.Optimize(), interpreter.CustomDecorator(counted(dispatcher))}
	return func(compiled *ast.AST) (interpreter.Interpretable, error) {
		return machine.NewInterpretable(compiled, options...)
	}
})
