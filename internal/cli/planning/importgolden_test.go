// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func compareGolden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; go test -update writes it anew):\n%s", file, diff)
	}
}
