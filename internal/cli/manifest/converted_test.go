// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Files with old CronJobs are replaced by files that say the same of batch/v1, document by document; everything else,
// also what cannot be read, is left to the one who reads it next.
func TestConvert(t *testing.T) {
	const (
		old    = "apiVersion: batch/v1beta1\nkind: CronJob\nmetadata: {name: old}\nspec: {schedule: '@daily'}\n"
		other  = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c} # a comment\n"
		listed = `{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"batch/v1beta1","kind":"CronJob","metadata":{"name":"old"}},{"apiVersion":"v1","kind":"Secret"}]}`
	)
	for name, tt := range map[string]struct {
		text     string
		want     []string // of the text instead; none: it is left as it is
		tells    int
		wantNone string
	}{
		"old":                     {old, []string{"apiVersion: batch/v1\n", "schedule: '@daily'"}, 1, "v1beta1"},
		"old beside another":      {other + "---\n" + old + "---\n" + other, []string{"# a comment", "apiVersion: batch/v1\n"}, 1, "v1beta1"},
		"in a list":               {listed, []string{"apiVersion: batch/v1\n", "kind: Secret"}, 1, "v1beta1"},
		"new":                     {strings.ReplaceAll(old, "v1beta1", "v1"), nil, 0, ""},
		"another kind of v1beta1": {strings.ReplaceAll(old, "CronJob", "Job"), nil, 0, ""},
		"no YAML":                 {"a: b: c", nil, 0, ""},
		"a text":                  {"hello", nil, 0, ""},
		"empty":                   {"", nil, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file, beside := filepath.Join(dir, "b.yaml"), filepath.Join(dir, "a.yaml")
			for path, text := range map[string]string{file: tt.text, beside: other} {
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var told []string
			tell := func(line string) { told = append(told, line) }
			files, instead := Convert(t.Context(), dir, nil, tell)
			if !slices.Equal(files, []string{beside, file}) || instead[beside] != nil || (instead[file] != nil) != (tt.want != nil) {
				t.Fatalf("files %q, instead %q", files, instead)
			}
			got := string(instead[file])
			for _, want := range tt.want {
				if !strings.Contains(got, want) {
					t.Errorf("%q is not in\n%s", want, got)
				}
			}
			if tt.wantNone != "" && strings.Contains(got, tt.wantNone) {
				t.Errorf("%q is in\n%s", tt.wantNone, got)
			}
			if len(told) != tt.tells {
				t.Errorf("told %q", told)
			}
			if _, instead := Convert(t.Context(), "-", strings.NewReader(tt.text), tell); string(instead["-"]) != got && string(instead["-"]) != tt.text {
				t.Errorf("from standard input %q", instead["-"])
			}
		})
	}
}
