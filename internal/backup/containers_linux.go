// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/carillon-dev/carillon/internal/node/process/shim"
)

// livingContainers counts the containers of a Carillon that does not run that run all the same, because it was killed.
// Each is held by a process with a lock.
func livingContainers(dir string) (int, error) {
	list, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	alive := 0
	for _, e := range list {
		lock, err := shim.Lock(filepath.Join(dir, e.Name()))
		if err == nil {
			lock.Close()
		} else if errors.Is(err, unix.EWOULDBLOCK) {
			alive++
		}
	}
	return alive, nil
}
