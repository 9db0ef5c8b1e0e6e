// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"golang.org/x/sys/unix"
)

// partName is the file of a blob that is downloaded, or waits to be applied.
func partName(digest string) string { return hexOf(digest) + ".part" }

// download brings a blob into blobs/, and goes on where an earlier download ended, be it of this process or of one that
// was killed. What it returns is open at its beginning and has the digest; it stays readable when another process
// removes the file. arrived is told of each part, also of what was there already.
func (s *Store) download(ctx context.Context, r *repository, d v1.Descriptor, arrived func(int64)) (*os.File, error) {
	digest := d.Digest.String()
	held, err := s.lock(ctx, lockBlob+hexOf(digest), unix.LOCK_EX)
	if err != nil {
		return nil, err
	}
	defer held.drop()
	f, err := s.blobs.OpenFile(partName(digest), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	p := &part{file: f, digest: digest, size: d.Size, arrived: arrived}
	err = p.resume()
	for whole := 0; err == nil; whole++ {
		if err = s.complete(ctx, r, p); err != nil {
			break
		}
		if err = p.verify(); err == nil {
			_, err = f.Seek(0, io.SeekStart)
			break
		}
		// Bits turned on the way, or the beginning was damaged by a crash of the machine: once more from the start.
		if rerr := p.restart(); rerr != nil || whole > 0 {
			break
		}
		err = nil
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// complete downloads what is missing.
func (s *Store) complete(ctx context.Context, r *repository, p *part) error {
	most := p.have // a registry that begins anew each time brings nothing
	for failures := 0; p.have < p.size; {
		err := p.fetch(ctx, r)
		failPoint("part")
		if err == nil && p.have < p.size {
			err = io.ErrUnexpectedEOF
		}
		if err == nil || ctx.Err() != nil {
			return err
		}
		if failures++; p.have > most {
			failures, most = 1, p.have
		}
		if failures >= attempts || !worthRepeating(err) {
			return err
		}
		if err := sleep(ctx, s.backOff(failures)); err != nil {
			return err
		}
	}
	return nil
}

// worthRepeating reports whether a download that ended early may go on: not when the disk is full or the registry
// said no.
func worthRepeating(err error) bool {
	if errors.As(err, new(*transport.Error)) || errors.As(err, new(*os.PathError)) || errors.As(err, new(*sizeError)) || errors.As(err, new(*plainHTTPError)) {
		return false
	}
	return true
}

// sizeError says that a blob is longer than the manifest says.
type sizeError struct{ digest string }

func (e *sizeError) Error() string {
	return fmt.Sprintf("blob %s is longer than the manifest says", e.digest)
}

// part is the part of a blob that is here.
type part struct {
	file    *os.File
	digest  string
	size    int64 // of the whole
	have    int64
	sum     hash.Hash // of what is here
	arrived func(int64)
}

// resume takes over what is in the file.
func (p *part) resume() error {
	p.sum = sha256.New()
	info, err := p.file.Stat()
	if err != nil {
		return err
	}
	if info.Size() > p.size {
		return p.file.Truncate(0)
	}
	p.have, err = io.Copy(p.sum, p.file)
	p.arrived(p.have)
	return err
}

// restart throws away what is here.
func (p *part) restart() error {
	p.arrived(-p.have)
	p.have, p.sum = 0, sha256.New()
	if err := p.file.Truncate(0); err != nil {
		return err
	}
	_, err := p.file.Seek(0, io.SeekStart)
	return err
}

func (p *part) verify() error {
	if got := "sha256:" + hex.EncodeToString(p.sum.Sum(nil)); got != p.digest {
		return &corruptError{what: "download", want: p.digest, got: got}
	}
	return nil
}

// fetch makes one request and keeps what it brings.
func (p *part) fetch(ctx context.Context, r *repository) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	body, from, err := r.blob(ctx, p.digest, p.have, p.size)
	if refused := (*transport.Error)(nil); errors.As(err, &refused) && refused.StatusCode == 416 {
		return errors.Join(p.restart(), fmt.Errorf("%s does not go on with a download", r.host))
	}
	if err != nil {
		return err
	}
	defer body.Close()
	in := newStalled(body, cancel)
	defer in.timer.Stop()
	if from < p.have { // no parts here: what we have comes again, and the digest tells whether it is the same
		if _, err := io.CopyN(io.Discard, in, p.have-from); err != nil {
			return stallCause(ctx, err)
		}
	}
	_, err = io.Copy(p, io.LimitReader(in, p.size-p.have))
	if err != nil {
		return stallCause(ctx, err)
	}
	if p.have == p.size {
		if n, _ := io.ReadFull(in, make([]byte, 1)); n > 0 {
			return &sizeError{digest: p.digest}
		}
	}
	return nil
}

// stallCause tells why the context of a request ended, if it did.
func stallCause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// Write appends.
func (p *part) Write(data []byte) (int, error) {
	n, err := p.file.Write(data)
	_, _ = p.sum.Write(data[:n]) // never fails
	p.have += int64(n)
	p.arrived(int64(n))
	return n, err
}

// dropPart removes a blob that was applied, or waits for nobody.
func (s *Store) dropPart(digest string) {
	if err := s.blobs.Remove(partName(digest)); err != nil {
		s.log(fmt.Sprintf("%s is left behind: %v", filepath.Join(s.blobs.Path(), partName(digest)), err))
	}
}
