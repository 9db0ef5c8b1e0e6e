// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shim

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// VolumeDir in a container's directory is where the images of volumes are
// mounted before they are bound to their places.
const VolumeDir = "volumes"

// mountImageVolumes mounts the volumes that are images, so that their sources
// are directories like those of others.
func mountImageVolumes(spec *Spec) error {
	for i, m := range spec.Mounts {
		if len(m.Lowers) == 0 {
			continue
		}
		if err := privateMounts(); err != nil {
			return err
		}
		dir, err := filepath.Abs(filepath.Join(VolumeDir, strconv.Itoa(i)))
		if err == nil {
			err = mountReadOnly(m.Lowers, dir, m.Options)
		}
		if err == nil {
			// Links of the image stay in it.
			spec.Mounts[i].Source, err = resolve(dir, m.SubPath)
		}
		if err == nil {
			_, err = os.Lstat(spec.Mounts[i].Source)
		}
		if err != nil {
			return fmt.Errorf("volume at %s: %w", m.Target, err)
		}
		spec.Mounts[i].ReadOnly = true
	}
	return nil
}
