// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package image

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"
)

const (
	// maxArchive bounds an archive that has to be kept beside the store while it is read, because it is zipped or comes
	// from a pipe.
	maxArchive = 64 << 30
	// maxArchiveFiles bounds the files of an archive; each layer is one.
	maxArchiveFiles = 100_000
	// maxArchiveLinks is how many links a file of an archive may lie behind.
	maxArchiveLinks = 8
)

// archive is a set of files with paths, of which nothing is written anywhere.
type archive interface {
	// open opens a file; fs.ErrNotExist says that there is none. Its size is what it has now.
	open(name string) (io.ReadCloser, int64, error)
	close()
}

// readFile reads a small file of an archive.
func readFile(a archive, name string) ([]byte, error) {
	f, _, err := a.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := readBounded(f, maxRecord)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", printable(name), err)
	}
	return data, nil
}

// directory is an archive that was unpacked. Links out of it are not followed.
type directory struct{ root *os.Root }

func (d directory) close() { d.root.Close() }

func (d directory) open(name string) (io.ReadCloser, int64, error) {
	f, err := d.root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &os.PathError{Op: "read", Path: name, Err: errors.New("it is no regular file")}
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// tarFile is a tar archive in a file. Its files are read where they are.
type tarFile struct {
	file  *os.File
	files map[string]tarEntry
}

type tarEntry struct {
	offset, size int64
	link         string // a path in the archive
}

func (t *tarFile) close() { t.file.Close() }

func (t *tarFile) open(name string) (io.ReadCloser, int64, error) {
	for range maxArchiveLinks {
		e, ok := t.files[name]
		if !ok {
			break
		}
		if e.link == "" {
			return io.NopCloser(io.NewSectionReader(t.file, e.offset, e.size)), e.size, nil
		}
		name = e.link
	}
	return nil, 0, &os.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// readTar finds out what is where in a tar archive. Names that would lead out of it are refused: whoever wrote them
// meant no good.
func readTar(f *os.File) (*tarFile, error) {
	t := &tarFile{file: f, files: map[string]tarEntry{}}
	for in := tar.NewReader(f); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return t, nil
		}
		if err != nil {
			return nil, fmt.Errorf("it is no tar archive that can be read: %w", err)
		}
		name := path.Clean(h.Name)
		if path.IsAbs(h.Name) || name == ".." || strings.HasPrefix(name, "../") {
			return nil, fmt.Errorf("it has a file %q, which lies outside", printable(h.Name))
		}
		if len(t.files) >= maxArchiveFiles {
			return nil, fmt.Errorf("it has more than %d files", maxArchiveFiles)
		}
		switch h.Typeflag {
		case tar.TypeReg:
			offset, err := f.Seek(0, io.SeekCurrent)
			if err != nil {
				return nil, err
			}
			t.files[name] = tarEntry{offset: offset, size: h.Size}
		case tar.TypeSymlink: // of old versions of docker, for layers that are equal
			t.files[name] = tarEntry{link: path.Join(path.Dir(name), h.Linkname)}
		case tar.TypeLink:
			t.files[name] = tarEntry{link: path.Clean(h.Linkname)}
		}
	}
}

// openArchive reads an archive from r. A plain tar file on disk is read where it is, anything else is copied into w
// first.
func openArchive(r io.Reader, w *work) (_ archive, err error) {
	var start [4]byte
	n, err := io.ReadFull(r, start[:])
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, err
	}
	zipped := bytes.HasPrefix(start[:n], []byte{0x1f, 0x8b}) || bytes.Equal(start[:n], []byte{0x28, 0xb5, 0x2f, 0xfd})
	file, plain := r.(*os.File)
	if plain && !zipped {
		if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
			plain = false
		}
	}
	if plain && !zipped {
		fd, err := unix.FcntlInt(file.Fd(), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return nil, err
		}
		f := os.NewFile(uintptr(fd), file.Name())
		_, err = f.Seek(-int64(n), io.SeekCurrent)
		return tarOrClose(f, err)
	}
	r = io.MultiReader(bytes.NewReader(start[:n]), r)
	switch {
	case zipped && start[0] == 0x1f:
		if r, err = gzip.NewReader(r); err != nil {
			return nil, fmt.Errorf("unzipping it: %w", err)
		}
	case zipped:
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(128<<20))
		if err != nil {
			return nil, fmt.Errorf("unzipping it: %w", err)
		}
		defer z.Close()
		r = z
	}
	f, err := os.CreateTemp(w.dir, "archive-")
	if err != nil {
		return nil, err
	}
	copied, err := io.Copy(f, io.LimitReader(r, maxArchive+1))
	if err == nil && copied > maxArchive {
		err = fmt.Errorf("it has more than %d bytes", int64(maxArchive))
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	return tarOrClose(f, err)
}

func tarOrClose(f *os.File, err error) (archive, error) {
	var t *tarFile
	if err == nil {
		t, err = readTar(f)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return t, nil
}
