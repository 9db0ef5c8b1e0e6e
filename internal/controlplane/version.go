// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package controlplane

import (
	"sync/atomic"
	_ "unsafe" // for go:linkname

	_ "k8s.io/component-base/version"

	"github.com/carillon-dev/carillon/internal/version"
)

// dynamicGitVersion is what version.Get answers. Kubernetes' own builds set it with linker flags; setting it here makes
// every way of building say the same, `go run` and `go test` too. The exported setter refuses any version but v0.0.0.
//
//go:linkname dynamicGitVersion k8s.io/component-base/version.dynamicGitVersion
var dynamicGitVersion atomic.Value

func init() {
	dynamicGitVersion.Store(version.Kubernetes)
}
