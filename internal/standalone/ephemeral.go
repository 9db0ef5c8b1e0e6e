// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package standalone

import (
	"fmt"
	"os"

	"github.com/carillon-dev/carillon/internal/mounts"
	"github.com/carillon-dev/carillon/internal/privatedir"
)

// ephemeralPrefix begins the names of throw-away data directories, by which later planes know what killed ones left.
const ephemeralPrefix = "carillon-run-"

// tempDir is where throw-away data directories lie, by a path that nobody else can make to mean another.
func tempDir() (string, error) {
	dir, err := privatedir.Resolve(os.TempDir())
	if err != nil {
		return "", fmt.Errorf("the directory for temporary files is not safe for keys (set TMPDIR to another): %w", err)
	}
	return dir, nil
}

// makeEphemeral makes a throw-away data directory. Its path is short, because sockets will lie in it, and as the
// kernel's tables have it.
func makeEphemeral() (string, error) {
	temp, err := tempDir()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(temp, ephemeralPrefix)
	if err != nil {
		return "", fmt.Errorf("cannot make a directory for a plane that is thrown away; set TMPDIR to a directory that can be written: %w", err)
	}
	return dir, nil
}

// removeEphemeral removes a throw-away data directory. It unmounts what is mounted in it and never removes anything
// through a mount that stays: then the directory stays too, with an error.
func removeEphemeral(dir string) error {
	if err := mounts.UnmountBelow(dir, nil); err != nil {
		return fmt.Errorf("%s is not removed: %w", dir, err)
	}
	return privatedir.RemoveTree(dir)
}
