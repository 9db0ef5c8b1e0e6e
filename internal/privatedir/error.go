// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package privatedir

import "fmt"

// NotOursError says that somebody else owns, or can change, a file or directory that has to be ours.
type NotOursError struct {
	Path string // what is not ours
	Why  string // who can change it
	Cure string // what to do, as a clause
}

func (e *NotOursError) Error() string { return fmt.Sprintf("%s %s: %s", e.Path, e.Why, e.Cure) }
