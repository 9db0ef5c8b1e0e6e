// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"encoding/json"
	"testing"
)

// document runs a command with -o json and reads what it writes.
func document(t *testing.T, into any, args ...string) {
	t.Helper()
	r := command(t, "", append(args, "-o", "json")...)
	if r.code != 0 {
		t.Fatalf("%q: exit code %d: %s", args, r.code, r.stderr)
	}
	if err := json.Unmarshal([]byte(r.stdout), into); err != nil {
		t.Fatalf("%q: %v:\n%s", args, err, r.stdout)
	}
}
