// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ordering says which of two values comes first, where package cmp of the standard library and the operators of
// Go do not.
package ordering

import "time"

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

// Later is the later one of two instants; a if they are the same.
func Later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Earlier is the earlier one of two instants; a if they are the same.
func Earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
