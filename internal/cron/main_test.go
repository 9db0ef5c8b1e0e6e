// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron_test

import (
	"flag"
	"os"
	"testing"
)

// histories is how many random cases each property sees in an ordinary run.
const histories = "2000"

// TestMain lets the property tests see more than rapid's 100 cases, unless -rapid.checks or RAPID_CHECKS says how many.
// A failure prints the seed of its case; give it back to see that case again:
//
//	go test ./internal/cron -run TestWorld -rapid.seed=…
func TestMain(m *testing.M) {
	flag.Parse()
	_, given := os.LookupEnv("RAPID_CHECKS")
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if !given {
		if err := flag.Set("rapid.checks", histories); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
