// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package ended

import (
	"io"
	"os"

	"github.com/carillon-dev/carillon/internal/privatedir"
)

// OpenLog reads the log of an entry as Dir.Log does, in a directory that another process has open, or none has: it
// makes and changes nothing there. fs.ErrNotExist says that there is no such entry, or that it has no log.
func OpenLog(path, id string) (io.ReadCloser, error) {
	path, err := privatedir.Resolve(path)
	if err != nil {
		return nil, err
	}
	checked, err := privatedir.Open(path)
	if err != nil {
		return nil, err
	}
	defer checked.Close()
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	defer root.Close() // the files of the log stay open
	if err := same(checked, root); err != nil {
		return nil, err
	}
	d := &Dir{root: root, path: path, opts: Options{Warn: func(string) {}}}
	return d.Log(id)
}
