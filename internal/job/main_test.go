// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"flag"
	"os"
	"testing"
)

// worlds is how many random worlds each property sees in an ordinary run.
const worlds = "1000"

// TestMain lets the property tests see more than rapid's 100 cases, unless
// -rapid.checks or RAPID_CHECKS says how many. A failure prints the seed of its
// world; give it back to see that world again:
//
//	go test ./internal/job -run TestCountersEqualTheTruth -rapid.seed=…
func TestMain(m *testing.M) {
	flag.Parse()
	_, given := os.LookupEnv("RAPID_CHECKS")
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if !given {
		if err := flag.Set("rapid.checks", worlds); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
