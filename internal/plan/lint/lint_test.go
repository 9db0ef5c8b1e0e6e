// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"testing"
)

// A rule has one id, tells all that its reader needs, and finds by one way.
func TestRulesAreWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range Rules {
		if seen[r.ID] {
			t.Errorf("%s is there twice", r.ID)
		}
		seen[r.ID] = true
		if r.Kinds == "" || r.Summary == "" || r.Reason == "" || r.Cure == "" || r.Level.String() == "none" {
			t.Errorf("%s lacks something: %+v", r.ID, r)
		}
		if r.check != nil && r.checkAll != nil {
			t.Errorf("%s has two checks", r.ID)
		}
	}
}
