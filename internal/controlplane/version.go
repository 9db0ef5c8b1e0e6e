// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

// KubernetesVersion is the Kubernetes release that is built in, as the API server and the node report it.
const KubernetesVersion = "v1.36.3"
