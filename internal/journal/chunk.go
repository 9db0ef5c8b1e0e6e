// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"
)

const (
	// chunkSize is how much text a chunk has at most. It ends with a line, unless one line is longer.
	chunkSize = 256 << 10
	// chunksPerLog bounds the place of a chunk in its log: 4 TiB of text.
	chunkBits    = 24
	chunksPerLog = 1 << chunkBits
)

// chunkID is the id of a chunk: those of one log follow each other.
func chunkID(log, place int64) int64 { return log<<chunkBits | place }

// chunk is a part of a log as it is kept.
type chunk struct {
	size int64 // of the text, bytes
	data []byte
}

// disk is about what it takes in the database.
func (c *chunk) disk() int64 { return diskOf(int64(len(c.data))) }

// diskOf is about what n bytes in a row take: what does not fit into its page is in pages of its own.
func diskOf(n int64) int64 {
	const page, inline, row = 4096, 3900, 16
	if n <= inline {
		return n + row
	}
	return (n + page - 1) / page * page
}

var (
	// The window is a chunk's size, so that neither takes the megabytes that zstd otherwise sets aside.
	encoder = sync.OnceValue(func() *zstd.Encoder {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(2), zstd.WithWindowSize(chunkSize), zstd.WithEncoderCRC(true),
			zstd.WithLowerEncoderMem(true))
		if err != nil {
			panic(err) // its options are wrong
		}
		return e
	})
	decoder = sync.OnceValue(func() *zstd.Decoder {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(2), zstd.WithDecoderMaxMemory(chunkSize+1), zstd.WithDecoderLowmem(true))
		if err != nil {
			panic(err) // its options are wrong
		}
		return d
	})
)

func compressed(text []byte) chunk {
	return chunk{size: int64(len(text)), data: encoder().EncodeAll(text, nil)}
}

// errDamagedLog says that what is kept of a log is not what was written.
var errDamagedLog = errors.New("what is kept of this log is damaged")

// decompressed gives the text of a chunk. Its checksum must be right, and so must its size.
func decompressed(data []byte, size int64) ([]byte, error) {
	if size < 0 || size > chunkSize {
		return nil, errDamagedLog
	}
	text, err := decoder().DecodeAll(data, make([]byte, 0, size))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDamagedLog, err)
	}
	if int64(len(text)) != size {
		return nil, errDamagedLog
	}
	return text, nil
}

// chunker cuts a text into chunks.
type chunker struct {
	r      io.Reader
	buffer []byte
	n, cut int // how much of the buffer is text, and how much of that was given already
	end    bool
}

func newChunker(r io.Reader) *chunker { return &chunker{r: r, buffer: make([]byte, chunkSize)} }

// next gives the text of the next chunk; io.EOF when there is none. It is good until the next call.
func (c *chunker) next() ([]byte, error) {
	// What follows the last line end of the chunk before is the beginning of this one.
	c.n, c.cut = copy(c.buffer, c.buffer[c.cut:c.n]), 0
	for c.n < len(c.buffer) && !c.end {
		n, err := c.r.Read(c.buffer[c.n:])
		c.n += n
		if errors.Is(err, io.EOF) {
			c.end = true
		} else if err != nil {
			return nil, err
		}
	}
	if c.n == 0 {
		return nil, io.EOF
	}
	c.cut = c.n
	if !c.end {
		if i := bytes.LastIndexByte(c.buffer[:c.n], '\n'); i >= 0 {
			c.cut = i + 1
		}
	}
	return c.buffer[:c.cut], nil
}
