// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package interval_test

import (
	"fmt"

	"github.com/carillon-dev/carillon/internal/interval"
)

// The indexes that a Job has to start next are the lowest that neither succeeded nor run.
func ExampleSet_Missing() {
	succeeded := interval.Parse("0-3,5", 10)
	running := interval.Of(4, 7)
	fmt.Println(succeeded.Union(running).Missing(10, 2))
	// Output:
	// [6 8]
}

// The text of status.completedIndexes: three or more in a row are written as a range.
func ExampleSet_Add() {
	fmt.Println(interval.Of(1, 3, 4).Add(5, 7))
	// Output:
	// 1,3-5,7
}

// What is stored is read as far as it can be read; what is about to be written is checked.
func ExampleParseStrict() {
	fmt.Println(interval.Parse("0,2-x,5", 10))
	_, err := interval.ParseStrict("0,5,2", 10)
	fmt.Println(err)
	// Output:
	// 0,5
	// indexes "2": 2 comes after 5; indexes must be in ascending order
}
