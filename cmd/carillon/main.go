// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Command carillon runs scheduled and batch work written for the Kubernetes API.
package main

import "github.com/carillon-dev/carillon/internal/cli"

func main() { cli.Main() }
