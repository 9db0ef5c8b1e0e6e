// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package privatedir

import "os"

// Check reports whether a directory is there. Nothing of ours is kept on this operating system, only looked for.
func Check(path string) error {
	_, err := os.Stat(path)
	return err
}
