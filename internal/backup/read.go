// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// maxWindow is how much memory an archive may ask for to be unpacked. Ours ask for 8 MiB.
const maxWindow = 64 << 20

// keeper takes the parts of an archive other than the manifest and the checksums. What it was given is of no use before
// readArchive has returned without an error.
type keeper interface {
	// begin is told of the manifest before any part.
	begin(m *Manifest) error
	// part gives what the content is to be written to; the size is that which the archive tells.
	part(p part, size int64) (io.WriteCloser, error)
}

// readArchive reads an archive from beginning to end, gives its parts to k, and returns its manifest if all of it is as
// it should be. It reads nothing after the archive's end but refuses what is there.
func readArchive(ctx context.Context, r io.Reader, k keeper, progress func(int)) (*Manifest, error) {
	zip, err := zstd.NewReader(&watched{ctx, r, progress}, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, unreadable(ctx, err)
	}
	defer zip.Close()
	a := &archiveReader{tar: tar.NewReader(zip), keeper: k, found: map[string]checksum{}}
	if err := a.readAll(); err != nil {
		return nil, unreadable(ctx, err)
	}
	// The tar's own padding is all that may follow.
	rest, err := io.ReadAll(io.LimitReader(zip, maxPadding+1))
	switch {
	case errors.Is(err, zstd.ErrMagicMismatch):
		return nil, errors.New("something follows the end of the backup")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, errors.New("the last bytes of the backup are not as they were written: some are missing, or something follows")
	case err != nil:
		return nil, unreadable(ctx, err)
	}
	if len(rest) > maxPadding || len(bytes.Trim(rest, "\x00")) > 0 {
		return nil, errors.New("something follows the end of the backup")
	}
	return a.manifest, nil
}

const maxPadding = 1 << 20

// unreadable says in words why an archive cannot be read.
func unreadable(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, zstd.ErrMagicMismatch), errors.Is(err, tar.ErrHeader):
		return errNotOurs
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return errors.New("the backup ends before its end: a part of the file is missing")
	case errors.Is(err, zstd.ErrCRCMismatch), errors.Is(err, zstd.ErrReservedBlockType), errors.Is(err, zstd.ErrBlockTooSmall),
		errors.Is(err, zstd.ErrCompressedSizeTooBig), errors.Is(err, zstd.ErrUnexpectedBlockSize):
		return fmt.Errorf("the backup is damaged: %w", err)
	case errors.Is(err, zstd.ErrWindowSizeExceeded), errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return fmt.Errorf("the backup was not written by Carillon: %w", err)
	}
	return err
}

// archiveReader reads the parts of one archive.
type archiveReader struct {
	tar      *tar.Reader
	keeper   keeper
	manifest *Manifest
	found    map[string]checksum
	bytes    int64 // of parts that were kept
}

func (a *archiveReader) readAll() error {
	for {
		header, err := a.tar.Next()
		if err != nil {
			return err // io.EOF comes before the checksums
		}
		p, err := a.check(header)
		if err != nil {
			return err
		}
		switch p.name {
		case manifestPart:
			err = a.readManifest(p, header.Size)
		case checksumsPart:
			if err = a.readChecksums(header.Size); err != nil {
				return err
			}
			if _, err = a.tar.Next(); !errors.Is(err, io.EOF) {
				return errors.New("a part follows the checksums, which are the last one")
			}
			return nil
		default:
			err = a.keep(p, header.Size)
		}
		if err != nil {
			return err
		}
	}
}

// check refuses a part that does not belong there.
func (a *archiveReader) check(h *tar.Header) (part, error) {
	p, err := partNamed(h.Name)
	if err != nil {
		if a.manifest == nil {
			return part{}, errNotOurs
		}
		return part{}, err
	}
	_, again := a.found[p.name]
	switch {
	case h.Typeflag != tar.TypeReg:
		return part{}, fmt.Errorf("%s is no regular file in the backup", p.name)
	case a.manifest == nil && p.name != manifestPart:
		return part{}, errNotOurs
	case again:
		return part{}, fmt.Errorf("%s is in the backup twice", p.name)
	case h.Size < 0 || h.Size > p.max:
		return part{}, fmt.Errorf("%s has %d bytes, which it never should", p.name, h.Size)
	case len(a.found) >= maxParts:
		return part{}, fmt.Errorf("the backup has more than %d parts, which it never should", maxParts)
	}
	return p, nil
}

func (a *archiveReader) readManifest(p part, size int64) error {
	var b bytes.Buffer
	if err := a.copy(p, size, &b); err != nil {
		return err
	}
	m := &Manifest{}
	if err := json.Unmarshal(b.Bytes(), m); err != nil {
		return errNotOurs
	}
	if err := m.check(); err != nil {
		return err
	}
	a.manifest = m
	return a.keeper.begin(m)
}

// keep hands a part on.
func (a *archiveReader) keep(p part, size int64) error {
	if a.bytes += size; a.bytes > a.manifest.Bytes {
		return fmt.Errorf("the backup has more than the %d bytes that its manifest tells of", a.manifest.Bytes)
	}
	w, err := a.keeper.part(p, size)
	if err != nil {
		return err
	}
	err = a.copy(p, size, w)
	if cerr := w.Close(); err == nil {
		err = cerr
	}
	return err
}

// copy reads a part, and remembers its checksum.
func (a *archiveReader) copy(p part, size int64, w io.Writer) error {
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(w, sum), a.tar)
	if err == nil && n < size {
		err = io.ErrUnexpectedEOF
	}
	a.found[p.name] = checksum{Name: p.name, Size: n, SHA256: hex.EncodeToString(sum.Sum(nil))}
	return err
}

// readChecksums compares what was read with the last part.
func (a *archiveReader) readChecksums(size int64) error {
	b, err := io.ReadAll(a.tar)
	if err != nil {
		return err
	}
	if int64(len(b)) < size {
		return io.ErrUnexpectedEOF
	}
	var told checksums
	if err := json.Unmarshal(b, &told); err != nil {
		return fmt.Errorf("the checksums of the backup cannot be read: %w", err)
	}
	seen := map[string]bool{}
	for _, c := range told.Parts {
		if seen[c.Name] {
			return fmt.Errorf("the backup is damaged: %q has two checksums", c.Name)
		}
		seen[c.Name] = true
		switch found, ok := a.found[c.Name]; {
		case !ok:
			return fmt.Errorf("the backup is damaged: %q is missing", c.Name)
		case found != c:
			return fmt.Errorf("the backup is damaged: %s is not as its checksum says", c.Name)
		}
	}
	if len(told.Parts) != len(a.found) {
		return errors.New("the backup is damaged: it has parts without a checksum")
	}
	if a.bytes != a.manifest.Bytes {
		return fmt.Errorf("the backup is damaged: it has %d bytes where its manifest tells of %d", a.bytes, a.manifest.Bytes)
	}
	return nil
}
