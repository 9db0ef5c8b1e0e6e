// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package unpack

import (
	"archive/tar"
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	maxPath = 4096 - 1 // of the kernel's PATH_MAX, with the end of the text
	maxName = 255
	// maxDepth is how deep directories may lie in one another. Whoever walks through them has one open for each.
	maxDepth = 500
)

// applier applies the entries of one archive.
type applier struct {
	tree     *tree
	archive  *tar.Reader
	limits   Limits
	allUsers bool // files are given to their owners
	entries  int64
	result   Result
	buffer   []byte
}

// applyLayer applies the archive in to the directory root, which is "/" where it matters. With allUsers, files get the
// owners that the archive says; else they stay those of this process's user.
func applyLayer(root string, in io.Reader, limits Limits, allUsers bool) (_ Result, err error) {
	t, err := openTree(root)
	if err != nil {
		return Result{}, err
	}
	defer func() {
		if cerr := t.close(); err == nil {
			err = cerr
		}
	}()
	a := &applier{
		tree: t, archive: tar.NewReader(bufio.NewReaderSize(in, inputSize)), limits: limits, allUsers: allUsers,
		buffer: make([]byte, blockSize),
	}
	for {
		h, err := a.archive.Next()
		if errors.Is(err, io.EOF) {
			return a.result, nil
		}
		if err != nil {
			return Result{}, readError(err)
		}
		if a.entries++; a.entries > limits.Entries {
			return Result{}, &Error{Kind: ErrLimit, Text: fmt.Sprintf("the layer has more than %d entries", limits.Entries)}
		}
		if err := a.apply(h); err != nil {
			if known := new(*Error); errors.As(err, known) {
				return Result{}, &Error{Kind: (*known).Kind, Text: fmt.Sprintf("entry %q: %s", shorten(h.Name), (*known).Text)}
			}
			return Result{}, fmt.Errorf("entry %q: %w", shorten(h.Name), err)
		}
	}
}

// readError makes an error of the archive out of one that is not ours already.
func readError(err error) error {
	if errors.As(err, new(*Error)) {
		return err
	}
	return archiveError("the layer is no archive that can be read: %v", err)
}

// shorten makes a name fit into a message.
func shorten(name string) string {
	const most = 200
	if len(name) > most {
		return name[:most] + "…"
	}
	return name
}

// apply applies one entry.
func (a *applier) apply(h *tar.Header) error {
	switch h.Typeflag {
	case tar.TypeXGlobalHeader:
		return nil
	case tar.TypeChar, tar.TypeBlock:
		return nil // containers have a /dev of their own
	}
	if h.FileInfo().Mode()&fs.ModeSocket != 0 {
		return nil // nobody listens
	}
	name, err := cleanName(h.Name)
	if err != nil {
		return err
	}
	if name == "" {
		if h.Typeflag != tar.TypeDir {
			return archiveError("the root of an image is a directory")
		}
		return a.root(h)
	}
	dir, base := path.Split(name)
	if hidden, ok := strings.CutPrefix(base, whiteoutPrefix); ok {
		return a.whiteout(dir, hidden)
	}
	return a.entry(dir, base, h)
}

// cleanName makes the name of an entry a path below the root, without "." and "..": "" is the root itself.
func cleanName(name string) (string, error) {
	if strings.ContainsRune(name, 0) {
		return "", archiveError("a name with a zero byte")
	}
	name = path.Clean("/" + name)[1:]
	if len(name) > maxPath {
		return "", archiveError("a name of %d bytes", len(name))
	}
	for part := range strings.SplitSeq(name, "/") {
		if len(part) > maxName {
			return "", archiveError("a name with a part of %d bytes", len(part))
		}
	}
	return name, nil
}

// root gives the root what an entry says of it. Its times are set when everything is done.
func (a *applier) root(h *tar.Header) error {
	root, err := a.tree.enter("", false)
	if err != nil {
		return err
	}
	root.times, root.changed = timesOf(h), true
	a.result.Entries++
	return a.dress(root.fd, ".", h)
}

// dress gives what was made in the directory dir its owner, extended attributes and mode, in this order: the kernel
// takes capabilities and set-user-ID bits from a file that gets another owner.
func (a *applier) dress(dir int, name string, h *tar.Header) error {
	if a.allUsers {
		const nobody = 1<<32 - 1 // for the kernel: leave it as it is
		if h.Uid < 0 || h.Gid < 0 || h.Uid >= nobody || h.Gid >= nobody {
			return archiveError("the owner %d:%d", h.Uid, h.Gid)
		}
		if err := unix.Fchownat(dir, name, h.Uid, h.Gid, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return fmt.Errorf("giving it to %d:%d: %w", h.Uid, h.Gid, err)
		}
	}
	if h.Typeflag == tar.TypeSymlink {
		return nil
	}
	if h.Typeflag != tar.TypeFifo {
		if err := setXattrs(dir, name, h); err != nil {
			return err
		}
	}
	if err := unix.Fchmodat(dir, name, uint32(h.Mode)&0o7777, 0); err != nil { //nolint:gosec // of the low bits
		return fmt.Errorf("setting its mode: %w", err)
	}
	return nil
}
