// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package ui

import "errors"

// Announce would keep the address of a page in a data directory; none runs on this operating system.
func Announce(string, string) (withdraw func(), err error) {
	return nil, errors.ErrUnsupported
}

// Announced gives the address of the page that the Carillon on a data directory serves; none runs here.
func Announced(string) string { return "" }
