// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Command carillon-manager runs Carillon's controllers against an existing cluster. It holds neither the control plane
// nor the node and is meant for container images.
package main

import "github.com/carillon-dev/carillon/internal/manager/command"

func main() { command.Main() }
