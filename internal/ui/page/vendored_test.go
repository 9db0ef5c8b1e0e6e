// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// vendoredRow is a row of the table in the README beside vendored files: name, package and version, licence, sum.
var vendoredRow = regexp.MustCompile("(?m)^\\| (\\S+) \\| [a-z.-]+@[0-9.]+ `\\S+` \\| [A-Za-z0-9.-]+, (\\S+\\.LICENSE) \\| `([0-9a-f]{64})` \\|$")

// The libraries of others are as they were published, none is without its licence, and each is in the table.
func TestVendored(t *testing.T) {
	for _, dir := range []string{"assets/vendor", "../../../test/browser/testdata"} {
		t.Run(dir, func(t *testing.T) {
			table, err := os.ReadFile(filepath.Join(dir, "README.md"))
			if err != nil {
				t.Fatal(err)
			}
			known := map[string]bool{"README.md": true}
			for _, row := range vendoredRow.FindAllStringSubmatch(string(table), -1) {
				name, licence, want := row[1], row[2], row[3]
				known[name], known[licence] = true, true
				content, err := os.ReadFile(filepath.Join(dir, name))
				if err != nil {
					t.Error(err)
					continue
				}
				if sum := sha256.Sum256(content); hex.EncodeToString(sum[:]) != want {
					t.Errorf("%s has the sum %x, and the table has %s", name, sum, want)
				}
				if text, err := os.ReadFile(filepath.Join(dir, licence)); err != nil || len(strings.TrimSpace(string(text))) == 0 {
					t.Errorf("the licence of %s: %v", name, err)
				}
			}
			files, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				if !known[f.Name()] {
					t.Errorf("%s is not in the table", f.Name())
				}
			}
			if rows := strings.Count(string(table), "\n| ") - 2; rows != len(vendoredRow.FindAllString(string(table), -1)) || rows < 1 {
				t.Errorf("of %d rows of the table not all can be read", rows)
			}
		})
	}
}
