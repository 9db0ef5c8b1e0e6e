// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"sync/atomic"
	_ "unsafe" // for go:linkname

	_ "k8s.io/component-base/version"
)

// KubernetesVersion is the Kubernetes release that is built in, as the API server and the node report it.
const KubernetesVersion = "v1.36.3"

// dynamicGitVersion is what version.Get answers. Kubernetes' own builds set it with linker flags; setting it here makes
// every way of building say the same, `go run` and `go test` too. The exported setter refuses any version but v0.0.0.
//
//go:linkname dynamicGitVersion k8s.io/component-base/version.dynamicGitVersion
var dynamicGitVersion atomic.Value

func init() {
	dynamicGitVersion.Store(KubernetesVersion)
}
