// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package datadir says what lies where in a data directory, and where a user's data directory is.
package datadir

import (
	"os"
	"path/filepath"
)

// Env names the data directory where no flag does.
const Env = "CARILLON_DATA_DIR"

// Default is where a user's Carillon keeps its state: $CARILLON_DATA_DIR, or carillon under the XDG data home
// (~/.local/share). Empty when there is no home directory either.
func Default() string {
	if dir := os.Getenv(Env); dir != "" {
		return dir
	}
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "carillon")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".local", "share", "carillon")
}

// Kubeconfig is the administrator's.
func Kubeconfig(dir string) string { return filepath.Join(dir, "kubeconfig") }

// Log is the file that all parts log to.
func Log(dir string) string { return filepath.Join(dir, "log", "carillon.log") }

// ControlPlane holds the store, keys and certificates.
func ControlPlane(dir string) string { return filepath.Join(dir, "control-plane") }

// NodeName is the file that keeps the node's name.
func NodeName(dir string) string { return filepath.Join(dir, "node-name") }

// Node holds the Pods: volumes, logs, and what is needed to find them again.
func Node(dir string) string { return filepath.Join(dir, "node") }

// Runtime is where the node's built-in container runtime keeps its state.
func Runtime(dir string) string { return filepath.Join(Node(dir), "process") }

// Containers holds a directory for each container of the built-in runtime.
func Containers(dir string) string { return filepath.Join(Runtime(dir), "containers") }

// PodLogs is where the node keeps the logs of containers.
func PodLogs(dir string) string { return filepath.Join(Node(dir), "logs") }
