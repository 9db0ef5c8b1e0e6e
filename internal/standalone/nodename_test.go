// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package standalone

import (
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/carillon-dev/carillon/internal/datadir"
)

// Every machine's name becomes one that Kubernetes takes.
func TestAsNodeName(t *testing.T) {
	for host, want := range map[string]string{
		"laptop":                       "laptop",
		"Annas-MacBook.fritz.box":      "annas-macbook",
		"my_host":                      "my-host",
		"-x-":                          "x",
		"":                             fallbackName,
		"...":                          fallbackName,
		"日本":                           fallbackName,
		"1":                            "1",
		strings.Repeat("a", 200):       strings.Repeat("a", 63),
		strings.Repeat("a", 62) + "-b": strings.Repeat("a", 62),
	} {
		if got := asNodeName(host); got != want {
			t.Errorf("%q became %q, want %q", host, got, want)
		}
	}
}

func FuzzAsNodeName(f *testing.F) {
	f.Add("host.example")
	f.Add("-\x00-")
	f.Fuzz(func(t *testing.T, host string) {
		name := asNodeName(host)
		if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
			t.Errorf("%q became %q: %v", host, name, problems)
		}
		if again := asNodeName(name); again != name {
			t.Errorf("%q became %q, and that %q", host, name, again)
		}
	})
}

// The name stays when the machine's changes, and a damaged memory of it is as good as none.
func TestNodeNameStays(t *testing.T) {
	here, err := nodeName(private(t))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{"earlier\n": "earlier", "": here, "Not Valid": here, "a/b": here} {
		dir := private(t)
		if err := os.WriteFile(datadir.NodeName(dir), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if got, err := nodeName(dir); got != want || err != nil {
				t.Errorf("with %q remembered the name is %q, %v, want %q", text, got, err, want)
			}
		}
	}
}

// private is a directory such as a locked data directory is.
func private(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}
