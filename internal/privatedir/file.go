// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package privatedir

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

var errEnd = io.EOF

// OpenFile opens the file name in d with flags of package os, and makes it with mode 0600 if the flags say so. It is a
// regular file of ours with no other name, or an error; a link is never followed, and nothing waits for the other end
// of a pipe. What was there before is truncated only once that is known.
func (d *Dir) OpenFile(name string, flags int) (*os.File, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	path := filepath.Join(d.path, name)
	fd, err := retry(func() (int, error) {
		return unix.Openat(d.fd(), name, flags&^os.O_TRUNC|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0o600)
	})
	if errors.Is(err, unix.ELOOP) {
		return nil, &NotOursError{Path: path, Why: "is a link where a file should be", Cure: "remove the link"}
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(fd), path)
	err = checkFile(fd, path)
	if err == nil && flags&os.O_TRUNC != 0 {
		err = f.Truncate(0)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func checkFile(fd int, path string) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return &os.PathError{Op: "look at", Path: path, Err: err}
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return &NotOursError{Path: path, Why: "is not a regular file", Cure: "remove it"}
	case int(st.Uid) != os.Geteuid():
		return &NotOursError{Path: path, Why: "belongs to " + userName(st.Uid), Cure: "remove it if nobody needs it"}
	case st.Nlink > 1:
		return &NotOursError{Path: path, Why: fmt.Sprintf("has %d names, one of which may be somebody else's", st.Nlink), Cure: "replace it with a copy of its own"}
	}
	return nil
}

// ReadFile reads a file of ours. One with more than limit bytes is an error, and is not read.
func (d *Dir) ReadFile(name string, limit int64) ([]byte, error) {
	f, err := d.OpenFile(name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		return nil, &os.PathError{Op: "read", Path: f.Name(), Err: fmt.Errorf("it has more than %d bytes, which it never should", limit)}
	}
	return data, err
}

// WriteFile replaces the file name in d with data, readable by the owner alone, and is durable when it returns. A crash
// leaves the old content or the new, never a part; a stray file .name.* next to it is the worst that remains.
func (d *Dir) WriteFile(name string, data []byte) error {
	if err := checkName(name); err != nil {
		return err
	}
	tmp := "." + name + "." + rand.Text()
	f, err := d.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = unix.Renameat(d.fd(), tmp, d.fd(), name)
		if err != nil {
			err = &os.LinkError{Op: "rename", Old: f.Name(), New: filepath.Join(d.path, name), Err: err}
		}
	}
	if err != nil {
		_ = unix.Unlinkat(d.fd(), tmp, 0) // the error that made it useless is the one to tell
		return err
	}
	return d.sync()
}

// Remove removes a file; one that is not there is no error.
func (d *Dir) Remove(name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	if err := unix.Unlinkat(d.fd(), name, 0); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &os.PathError{Op: "remove", Path: filepath.Join(d.path, name), Err: err}
	}
	return nil
}

// ReadFile reads a file in a directory of ours, as Dir.ReadFile does.
func ReadFile(path string, limit int64) ([]byte, error) {
	d, err := Open(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.ReadFile(filepath.Base(path), limit)
}

// WriteFile replaces a file in a directory of ours, as Dir.WriteFile does.
func WriteFile(path string, data []byte) error {
	d, err := Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer d.Close()
	return d.WriteFile(filepath.Base(path), data)
}
