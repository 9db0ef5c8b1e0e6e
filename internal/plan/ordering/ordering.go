// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ordering compares values that package cmp of the standard library does not, for sorting.
package ordering

// Bools orders false before true: it is negative if a comes first, positive if b does, else zero.
func Bools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
