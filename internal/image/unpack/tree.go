// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package unpack

import (
	"errors"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/carillon-dev/carillon/internal/image/files"
)

// maxLinks is how many links a name may lead through, as in the kernel.
const maxLinks = 40

// tree walks through the directories below a root. It keeps those open that lead to the last entry, because the next
// one lies near it, as a rule. Nobody else changes the tree meanwhile, and what an entry changes lies below all that is
// open.
type tree struct {
	levels []*level // the first is the root, each other a directory in the one before
	of     *pathSet // what comes from this layer, and the directories above it
}

// level is an open directory.
type level struct {
	fd   int
	name string // in the level before
	path string // from the root, free of links; the root's is ""
	// times are what the directory had before the first change in it, which it gets back when it is left: what an
	// archive does not say of a directory stays.
	times   [2]unix.Timespec
	changed bool
	noted   bool // it is in tree.of
}

func openTree(root string) (*tree, error) {
	fd, err := unix.Open(root, files.OpenDir, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: root, Err: err}
	}
	times, err := timesAt(fd)
	if err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return &tree{levels: []*level{{fd: fd, times: times, noted: true}}, of: newPathSet()}, nil
}

// close leaves all directories.
func (t *tree) close() error {
	err := t.leave(1)
	root := t.levels[0]
	if root.changed {
		err = errors.Join(err, files.SetTimes(root.fd, ".", root.times))
	}
	return errors.Join(err, unix.Close(root.fd))
}

// leave closes all levels from keep on.
func (t *tree) leave(keep int) error {
	for len(t.levels) > keep {
		last := len(t.levels) - 1
		l := t.levels[last]
		t.levels = t.levels[:last]
		if err := unix.Close(l.fd); err != nil {
			return err
		}
		if l.changed {
			if err := files.SetTimes(t.levels[last-1].fd, l.name, l.times); err != nil {
				return err
			}
		}
	}
	return nil
}

// enter opens the directory dir, following links as a process with this root would: an absolute one begins at the root
// again, and nothing is above the root. What is missing is made, or, without make, the result is nil. The last level is
// the one that is returned, and stays open until the next call.
func (t *tree) enter(dir string, make bool) (*level, error) {
	at, links := 0, 0
	for rest := dir; rest != ""; {
		var part string
		part, rest, _ = strings.Cut(rest, "/")
		switch part {
		case "", ".":
			continue
		case "..":
			at = max(at-1, 0)
			continue
		}
		if at+1 < len(t.levels) && t.levels[at+1].name == part {
			at++
			continue
		}
		if err := t.leave(at + 1); err != nil {
			return nil, err
		}
		err := t.step(part, make)
		if err == nil {
			at++
			continue
		}
		if errors.Is(err, unix.ENOENT) && !make {
			return nil, nil
		}
		if !errors.Is(err, unix.ENOTDIR) && !errors.Is(err, unix.ELOOP) {
			return nil, err
		}
		link, err := readlink(t.levels[at].fd, part)
		if errors.Is(err, unix.EINVAL) {
			if !make {
				return nil, nil
			}
			return nil, archiveError("%s is no directory", shorten(path.Join(t.levels[at].path, part)))
		}
		if err != nil {
			return nil, err
		}
		if links++; links > maxLinks || len(link)+len(rest) > 2*maxPath {
			return nil, archiveError("it lies behind too many links")
		}
		if link[0] == '/' {
			at = 0
		}
		rest = link + "/" + rest
	}
	if err := t.leave(at + 1); err != nil {
		return nil, err
	}
	return t.levels[at], nil
}

// step opens the directory name in the last level, and makes it if asked to.
func (t *tree) step(name string, make bool) error {
	l := t.levels[len(t.levels)-1]
	fd, err := unix.Openat(l.fd, name, files.OpenDir, 0)
	if errors.Is(err, unix.ENOENT) && make {
		if len(name) > maxName {
			return archiveError("a name with a part of %d bytes", len(name))
		}
		if err := unix.Mkdirat(l.fd, name, 0o755); err != nil {
			return &os.PathError{Op: "mkdir", Path: name, Err: err}
		}
		// Nobody says when it was made; the same image shall be the same on each machine.
		if err := files.SetTimes(l.fd, name, l.times); err != nil {
			return err
		}
		l.changed = true
		fd, err = unix.Openat(l.fd, name, files.OpenDir, 0)
	}
	if err != nil {
		return err
	}
	times, err := timesAt(fd)
	if err != nil {
		_ = unix.Close(fd)
		return err
	}
	next := &level{fd: fd, name: name, path: path.Join(l.path, name), times: times}
	t.levels = append(t.levels, next)
	if len(t.levels) > maxDepth || len(next.path) > maxPath {
		return archiveError("directories more than %d deep, or with a path of more than %d bytes", maxDepth, maxPath)
	}
	return nil
}

// note says that name in the last level, and so the directories above it, come from this layer.
func (t *tree) note(name string) {
	last := len(t.levels) - 1
	t.of.add(t.levels[last].path, name)
	for i := last; i > 0 && !t.levels[i].noted; i-- {
		t.of.add(t.levels[i-1].path, t.levels[i].name)
		t.levels[i].noted = true
	}
}

// readlink reads a link, which is never empty.
func readlink(dir int, name string) (string, error) {
	buffer := make([]byte, maxPath+1)
	n, err := unix.Readlinkat(dir, name, buffer)
	if err != nil {
		return "", err
	}
	if n <= 0 {
		return "", archiveError("an empty link")
	}
	return string(buffer[:n]), nil
}
