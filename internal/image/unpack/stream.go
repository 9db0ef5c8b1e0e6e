// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package unpack

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

const (
	inputSize = 128 << 10
	blockSize = 256 << 10
	blocks    = 4
	// maxWindow is how far back a zstd stream may refer, which is what unzipping it takes in memory: as much as the zstd
	// program takes without being told to. What image builders make needs 8 MiB at most.
	maxWindow = 128 << 20
)

// stream is the unzipped archive. A goroutine unzips and hashes ahead of who reads.
type stream struct {
	blocks chan []byte // full ones
	free   chan []byte
	done   chan struct{}
	once   sync.Once

	hash  hash.Hash // the goroutine's until blocks is closed
	err   error     // likewise; nil at the end of the archive
	block []byte    // what is read of the current block
	whole []byte    // that block, to give back
}

// newStream finds out how input is zipped.
func newStream(input io.Reader, limit int64) (*stream, error) {
	in := bufio.NewReaderSize(input, inputSize)
	unzipped, err := unzip(in)
	if err != nil {
		return nil, err
	}
	s := &stream{blocks: make(chan []byte, blocks), free: make(chan []byte, blocks), done: make(chan struct{}), hash: sha256.New()}
	for range blocks {
		s.free <- make([]byte, blockSize)
	}
	go s.fill(unzipped, limit)
	return s, nil
}

// unzip goes by the first bytes of a stream.
func unzip(in *bufio.Reader) (io.Reader, error) {
	begin, err := in.Peek(6)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(begin, []byte{0x1f, 0x8b}):
		r, err := gzip.NewReader(in)
		if err != nil {
			return nil, unzipError(err)
		}
		return r, nil
	case bytes.HasPrefix(begin, []byte{0x28, 0xb5, 0x2f, 0xfd}), len(begin) >= 4 && begin[0]&0xf0 == 0x50 && bytes.Equal(begin[1:4], []byte{0x2a, 0x4d, 0x18}):
		r, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, unzipError(err)
		}
		return r, nil
	case bytes.HasPrefix(begin, []byte("\xfd7zXZ\x00")):
		return nil, archiveError("the layer is zipped with xz: images have gzip and zstd")
	case bytes.HasPrefix(begin, []byte("BZh")):
		return nil, archiveError("the layer is zipped with bzip2: images have gzip and zstd")
	case len(begin) == 0:
		return nil, archiveError("the layer is empty")
	}
	return in, nil
}

func unzipError(err error) error {
	if errors.Is(err, zstd.ErrWindowSizeExceeded) {
		return &Error{Kind: ErrLimit, Text: fmt.Sprintf("the layer needs more than %d MiB of memory to be unzipped", maxWindow>>20)}
	}
	return archiveError("the layer cannot be unzipped: %v", err)
}

// fill unzips until the end, an error, the limit, or until nobody reads any more.
func (s *stream) fill(in io.Reader, limit int64) {
	defer close(s.blocks)
	for {
		var block []byte
		select {
		case block = <-s.free:
		case <-s.done:
			return
		}
		n, err := readBlock(in, block)
		_, _ = s.hash.Write(block[:n]) // never fails
		if limit -= int64(n); limit < 0 {
			s.err = &Error{Kind: ErrLimit, Text: "the layer is larger than it may be when it is unzipped"}
			return
		}
		select {
		case s.blocks <- block[:n]:
		case <-s.done:
			return
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				s.err = unzipError(err)
			}
			return
		}
	}
}

// readBlock fills block, as far as there is something. Unlike io.ReadFull it tells the end of the archive, io.EOF, from
// one that was cut off.
func readBlock(in io.Reader, block []byte) (int, error) {
	n := 0
	for n < len(block) {
		m, err := in.Read(block[n:])
		if n += m; err != nil {
			return n, err
		}
	}
	return n, nil
}

// Read reads the archive.
func (s *stream) Read(p []byte) (int, error) {
	for len(s.block) == 0 {
		if s.whole != nil {
			s.free <- s.whole[:blockSize]
			s.whole = nil
		}
		block, ok := <-s.blocks
		if !ok {
			if s.err != nil {
				return 0, s.err
			}
			return 0, io.EOF
		}
		s.block, s.whole = block, block
	}
	n := copy(p, s.block)
	s.block = s.block[n:]
	return n, nil
}

// finish reads what comes after the archive's last entry, and gives the digest of all of it.
func (s *stream) finish() (string, error) {
	if _, err := io.Copy(io.Discard, s); err != nil {
		return "", err
	}
	return "sha256:" + hex.EncodeToString(s.hash.Sum(nil)), nil
}

// Close ends the goroutine.
func (s *stream) Close() { s.once.Do(func() { close(s.done) }) }
