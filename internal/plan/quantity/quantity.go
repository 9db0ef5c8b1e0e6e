// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package quantity writes numbers of things (quantity.go) and of bytes (bytes.go) for people, in the same way in all
// answers.
package quantity

import (
	"fmt"
	"strconv"
)

// Count writes a number of things: "1 run", "2 runs".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// CountGrouped is Count with a comma before each three digits: "1,412 runs".
func CountGrouped(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Grouped(n) + " " + noun + "s"
}

// Grouped writes a number with a comma before each three digits: "1,412".
func Grouped[N int | int64](n N) string {
	text := strconv.FormatInt(int64(n), 10)
	for at := len(text) - 3; at > 0 && text[at-1] != '-'; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
