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
	"fmt"
	"io"
	"time"

	"github.com/klauspost/compress/zstd"
)

// archiveWriter writes one archive, part by part.
type archiveWriter struct {
	ctx     context.Context
	time    time.Time // of all parts
	zip     *zstd.Encoder
	tar     *tar.Writer
	written checksums
	// progress is told how many bytes of parts were written since its last call; never nil.
	progress func(n int)
}

// newArchiveWriter begins an archive with its manifest.
func newArchiveWriter(ctx context.Context, w io.Writer, m *Manifest, progress func(int)) (*archiveWriter, error) {
	zip, err := zstd.NewWriter(w)
	if err != nil {
		return nil, err
	}
	a := &archiveWriter{ctx: ctx, time: m.Created, zip: zip, tar: tar.NewWriter(zip), progress: progress}
	return a, a.addJSON(manifestPart, m)
}

func (a *archiveWriter) addJSON(name string, content any) error {
	b, err := json.MarshalIndent(content, "", "  ")
	if err != nil {
		return err
	}
	b = append(b, '\n')
	return a.add(name, int64(len(b)), bytes.NewReader(b))
}

// add writes a part of size bytes. A reader that has fewer is an error; what it has more is left out.
func (a *archiveWriter) add(name string, size int64, r io.Reader) error {
	if _, err := partNamed(name); err != nil {
		return err
	}
	if err := a.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600, ModTime: a.time, Format: tar.FormatPAX}); err != nil {
		return err
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(a.tar, sum), &watched{ctx: a.ctx, r: io.LimitReader(r, size), progress: a.progress})
	if err == nil && n < size {
		err = fmt.Errorf("%s has %d bytes where %d were expected", name, n, size)
	}
	if err != nil {
		return err
	}
	a.written.Parts = append(a.written.Parts, checksum{Name: name, Size: size, SHA256: hex.EncodeToString(sum.Sum(nil))})
	return nil
}

// close ends the archive with its checksums.
func (a *archiveWriter) close() error {
	err := a.addJSON(checksumsPart, a.written)
	if err == nil {
		err = a.tar.Close()
	}
	if err == nil {
		err = a.zip.Close()
	}
	return err
}

// abandon lets go of an archive that will not be whole.
func (a *archiveWriter) abandon() { a.zip.Reset(nil) }

// watched is a reader that ends with a context, and tells how much was read.
type watched struct {
	ctx      context.Context
	r        io.Reader
	progress func(n int)
}

// Read implements io.Reader.
func (w *watched) Read(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := w.r.Read(p)
	w.progress(n)
	return n, err
}
