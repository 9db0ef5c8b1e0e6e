// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package version says which Carillon this is. A release sets the version at link time
// (-X …/internal/version.version=v1.2.3); otherwise the module version or the VCS revision
// that the Go tool recorded is used.
package version

import "runtime/debug"

// Kubernetes is the release of the embedded control plane and node, and the API level that the
// controllers are written against.
const Kubernetes = "v1.36.3"

var version string

// String returns the version for people: a tag such as "v0.1.0", a revision, or "dev" when the
// build recorded neither.
func String() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "dev"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return "dev-" + s.Value[:12]
		}
	}
	return "dev"
}
