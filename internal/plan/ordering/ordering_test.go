// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package ordering_test

import (
	"slices"
	"testing"

	"github.com/carillon-dev/carillon/internal/plan/ordering"
)

// What is false comes before what is true.
func TestBools(t *testing.T) {
	got := []bool{true, false, true, false}
	slices.SortFunc(got, ordering.Bools)
	if want := []bool{false, false, true, true}; !slices.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
}
