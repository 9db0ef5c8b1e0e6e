// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"slices"

	clientzones "github.com/carillon-dev/carillon/internal/client/zones"
)

// zones are the names that the field for the time zone offers: the viewer's first.
func zones(viewer string) []string {
	all := clientzones.Known()
	if viewer == "Local" {
		return all
	}
	return append([]string{viewer}, slices.DeleteFunc(slices.Clone(all), func(name string) bool { return name == viewer })...)
}
