// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/carillon-dev/carillon/internal/privatedir"
)

// directory is the journal's directory: ours, with mode 0700, on a path that nobody else can change. So its files can
// be named by paths, as SQLite does. They must not be opened otherwise while SQLite has them open: the kernel lets go
// of a process's locks on a file when the process closes any descriptor of it.
type directory struct {
	path string
	dir  *privatedir.Dir
}

func makeDirectory(path string) (*directory, error) {
	path, err := privatedir.Resolve(path)
	if err != nil {
		return nil, err
	}
	dir, err := privatedir.Make(path)
	if err != nil {
		return nil, err
	}
	return &directory{path: path, dir: dir}, nil
}

// openDirectory opens the directory of a journal that is there: ErrNone says that it is not.
func openDirectory(path string) (*directory, error) {
	path, err := privatedir.Resolve(path)
	if err != nil {
		return nil, err
	}
	dir, err := privatedir.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w in %s", ErrNone, path)
	}
	if err != nil {
		return nil, err
	}
	d := &directory{path: path, dir: dir}
	if err = d.checkFiles(); err == nil {
		_, err = os.Lstat(d.database())
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w in %s", ErrNone, path)
	}
	if err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

func (d *directory) close() { d.dir.Close() }

func (d *directory) database() string { return filepath.Join(d.path, fileName) }

// isStill tells whether nobody writes to the database, nor can: its directory takes no files, as that of a mounted
// backup, and no writer has left any there.
func (d *directory) isStill() bool {
	if err := unix.Access(d.path, unix.W_OK); !errors.Is(err, unix.EROFS) && !errors.Is(err, unix.EACCES) {
		return false
	}
	_, err := os.Lstat(d.database() + "-wal")
	return errors.Is(err, fs.ErrNotExist)
}

// prepare makes an empty database file, closed to others, if there is none, and refuses what is not ours.
func (d *directory) prepare() error {
	// Never opened if it is there: see above.
	f, err := d.dir.OpenFile(fileName, os.O_RDWR|os.O_CREATE|os.O_EXCL)
	if err == nil {
		err = f.Close()
	} else if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	if err != nil {
		return err
	}
	return d.checkFiles()
}

// checkFiles refuses a database, or a companion of it, that is a link, no file or somebody else's.
func (d *directory) checkFiles() error {
	for _, c := range companions {
		path := d.database() + c
		var st unix.Stat_t
		err := unix.Lstat(path, &st)
		why := ""
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return &os.PathError{Op: "look at", Path: path, Err: err}
		case st.Mode&unix.S_IFMT != unix.S_IFREG:
			why = "is not a regular file"
		case int(st.Uid) != os.Geteuid():
			why = fmt.Sprintf("belongs to user %d", st.Uid)
		case st.Nlink > 1:
			why = fmt.Sprintf("has %d names, one of which may be somebody else's", st.Nlink)
		}
		if why != "" {
			return &privatedir.NotOursError{Path: path, Why: why, Cure: "move it elsewhere"}
		}
	}
	return nil
}

// freeSpace tells how many bytes we may still write to a directory's disk.
func freeSpace(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return int64(st.Bavail) * int64(st.Bsize), nil //nolint:gosec,unconvert // its types differ by system
}
