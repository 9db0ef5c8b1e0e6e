// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"os"
	"testing"
)

const table = "# D\n\n### Seen\n\n| what | Carillon | others |\n|---|---|---|\n" +
	"| `id` | `0:0` | 1 | why |\n| `mount /proc/*`, `cwd` | hidden | read-only |\n\n### Other\n\n| `umask` | 1 | 2 |\n"

func TestUnexplained(t *testing.T) {
	all, err := explanations(table, "### Seen")
	if err != nil || len(all) != 2 {
		t.Fatalf("read %+v, %v", all, err)
	}
	for _, tt := range []struct {
		name, value string
		explained   bool
	}{
		{"id", "0:0", true}, {"id", "1:0", false}, {"cwd", "/", true}, {"mount /proc/kcore", "x", true}, {"mount /proc", "x", false}, {"umask", "1", false},
	} {
		if got := unexplained(all, tt.name, tt.value); (got == "") != tt.explained {
			t.Errorf("%s %s: %q", tt.name, tt.value, got)
		}
	}
	if _, err := explanations(table, "### Missing"); err == nil {
		t.Error("a heading that is not there is no error")
	}
}

// What the command reads is there.
func TestDocumentation(t *testing.T) {
	text, err := os.ReadFile("../../docs/differences.md")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := explanations(string(text), heading); err != nil {
		t.Error(err)
	}
}
