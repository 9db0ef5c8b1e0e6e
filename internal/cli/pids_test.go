// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import "testing"

// The most processes of a container is a count or -1, and nothing else.
func TestPIDsMax(t *testing.T) {
	for text, ok := range map[string]bool{"1": true, "4096": true, "-1": true, "0": false, "-2": false, "": false, "many": false, "1e3": false, "99999999999": false} {
		p := pidsMax(7)
		if err := p.Set(text); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		} else if ok && p.String() != text || !ok && p != 7 {
			t.Errorf("%q: is %v", text, p)
		}
	}
}
