// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package uitest

import (
	"strings"
	"testing"
)

// Says checks that a body has each of wanted and none of unwanted. One that is wrong is logged, once, from its main
// part on.
func Says(t testing.TB, body string, wanted, unwanted []string) {
	t.Helper()
	wrong := false
	for _, text := range wanted {
		if !strings.Contains(body, text) {
			t.Errorf("it does not say %q", text)
			wrong = true
		}
	}
	for _, text := range unwanted {
		if strings.Contains(body, text) {
			t.Errorf("it says %q", text)
			wrong = true
		}
	}
	if wrong {
		t.Log(body[max(0, strings.Index(body, "<main")):])
	}
}
