// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package ordering_test

import (
	"slices"
	"testing"
	"time"

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

// Of two instants one is later and the other one earlier, whichever is named first; of the same the first is given.
func TestInstants(t *testing.T) {
	noon := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	east := time.FixedZone("east", 3600)
	for name, c := range map[string]struct{ a, b, earlier, later time.Time }{
		"in order":       {noon, noon.Add(1), noon, noon.Add(1)},
		"in other order": {noon.Add(1), noon, noon, noon.Add(1)},
		"never":          {time.Time{}, noon, time.Time{}, noon},
		"the same":       {noon.In(east), noon, noon.In(east), noon.In(east)},
	} {
		if earlier, later := ordering.Earlier(c.a, c.b), ordering.Later(c.a, c.b); earlier != c.earlier || later != c.later {
			t.Errorf("%s: %v is earlier and %v is later", name, earlier, later)
		}
	}
}
