// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package files

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// copyBlock is how much is read and written at once.
const copyBlock = 256 << 10

// Copy copies what is in the directory from to the empty directory to, with owners, modes, times, extended attributes
// and hard links; to becomes like from. Where the filesystem can share blocks, files take no space until they are
// written to. Without allUsers everything belongs to this process's user. Devices and sockets, of which images have
// none, are left out.
func Copy(from *os.File, to string, allUsers bool) error {
	root, err := unix.Open(to, OpenDir, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: to, Err: err}
	}
	defer func() { _ = unix.Close(root) }()
	c := &copier{allUsers: allUsers, root: root, linked: map[inode]string{}, buffer: make([]byte, copyBlock)}
	var st unix.Stat_t
	if err := unix.Fstat(int(from.Fd()), &st); err != nil {
		return err
	}
	if err := c.inside(int(from.Fd()), root, ""); err != nil {
		return err
	}
	return c.dress(int(from.Fd()), root, root, ".", &st)
}

// copier copies one tree.
type copier struct {
	allUsers bool
	root     int              // of the copy
	linked   map[inode]string // files with several names, and the path of the first in the copy
	buffer   []byte
}

type inode struct{ dev, ino uint64 }

// inside copies what is in one directory.
func (c *copier) inside(from, to int, dir string) error {
	return EachName(from, func(name string) error {
		path := filepath.Join(dir, name)
		if err := c.one(from, to, name, path); err != nil {
			return fmt.Errorf("copying %.200q: %w", path, err)
		}
		return nil
	})
}

// one copies the entry name of a directory.
func (c *copier) one(from, to int, name, path string) error {
	var st unix.Stat_t
	if err := unix.Fstatat(from, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	kind := st.Mode & unix.S_IFMT
	if kind != unix.S_IFDIR && st.Nlink > 1 {
		if first, ok := c.linked[inode{st.Dev, st.Ino}]; ok {
			return unix.Linkat(c.root, first, to, name, 0)
		}
		c.linked[inode{st.Dev, st.Ino}] = path
	}
	switch kind {
	case unix.S_IFDIR:
		return c.directory(from, to, name, path, &st)
	case unix.S_IFREG:
		return c.file(from, to, name, &st)
	case unix.S_IFLNK:
		link := make([]byte, unix.PathMax)
		n, err := unix.Readlinkat(from, name, link)
		if err != nil {
			return err
		}
		if err := unix.Symlinkat(string(link[:n]), to, name); err != nil {
			return err
		}
		return c.dress(-1, -1, to, name, &st)
	case unix.S_IFIFO:
		if err := unix.Mknodat(to, name, unix.S_IFIFO|0o600, 0); err != nil {
			return err
		}
		return c.dress(-1, -1, to, name, &st)
	}
	return nil
}

func (c *copier) directory(from, to int, name, path string, st *unix.Stat_t) error {
	if err := unix.Mkdirat(to, name, 0o700); err != nil {
		return err
	}
	source, err := unix.Openat(from, name, OpenDir, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(source) }()
	target, err := unix.Openat(to, name, OpenDir, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(target) }()
	if err := c.inside(source, target, path); err != nil {
		return err
	}
	return c.dress(source, target, to, name, st)
}

func (c *copier) file(from, to int, name string, st *unix.Stat_t) error {
	source, err := unix.Openat(from, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(source) }()
	target, err := unix.Openat(to, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	err = c.content(source, target, st.Size)
	if err == nil {
		err = c.dress(source, target, to, name, st)
	}
	if cerr := unix.Close(target); err == nil {
		err = cerr
	}
	return err
}

// content shares the blocks of a file, or copies what is not zero.
func (c *copier) content(source, target int, size int64) error {
	if unix.IoctlFileClone(target, source) == nil {
		return nil
	}
	for at := int64(0); at < size; {
		n, err := unix.Pread(source, c.buffer, at)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n == 0 {
			return errors.Join(err, unix.Ftruncate(target, size))
		}
		if !IsZero(c.buffer[:n]) {
			if err := WriteAt(target, c.buffer[:n], at); err != nil {
				return err
			}
		}
		at += int64(n)
	}
	return unix.Ftruncate(target, size)
}

// dress gives a copy, which is name in the directory to, the owner, extended attributes, mode and times of its
// original. source and target are both open, unless it is no file and no directory.
func (c *copier) dress(source, target, to int, name string, st *unix.Stat_t) error {
	if c.allUsers {
		if err := unix.Fchownat(to, name, int(st.Uid), int(st.Gid), unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return err
		}
	}
	if source >= 0 {
		if err := copyXattrs(source, target); err != nil {
			return err
		}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFLNK {
		if err := unix.Fchmodat(to, name, uint32(st.Mode&0o7777), 0); err != nil {
			return err
		}
	}
	return SetTimes(to, name, [2]unix.Timespec{st.Atim, st.Mtim})
}
