// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// RestorePrefix begins the names of directories in which a restore of dir makes a state ready: beside dir, or in it
// when only the history is restored. What a kill leaves in one may be a whole state, with keys.
func RestorePrefix(dir string) string { return "." + filepath.Base(dir) + ".restore-unfinished-" }

// SetAsidePrefix begins the paths of the states that restores of dir have set aside.
func SetAsidePrefix(dir string) string { return dir + ".before-restore-" }

// Beside lists the states beside dir that restores of it have left there: set aside, or unfinished. They hold keys as
// dir does. None comes while a Carillon runs on dir.
func Beside(dir string) ([]string, error) {
	parent := filepath.Dir(dir)
	entries, err := os.ReadDir(parent)
	if errors.Is(err, fs.ErrPermission) {
		return nil, nil // nor could a restore have made anything there
	}
	var paths []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), RestorePrefix(dir)) || strings.HasPrefix(filepath.Join(parent, e.Name()), SetAsidePrefix(dir)) {
			paths = append(paths, filepath.Join(parent, e.Name()))
		}
	}
	return paths, err
}
