// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package privatedir

// Check reports why a directory is not ours, as Resolve and Open do.
func Check(path string) error {
	path, err := Resolve(path)
	if err != nil {
		return err
	}
	d, err := Open(path)
	if err != nil {
		return err
	}
	d.Close()
	return nil
}
