// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package carillon

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// A file or folder of ours in a page's text. Those in capitals stand for any name.
var pathInText = regexp.MustCompile("`((?:internal|cmd|test|deploy|examples|docs)/[a-z0-9_./*-]+)`")

// Every file that a page names is there: whoever follows the walkthrough finds it.
func TestDocsNameFilesThatExist(t *testing.T) {
	pages := []string{"README.md", "CONTRIBUTING.md"}
	for _, pattern := range []string{"docs/*.md", "docs/adr/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		pages = slices.Concat(pages, found)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range pathInText.FindAllSubmatch(text, -1) {
			if found, err := filepath.Glob(string(match[1])); err != nil || len(found) == 0 {
				t.Errorf("%s names %s, which is not there", page, match[1])
			}
		}
	}
}
