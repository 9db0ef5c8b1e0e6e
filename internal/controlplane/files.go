// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package controlplane

import "github.com/carillon-dev/carillon/internal/privatedir"

// maxFile bounds what is read back from a file of ours; the largest is a kubeconfig of some kilobytes.
const maxFile = 1 << 20

// readFile reads a file in one of our directories. What is not a regular file of ours is an error, and a link is not
// followed.
func readFile(path string) ([]byte, error) { return privatedir.ReadFile(path, maxFile) }

// writeFile replaces path with data, readable by the owner alone. A crash leaves the old content or the new, never a
// part; a stray temporary file next to it is the worst that remains.
func writeFile(path string, data []byte) error { return privatedir.WriteFile(path, data) }

// makeDir makes one of our directories, or makes sure that it is one.
func makeDir(path string) error {
	dir, err := privatedir.Make(path)
	if err != nil {
		return unusableDir(path, err)
	}
	dir.Close()
	return nil
}
