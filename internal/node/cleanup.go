// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/carillon-dev/carillon/internal/mounts"
)

// cleanLeftovers removes what a node that was killed left in its data
// directory and that the next one would trip over. Volumes stay mounted: the
// Pods may be running on, and the kubelet finds and takes over the volumes of
// those that are, and unmounts those of the others.
func cleanLeftovers(dataDir string) error {
	volumes := filepath.Join(kubeletDir(dataDir), "pods")
	runtime := runtimeDir(dataDir)
	err := mounts.UnmountBelow(dataDir, func(point string) bool {
		return mounts.StrictlyUnder(point, volumes) || mounts.Under(point, runtime)
	})
	leftovers := []string{podResourcesSocket(dataDir), runtimeSocket(dataDir)}
	// Only a malformed pattern is an error.
	probes, _ := filepath.Glob(filepath.Join(dataDir, probePattern))
	for _, leftover := range append(leftovers, probes...) {
		if removeErr := os.Remove(leftover); removeErr != nil && !errors.Is(removeErr, fs.ErrNotExist) {
			err = errors.Join(err, removeErr)
		}
	}
	if err != nil {
		return fmt.Errorf("cleaning up after an earlier run in %s: %w", dataDir, err)
	}
	return nil
}
