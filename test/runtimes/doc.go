// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package runtimes runs other container runtimes, containerd and podman, to hold Carillon against them. Each gets a
// directory of its own for all that it keeps; nothing of the machine's own containerd or podman is used or touched, and
// after Stop nothing is left but that directory. It needs root, and the programs as Debian packages them; Missing names
// those that are not here.
//
//	registry.go    a registry on loopback, from which all pull the same images
//	containerd.go  a containerd, and ctr to talk to it
//	podman.go      podman
//	leftovers.go   what the two leave where they were not told another place
package runtimes

import "os/exec"

// Missing names the programs that are not installed.
func Missing() []string {
	var missing []string
	for _, program := range []string{"containerd", "ctr", "containerd-shim-runc-v2", "runc", "podman"} {
		if _, err := exec.LookPath(program); err != nil {
			missing = append(missing, program)
		}
	}
	return missing
}
