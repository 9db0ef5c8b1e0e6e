// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package zones

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestZoneTables(t *testing.T) {
	dir := t.TempDir()
	tests := map[string]struct {
		name, text string
		want       []string
	}{
		"a table":            {"zone.tab", "# codes\tcoordinates\tTZ\nDE\t+5230+01322\tEurope/Berlin\tmost of Germany\n", []string{"Europe/Berlin", "UTC"}},
		"the compact source": {"tzdata.zi", "# version 2026a\nR A 1 o - D 1 0 0 -\nZ Asia/Tokyo 9:18:59 - LMT 1887\nL Asia/Tokyo Japan\n", []string{"Asia/Tokyo", "Japan", "UTC"}},
		"nothing":            {"empty.tab", "", nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, test.name)
			if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := readZoneTable(path); !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
	if got := readZoneTable(filepath.Join(dir, "none")); got != nil {
		t.Errorf("of no file %v", got)
	}
	if offered, _ := Complete(nil, nil, ""); !slices.Contains(offered, "Europe/Berlin") || !slices.Contains(offered, "UTC") {
		t.Errorf("offered are %v", offered)
	}
	if offered, _ := Complete(nil, nil, "Europe/Be"); !slices.Contains(offered, "Europe/Berlin") || slices.Contains(offered, "UTC") {
		t.Errorf("offered for Europe/Be are %v", offered)
	}
}
