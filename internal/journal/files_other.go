// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package journal

import (
	"errors"
	"fmt"
	"path/filepath"
)

// directory is the journal's directory. No Carillon runs on this operating system, so there is none.
type directory struct{ path string }

var errNoJournal = errors.New("journals are kept on Linux and other Unix systems only")

func makeDirectory(string) (*directory, error) { return nil, errNoJournal }

func openDirectory(path string) (*directory, error) {
	return nil, fmt.Errorf("%w in %s", ErrNone, path)
}

func (d *directory) close() {}

func (d *directory) database() string { return filepath.Join(d.path, fileName) }

func (d *directory) isStill() bool { return false }

func (d *directory) prepare() error { return errNoJournal }

func (d *directory) checkFiles() error { return errNoJournal }

func freeSpace(string) (int64, error) { return 0, errNoJournal }
