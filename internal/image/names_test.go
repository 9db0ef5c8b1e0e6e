// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package image

import (
	"errors"
	"strings"
	"testing"
)

const someDigest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// Names are read as docker and the kubelet read them.
func TestParseName(t *testing.T) {
	for _, tt := range []struct{ text, full, short, registry, target string }{
		{"busybox", "docker.io/library/busybox:latest", "busybox:latest", "docker.io", "latest"},
		{"busybox:1.36", "docker.io/library/busybox:1.36", "busybox:1.36", "docker.io", "1.36"},
		{"me/tool", "docker.io/me/tool:latest", "me/tool:latest", "docker.io", "latest"},
		{"docker.io/busybox", "docker.io/library/busybox:latest", "busybox:latest", "docker.io", "latest"},
		{"index.docker.io/library/busybox", "docker.io/library/busybox:latest", "busybox:latest", "docker.io", "latest"},
		{"docker.io/library/host", "docker.io/library/host:latest", "host:latest", "docker.io", "latest"},
		{"localhost/a", "localhost/a:latest", "localhost/a:latest", "localhost", "latest"},
		{"localhost:5000/a/b:v", "localhost:5000/a/b:v", "localhost:5000/a/b:v", "localhost:5000", "v"},
		{"[::1]:5000/a", "[::1]:5000/a:latest", "[::1]:5000/a:latest", "[::1]:5000", "latest"},
		{"registry.k8s.io/pause:3.10", "registry.k8s.io/pause:3.10", "registry.k8s.io/pause:3.10", "registry.k8s.io", "3.10"},
		{"busybox@" + someDigest, "docker.io/library/busybox@" + someDigest, "busybox@" + someDigest, "docker.io", someDigest},
		{"a.b/c:t@" + someDigest, "a.b/c:t@" + someDigest, "a.b/c:t@" + someDigest, "a.b", someDigest},
	} {
		n, err := ParseName(tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		if n.String() != tt.full || n.Short() != tt.short || n.Registry() != tt.registry || n.target() != tt.target {
			t.Errorf("%s: full %s, short %s, registry %s, target %s", tt.text, n.String(), n.Short(), n.Registry(), n.target())
		}
		if again, err := ParseName(n.String()); err != nil || again.String() != n.String() {
			t.Errorf("%s: its full name is read as %s, %v", tt.text, again, err)
		}
	}
	for _, text := range []string{
		"", " ", "Busybox", "a//b", "a:", ":a", "a@sha256:12", "a@md5:0123456789abcdef0123456789abcdef", "-", "a b", "a\n", "../a", "http://a/b",
		strings.Repeat("a", 300), "a:" + strings.Repeat("t", 129), someDigest[7:], "a@sha512:" + someDigest[7:] + someDigest[7:],
	} {
		var bad *NameError
		if n, err := ParseName(text); !errors.As(err, &bad) {
			t.Errorf("%q is read as %s, %v", text, n, err)
		}
	}
}

func TestIsHost(t *testing.T) {
	for text, want := range map[string]bool{
		"host": true, "host:latest": true, "none": true, "none:latest": true,
		"": false, "Host": false, "host:1": false, "library/host": false, "docker.io/library/host": false, "host@" + someDigest: false,
		"host:latest:latest": false,
	} {
		if IsHost(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}

// Whatever is a name is the same name when written in full, or short.
func FuzzParseName(f *testing.F) {
	for _, seed := range []string{"busybox", "a.b:5/c/d:e@" + someDigest, "localhost/a", "[::1]:5000/a", "docker.io/a", "host"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := ParseName(text)
		if err != nil {
			return
		}
		for _, form := range []string{n.String(), n.Short()} {
			if again, err := ParseName(form); err != nil || again.String() != n.String() {
				t.Errorf("%q is %s, written as %s, which is %s (%v)", text, n, form, again, err)
			}
		}
		if n.Registry() == "" || n.Path() == "" || n.target() == "" || strings.ContainsAny(n.String(), "\n /\\"[:2]) {
			t.Errorf("%q: %q %q %q", text, n.Registry(), n.Path(), n.target())
		}
	})
}
