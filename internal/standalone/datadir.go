// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package standalone

import "path/filepath"

// What lies where in a data directory.
func kubeconfigPath(dir string) string   { return filepath.Join(dir, "kubeconfig") }
func logPath(dir string) string          { return filepath.Join(dir, "log", "carillon.log") }
func controlPlanePath(dir string) string { return filepath.Join(dir, "control-plane") }
func nodePath(dir string) string         { return filepath.Join(dir, "node") }
func nodeNamePath(dir string) string     { return filepath.Join(dir, "node-name") }

// ephemeralPrefix begins the names of throw-away data directories, by which later planes know what killed ones left.
const ephemeralPrefix = "carillon-run-"
