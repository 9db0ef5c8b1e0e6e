// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package backup

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/carillon-dev/carillon/internal/privatedir"
)

// RequestError says that what was asked for cannot be done as it was asked, and what could be: the user's mistake.
type RequestError struct{ text string }

// Error implements error.
func (e *RequestError) Error() string { return e.text }

func request(format string, args ...any) error { return &RequestError{fmt.Sprintf(format, args...)} }

// unfinished is in the names of files and directories that are not finished, and of what a kill leaves of them.
const unfinished = "unfinished"

// outputFile is a file that appears under its name when it is whole and durable.
type outputFile struct {
	*os.File
	dir   *os.File // open since it was checked
	path  string   // the name that it will have
	name  string   // the last part of it
	tmp   string   // the one that it has
	force bool
}

// openOutput begins a file. Nobody else can exchange a part of its path, and a link in its place is never followed.
// What is there already is replaced at the end if force says so.
func openOutput(path string, force bool) (_ *outputFile, err error) {
	name := filepath.Base(path)
	if name == "." || name == ".." || name == "/" || strings.HasSuffix(path, "/") {
		return nil, request("%s is no name of a file", path)
	}
	// Short, because a name may be as long as the filesystem allows, and the same for each of that name.
	sum := sha256.Sum256([]byte(name))
	prefix := ".backup-" + unfinished + "-" + hex.EncodeToString(sum[:6]) + "-"
	tmp := prefix + rand.Text()
	// A name that nothing has: the directories on the way are looked at, and the file itself is not.
	resolved, err := privatedir.Resolve(filepath.Join(filepath.Dir(path), tmp))
	if err != nil {
		return nil, fmt.Errorf("the backup holds keys, so nobody else may be able to exchange it: %w (name a file in a directory of your own, or use - and write what comes where you want it)", err)
	}
	o := &outputFile{path: path, name: name, tmp: tmp, force: force}
	if o.dir, err = os.OpenFile(filepath.Dir(resolved), os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0); err != nil {
		return nil, cannotWrite(path, err)
	}
	defer func() {
		if err != nil {
			o.dir.Close()
		}
	}()
	if err := o.checkPlace(); err != nil {
		return nil, err
	}
	o.sweep(prefix)
	fd, err := unix.Openat(int(o.dir.Fd()), tmp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, cannotWrite(path, err)
	}
	o.File = os.NewFile(uintptr(fd), resolved)
	// Held for as long as the file is open. Whoever swept before has removed it: then commit says so.
	if err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err != nil && !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.ENOTSUP) {
		_ = unix.Unlinkat(int(o.dir.Fd()), tmp, 0)
		o.File.Close()
		return nil, cannotWrite(path, err)
	}
	return o, nil
}

// sweep removes what backups of this name left that were killed: nobody holds its lock. Where it cannot be removed it
// stays for the next one.
func (o *outputFile) sweep(prefix string) {
	entries, _ := o.dir.ReadDir(-1) // those that were read, after an error
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		fd, err := unix.Openat(int(o.dir.Fd()), e.Name(), unix.O_WRONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err != nil {
			continue
		}
		var st unix.Stat_t
		if unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG && int(st.Uid) == os.Geteuid() && unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) == nil {
			_ = unix.Unlinkat(int(o.dir.Fd()), e.Name(), 0)
		}
		_ = unix.Close(fd) // it was only locked
	}
}

// checkPlace refuses to replace what is no file, or was not to be replaced.
func (o *outputFile) checkPlace() error {
	var st unix.Stat_t
	err := unix.Fstatat(int(o.dir.Fd()), o.name, &st, unix.AT_SYMLINK_NOFOLLOW)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return cannotWrite(o.path, err)
	case st.Mode&unix.S_IFMT == unix.S_IFDIR:
		return request("%s is a directory: name a file in it", o.path)
	case st.Mode&unix.S_IFMT == unix.S_IFLNK:
		return request("%s is a link: name the file that it leads to", o.path)
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return request("%s is no regular file: to write to it, use - and redirect the output there", o.path)
	case !o.force:
		return request("%s is there already: name another file, or replace it with --force", o.path)
	}
	return nil
}

// commit makes the file durable and gives it its name.
func (o *outputFile) commit() error {
	defer o.dir.Close()
	err := o.Sync()
	if cerr := o.File.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		if err = o.checkPlace(); err == nil {
			err = o.rename()
		}
	}
	if err == nil {
		err = o.dir.Sync()
	}
	if err != nil {
		_ = unix.Unlinkat(int(o.dir.Fd()), o.tmp, 0) // the error that made it useless is the one to tell
		var asked *RequestError
		if errors.As(err, &asked) {
			return err
		}
		return cannotWrite(o.path, err)
	}
	return nil
}

func (o *outputFile) rename() error {
	at := int(o.dir.Fd())
	if o.force {
		return unix.Renameat(at, o.tmp, at, o.name)
	}
	// Unlike a rename a link never replaces what came meanwhile.
	err := unix.Linkat(at, o.tmp, at, o.name, 0)
	switch {
	case err == nil:
		return unix.Unlinkat(at, o.tmp, 0)
	case errors.Is(err, fs.ErrExist):
		return request("%s was made by somebody else meanwhile: name another file, or replace it with --force", o.path)
	}
	return unix.Renameat(at, o.tmp, at, o.name) // a filesystem without links
}

// abandon removes what was written. It does nothing after commit.
func (o *outputFile) abandon() {
	if o.File.Close() == nil {
		_ = unix.Unlinkat(int(o.dir.Fd()), o.tmp, 0) // its name says what it is
		o.dir.Close()
	}
}

func cannotWrite(path string, err error) error {
	switch {
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		return fmt.Errorf("no space left for %s: free some space, or write it elsewhere", path)
	case errors.Is(err, fs.ErrNotExist):
		return request("%s cannot be written: the directory %s is not there", path, filepath.Dir(path))
	}
	return fmt.Errorf("%s cannot be written: %w", path, cause(err))
}

// cause is an error without the name of a temporary file, of which nobody has heard.
func cause(err error) error {
	var e *os.PathError
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}
