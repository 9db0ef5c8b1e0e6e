// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package unpack

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/carillon-dev/carillon/internal/image/files"
)

// entry makes what an entry says, in the place of what is there: only a directory stays what it was.
func (a *applier) entry(dir, name string, h *tar.Header) error {
	if h.Typeflag == tar.TypeLink {
		return a.link(dir, name, h.Linkname)
	}
	parent, err := a.tree.enter(dir, true)
	if err != nil {
		return err
	}
	var make func() error
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeRegA, tar.TypeCont, tar.TypeGNUSparse: //nolint:staticcheck // layers have the old one, too
		return a.file(parent, name, h)
	case tar.TypeDir:
		make = func() error { return a.directory(parent, name) }
	case tar.TypeSymlink:
		make = func() error { return symlink(parent, name, h.Linkname) }
	case tar.TypeFifo:
		make = func() error { return unix.Mknodat(parent.fd, name, unix.S_IFIFO|0o600, 0) }
	default:
		return archiveError("an entry of the unknown type %q", h.Typeflag)
	}
	if err := a.instead(parent, name, make); err != nil {
		return err
	}
	if err := a.dress(parent.fd, name, h); err != nil {
		return err
	}
	return files.SetTimes(parent.fd, name, timesOf(h))
}

// instead makes something in the place of what is there.
func (a *applier) instead(parent *level, name string, make func() error) error {
	err := make()
	if errors.Is(err, unix.EEXIST) {
		if err := removeAll(parent.fd, name); err != nil {
			return err
		}
		err = make()
	}
	if err != nil {
		if errors.As(err, new(*Error)) {
			return err
		}
		return fmt.Errorf("making it: %w", err)
	}
	a.made(parent, name)
	return nil
}

// made notes that name in parent is of this layer.
func (a *applier) made(parent *level, name string) {
	parent.changed = true
	a.tree.note(name)
	a.result.Entries++
}

func (a *applier) directory(parent *level, name string) error {
	err := unix.Mkdirat(parent.fd, name, 0o700)
	if errors.Is(err, unix.EEXIST) {
		var st unix.Stat_t
		if unix.Fstatat(parent.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR {
			return nil
		}
	}
	if err == nil && len(a.tree.levels) > maxDepth {
		return archiveError("directories more than %d deep", maxDepth)
	}
	return err
}

func symlink(parent *level, name, target string) error {
	if target == "" || len(target) > maxPath || strings.ContainsRune(target, 0) {
		return archiveError("a link to %q", shorten(target))
	}
	return unix.Symlinkat(target, parent.fd, name)
}

// link makes a hard link to what lies in this layer or in one below.
func (a *applier) link(dir, name, target string) error {
	target, err := cleanName(target)
	if err != nil {
		return err
	}
	toDir, toName := path.Split(target)
	if toName == "" {
		return archiveError("a hard link to the root")
	}
	missing := archiveError("a hard link to %q, which is not there", shorten(target))
	to, err := a.tree.enter(toDir, false)
	if err != nil {
		return err
	}
	if to == nil {
		return missing
	}
	from, err := unix.FcntlInt(uintptr(to.fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(from) }()
	var there, here unix.Stat_t
	if err := unix.Fstatat(from, toName, &there, unix.AT_SYMLINK_NOFOLLOW); errors.Is(err, unix.ENOENT) {
		return missing
	} else if err != nil {
		return err
	}
	if there.Mode&unix.S_IFMT == unix.S_IFDIR {
		return archiveError("a hard link to the directory %q", shorten(target))
	}
	parent, err := a.tree.enter(dir, true)
	if err != nil {
		return err
	}
	if unix.Fstatat(parent.fd, name, &here, unix.AT_SYMLINK_NOFOLLOW) == nil && here.Dev == there.Dev && here.Ino == there.Ino {
		a.tree.note(name)
		return nil // the same file already
	}
	return a.instead(parent, name, func() error {
		err := unix.Linkat(from, toName, parent.fd, name, 0)
		if errors.Is(err, unix.ENOENT) {
			return missing // it was in what had to make room
		}
		return err
	})
}

// file makes a regular file with its content.
func (a *applier) file(parent *level, name string, h *tar.Header) error {
	if h.Size < 0 || h.Size > a.limits.Bytes-a.result.Size {
		return &Error{Kind: ErrLimit, Text: fmt.Sprintf("the files of the layer hold more than %d bytes", a.limits.Bytes)}
	}
	fd := -1
	err := a.instead(parent, name, func() (err error) {
		fd, err = unix.Openat(parent.fd, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
		return err
	})
	if err != nil {
		return err
	}
	err = a.content(fd, h)
	if cerr := unix.Close(fd); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	a.result.Size += h.Size
	if err := a.dress(parent.fd, name, h); err != nil {
		return err
	}
	return files.SetTimes(parent.fd, name, timesOf(h))
}

// content copies the content of an entry. What is zero in a sparse one takes no space here either.
func (a *applier) content(fd int, h *tar.Header) error {
	sparse := isSparse(h)
	for at := int64(0); at < h.Size; {
		n, err := io.ReadFull(a.archive, a.buffer[:min(int64(len(a.buffer)), h.Size-at)])
		if err != nil {
			return readError(err)
		}
		if !sparse || !files.IsZero(a.buffer[:n]) {
			if err := files.WriteAt(fd, a.buffer[:n], at); err != nil {
				return fmt.Errorf("writing it: %w", err)
			}
		}
		at += int64(n)
	}
	if sparse {
		return unix.Ftruncate(fd, h.Size)
	}
	return nil
}

func isSparse(h *tar.Header) bool {
	if h.Typeflag == tar.TypeGNUSparse {
		return true
	}
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return true
		}
	}
	return false
}
