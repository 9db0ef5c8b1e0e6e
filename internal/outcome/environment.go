// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package outcome

import (
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
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
