// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/carillon-dev/carillon/internal/client/exitcode"
)

// writeWhole writes a file so that nobody ever sees a part of it: what was there stays until all of it is written.
func writeWhole(path string, content []byte) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return exitcode.UsageError("%s is a directory; name a file in it", path)
	} else if err == nil && !info.Mode().IsRegular() { // such as /dev/stdout
		return os.WriteFile(path, content, 0o644)
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".carillon-*")
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", path, cause(err))
	}
	_, err = file.Write(content)
	for _, step := range []func() error{func() error { return file.Chmod(0o644) }, file.Close} {
		if failed := step(); err == nil {
			err = failed
		}
	}
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name())
		return fmt.Errorf("cannot write %s: %w", path, cause(err))
	}
	return nil
}

// cause is an error without the names of files that nobody has heard of.
func cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return e.Err
	}
	return err
}
