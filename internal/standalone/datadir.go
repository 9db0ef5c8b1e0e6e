// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package standalone

import (
	"fmt"
	"os"
	"path/filepath"
)

// What lies where in a data directory.
func kubeconfigPath(dir string) string   { return filepath.Join(dir, "kubeconfig") }
func logPath(dir string) string          { return filepath.Join(dir, "log", "carillon.log") }
func controlPlanePath(dir string) string { return filepath.Join(dir, "control-plane") }
func nodePath(dir string) string         { return filepath.Join(dir, "node") }
func nodeNamePath(dir string) string     { return filepath.Join(dir, "node-name") }

// ephemeralPrefix begins the names of throw-away data directories, by which later planes know what killed ones left.
const ephemeralPrefix = "carillon-run-"

// makeEphemeral makes a throw-away data directory. Its path is short, because sockets will lie in it.
func makeEphemeral() (string, error) {
	dir, err := os.MkdirTemp("", ephemeralPrefix)
	if err != nil {
		return "", fmt.Errorf("cannot make a directory for a plane that is thrown away; set TMPDIR to a directory that can be written: %w", err)
	}
	// The node wants to find the same path in the kernel's tables.
	return filepath.EvalSymlinks(dir)
}
