// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package node

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/kubernetes/pkg/volume/util/subpath"
)

// plainSubpath serves volumeMounts with subPath where nothing can be mounted.
// Upstream holds the directory fast with a bind mount, so that a container
// cannot swap it for a symbolic link in between. Here the path is resolved and
// checked to lie in the volume; who swaps it afterwards can reach no file that
// the user, as whom every container runs, could not open anyway.
type plainSubpath struct{}

var _ subpath.Interface = plainSubpath{}

func (plainSubpath) PrepareSafeSubpath(sub subpath.Subpath) (string, func(), error) {
	volume, err := filepath.EvalSymlinks(sub.VolumePath)
	if err != nil {
		return "", nil, fmt.Errorf("volume %s: %w", sub.VolumeName, err)
	}
	path, err := filepath.EvalSymlinks(sub.Path)
	if err != nil {
		return "", nil, fmt.Errorf("subPath of volume %s: %w", sub.VolumeName, err)
	}
	if path != volume && !strings.HasPrefix(path, volume+"/") {
		return "", nil, fmt.Errorf("subPath of volume %s leads outside the volume", sub.VolumeName)
	}
	return path, nil, nil
}

func (plainSubpath) CleanSubPaths(string, string) error { return nil }

// SafeMakeDir makes the directory dir, which is relative to base and which no
// symbolic link can lead out of it.
func (plainSubpath) SafeMakeDir(dir, base string, mode os.FileMode) error {
	root, err := os.OpenRoot(base)
	if err != nil {
		return err
	}
	defer root.Close()
	return root.MkdirAll(filepath.Clean(dir), mode.Perm())
}
