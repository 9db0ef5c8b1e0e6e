// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Command builtin is Kubernetes' own kube-controller-manager, built from its module at the version of
// the embedded control plane: the other side of every comparison.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

func main() { os.Exit(cli.Run(app.NewControllerManagerCommand())) }
