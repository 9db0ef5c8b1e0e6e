// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package replay says which cases the property tests of a package see.
//
// An ordinary run replays the same ones every time, so that it fails because of a change and of nothing else;
// `make sim` looks at fresh ones. A failure prints the seed of its case in both. A package uses it in its TestMain:
//
//	func TestMain(m *testing.M) { os.Exit(replay.Run(m, 1000)) }
package replay

import (
	"flag"
	"os"
	"strconv"
	"testing"

	_ "pgregory.net/rapid" // has the flags
)

// seed of ordinary runs: any one but zero, which means a fresh one to rapid.
const seed = "20261121"

// Run runs the tests of a package and returns their exit code. Its property tests see so many cases each, 0 for rapid's
// own number, unless -rapid.checks or RAPID_CHECKS says how many; and always the same ones, unless -rapid.seed or
// RAPID_SEED says which.
func Run(m *testing.M, checks int) int {
	flag.Parse()
	if checks > 0 {
		otherwise("rapid.checks", "RAPID_CHECKS", strconv.Itoa(checks))
	}
	otherwise("rapid.seed", "RAPID_SEED", seed)
	return m.Run()
}

// Checks lets the property tests of one test see so many cases, as Run does for a package, until it ends.
func Checks(t *testing.T, checks int) {
	t.Helper()
	before := flag.Lookup("rapid.checks").Value.String()
	if otherwise("rapid.checks", "RAPID_CHECKS", strconv.Itoa(checks)) {
		t.Cleanup(func() { set("rapid.checks", before) })
	}
}

// given are the flags that the command line has. Flags that this package sets are none.
var given map[string]bool

// otherwise sets a flag that neither the command line nor the environment has.
func otherwise(name, variable, value string) bool {
	if given == nil {
		given = map[string]bool{}
		flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	}
	if _, ok := os.LookupEnv(variable); ok || given[name] {
		return false
	}
	set(name, value)
	return true
}

func set(name, value string) {
	if err := flag.Set(name, value); err != nil {
		panic(err) // the flags of rapid have changed
	}
}
