// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package privatedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Dir is an open directory of ours. Its methods take names, not paths, and work on the directory that was checked,
// whatever its path means by now.
type Dir struct {
	f    *os.File
	path string
}

// Open opens a directory that belongs to the effective user and has mode 0700. A *NotOursError says that it does not;
// a link in its place is one too.
func Open(path string) (*Dir, error) {
	d, err := open(unix.AT_FDCWD, path, path)
	if err != nil {
		return nil, err
	}
	if err := d.check(); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// Make opens a directory as Open does, and makes it, and its parents, with mode 0700 if need be. A directory of ours
// that others can read is closed to them; one that others can write is too if it is empty, and else refused, because
// what is in it may be theirs.
func Make(path string) (*Dir, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	return closedToOthers(open(unix.AT_FDCWD, path, path))
}

// Sub opens the directory name in d, and makes it if need be, as Make does.
func (d *Dir) Sub(name string) (*Dir, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	path := filepath.Join(d.path, name)
	if err := unix.Mkdirat(d.fd(), name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, &os.PathError{Op: "mkdir", Path: path, Err: err}
	}
	return closedToOthers(open(d.fd(), name, path))
}

// Path is the path by which the directory was opened.
func (d *Dir) Path() string { return d.path }

// Stat describes the directory.
func (d *Dir) Stat() (os.FileInfo, error) { return d.f.Stat() }

// Close lets go of the directory. Calling it again does nothing.
func (d *Dir) Close() { d.f.Close() }

func (d *Dir) fd() int { return int(d.f.Fd()) }

// sync makes what was done with names in the directory durable.
func (d *Dir) sync() error { return d.f.Sync() }

func open(at int, name, path string) (*Dir, error) {
	fd, err := retry(func() (int, error) {
		return unix.Openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		var st unix.Stat_t
		if unix.Fstatat(at, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
			switch {
			case st.Mode&unix.S_IFMT == unix.S_IFLNK:
				return nil, &NotOursError{Path: path, Why: "is a link of " + userName(st.Uid) + " where a directory should be", Cure: "remove the link, or give the path that it leads to"}
			case st.Mode&unix.S_IFMT == unix.S_IFDIR && int(st.Uid) != os.Geteuid():
				return nil, foreign(path, st.Uid) // and closed to us
			}
		}
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return &Dir{f: os.NewFile(uintptr(fd), path), path: path}, nil
}

// foreign is the refusal of what belongs to somebody else.
func foreign(path string, uid uint32) *NotOursError {
	return &NotOursError{
		Path: path,
		Why:  fmt.Sprintf("belongs to %s and not to %s, who runs this program", userName(uid), userName(uint32(os.Geteuid()))), //nolint:gosec // user ids fit
		Cure: "choose a directory of your own, or remove this one if nobody needs it",
	}
}

// owned returns the mode of d if d belongs to us.
func (d *Dir) owned() (uint32, error) {
	var st unix.Stat_t
	if err := unix.Fstat(d.fd(), &st); err != nil {
		return 0, &os.PathError{Op: "look at", Path: d.path, Err: err}
	}
	if int(st.Uid) != os.Geteuid() {
		return 0, foreign(d.path, st.Uid)
	}
	return uint32(st.Mode) & 0o7777, nil //nolint:unconvert // 16 bits on some systems
}

func (d *Dir) check() error {
	mode, err := d.owned()
	if err == nil && mode&0o077 != 0 {
		err = d.tooOpen(mode)
	}
	return err
}

func (d *Dir) tooOpen(mode uint32) error {
	return &NotOursError{Path: d.path, Why: fmt.Sprintf("is open to other users (mode %04o)", mode), Cure: "see that nobody else put anything in it, and close it: chmod 0700"}
}

// closedToOthers closes a directory that was just opened to other users.
func closedToOthers(d *Dir, err error) (*Dir, error) {
	if err != nil {
		return nil, err
	}
	if err := d.closeToOthers(); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

func (d *Dir) closeToOthers() error {
	mode, err := d.owned()
	if err != nil || mode&0o077 == 0 {
		return err
	}
	if mode&0o022 == 0 {
		return d.chmod(0o700)
	}
	// Closed before it is looked into, so that nothing comes after the look; opened again if it is not empty, so that
	// a refusal changes nothing.
	if err := d.chmod(0o700); err != nil {
		return err
	}
	names, err := d.f.Readdirnames(1)
	if len(names) == 0 && (err == nil || errors.Is(err, errEnd)) {
		return nil
	}
	return errors.Join(d.chmod(mode), &NotOursError{
		Path: d.path, Why: fmt.Sprintf("was open for others to write in (mode %04o) and is not empty", mode),
		Cure: "see that nobody else put anything in it, and close it (chmod 0700), or choose another directory",
	})
}

func (d *Dir) chmod(mode uint32) error {
	if err := unix.Fchmod(d.fd(), mode); err != nil {
		return &os.PathError{Op: "chmod", Path: d.path, Err: err}
	}
	return nil
}

// checkName refuses what is not the name of an entry of a directory.
func checkName(name string) error {
	if name == "" || name == "." || name == ".." || filepath.Base(name) != name {
		return &os.PathError{Op: "open", Path: name, Err: errors.New("not a plain file name")}
	}
	return nil
}

// retry repeats a system call that a signal interrupted.
func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}
