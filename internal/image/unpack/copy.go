// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package unpack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/carillon-dev/carillon/internal/privatedir"
)

// Copy copies the directory from to the empty directory to, both below store, with owners, modes, times, extended
// attributes and hard links. Where the filesystem can share blocks, files take no space until they are written to.
func Copy(ctx context.Context, store, from, to string) error {
	_, err := run(ctx, store, job{Do: doCopy, Form: Form{Flat: true}, Target: to, Lowers: []string{from}}, nil, nil)
	return err
}

// Remove removes a directory with what layers made there, whatever rights it has. It never leaves the mount on which path
// lies, and removes nothing while anything is mounted there. What is not there is no error.
func Remove(path string) error { return privatedir.RemoveTree(filepath.Clean(path)) }

// copier copies one tree.
type copier struct {
	allUsers bool
	root     int              // of the copy
	linked   map[inode]string // files with several names, and the path of the first in the copy
	buffer   []byte
}

type inode struct{ dev, ino uint64 }

// copyTree copies what is in the directory from to the directory to. What is there was made by this package.
func copyTree(from *os.File, to string, allUsers bool) error {
	root, err := unix.Open(to, openDir, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: to, Err: err}
	}
	defer func() { _ = unix.Close(root) }()
	c := &copier{allUsers: allUsers, root: root, linked: map[inode]string{}, buffer: make([]byte, blockSize)}
	var st unix.Stat_t
	if err := unix.Fstat(int(from.Fd()), &st); err != nil {
		return err
	}
	if err := c.inside(int(from.Fd()), root, ""); err != nil {
		return err
	}
	return c.dress(int(from.Fd()), root, ".", &st)
}

// inside copies what is in one directory.
func (c *copier) inside(from, to int, dir string) error {
	return eachName(from, func(name string) error {
		path := filepath.Join(dir, name)
		if err := c.one(from, to, name, path); err != nil {
			return fmt.Errorf("copying %q: %w", shorten(path), err)
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
		link, err := readlink(from, name)
		if err != nil {
			return err
		}
		if err := unix.Symlinkat(link, to, name); err != nil {
			return err
		}
		return c.dress(-1, to, name, &st)
	case unix.S_IFIFO:
		if err := unix.Mknodat(to, name, unix.S_IFIFO|0o600, 0); err != nil {
			return err
		}
		return c.dress(-1, to, name, &st)
	}
	return nil // no layer makes others
}

func (c *copier) directory(from, to int, name, path string, st *unix.Stat_t) error {
	if err := unix.Mkdirat(to, name, 0o700); err != nil {
		return err
	}
	source, err := unix.Openat(from, name, openDir, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(source) }()
	target, err := unix.Openat(to, name, openDir, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(target) }()
	if err := c.inside(source, target, path); err != nil {
		return err
	}
	return c.dress(source, to, name, st)
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
	if cerr := unix.Close(target); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return c.dress(source, to, name, st)
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
		if !isZero(c.buffer[:n]) {
			if err := pwrite(target, c.buffer[:n], at); err != nil {
				return err
			}
		}
		at += int64(n)
	}
	return unix.Ftruncate(target, size)
}

// dress gives a copy the owner, extended attributes, mode and times of its original, which is open as source unless it is
// no file and no directory.
func (c *copier) dress(source, to int, name string, st *unix.Stat_t) error {
	if c.allUsers {
		if err := unix.Fchownat(to, name, int(st.Uid), int(st.Gid), unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return err
		}
	}
	if source >= 0 {
		if err := copyXattrs(source, to, name); err != nil {
			return err
		}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFLNK {
		if err := unix.Fchmodat(to, name, uint32(st.Mode&0o7777), 0); err != nil {
			return err
		}
	}
	return setTimes(to, name, [2]unix.Timespec{st.Atim, st.Mtim})
}
