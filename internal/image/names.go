// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package image

import (
	"fmt"
	"strings"

	_ "crypto/sha256" // digests in names
	"github.com/distribution/reference"
)

// Name is the name of a real image: a registry, a repository in it, and a tag or a digest. The zero Name is no name.
type Name struct {
	named reference.Named // with a tag or a digest, or with both, of which the digest counts
}

// ParseName reads a name as docker and Kubernetes do: without a registry it is docker.io's, one word there means
// library/word, without a tag it is latest. A name with a digest is that very image, whatever tag stands before.
// A NameError says what is wrong with text.
func ParseName(text string) (Name, error) {
	if text == "" {
		return Name{}, &NameError{Text: text, Why: "it is empty"}
	}
	named, err := reference.ParseNormalizedNamed(text)
	if err != nil {
		return Name{}, &NameError{Text: text, Why: err.Error()}
	}
	named = reference.TagNameOnly(named)
	if digested, ok := named.(reference.Digested); ok {
		if d := digested.Digest(); d.Algorithm() != "sha256" {
			return Name{}, &NameError{Text: text, Why: fmt.Sprintf("digests are sha256, and not %s", d.Algorithm())}
		}
	}
	return Name{named: named}, nil
}

// IsHost reports whether text stands for this machine's own files instead of an image: host, or none for short,
// alone or with the tag latest, which the kubelet adds. An image of that name is reached as docker.io/library/host.
func IsHost(text string) bool {
	switch strings.TrimSuffix(text, ":latest") {
	case "host", "none":
		return true
	}
	return false
}

// String is the full name, as docker.io/library/busybox:latest. It is what the store keeps.
func (n Name) String() string {
	if n.named == nil {
		return ""
	}
	return n.named.String()
}

// Short is the name as people write it: busybox:latest.
func (n Name) Short() string {
	if n.named == nil {
		return ""
	}
	return reference.FamiliarString(n.named)
}

// Registry is the host, with its port, that the image comes from: docker.io.
func (n Name) Registry() string { return reference.Domain(n.named) }

// Path is the repository in the registry: library/busybox.
func (n Name) Path() string { return reference.Path(n.named) }

// Repository is the registry and the repository, without tag and digest: docker.io/library/busybox.
func (n Name) Repository() string { return n.named.Name() }

// Tag is the tag, or nothing if the name has only a digest.
func (n Name) Tag() string {
	if t, ok := n.named.(reference.Tagged); ok {
		return t.Tag()
	}
	return ""
}

// Digest is the digest, as sha256:…, or nothing.
func (n Name) Digest() string {
	if d, ok := n.named.(reference.Digested); ok {
		return d.Digest().String()
	}
	return ""
}

// target is what the registry is asked for: the digest, or else the tag.
func (n Name) target() string {
	if d := n.Digest(); d != "" {
		return d
	}
	return n.Tag()
}
