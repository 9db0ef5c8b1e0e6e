// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package crilog

import (
	"cmp"
	"container/heap"
	"errors"
	"io"
	"io/fs"
	"slices"
	"time"
)

// Log is one of several logs.
type Log struct {
	// Since is an instant before which nothing was written to it; zero if that is not known. The log is opened when its
	// turn comes, so that of many logs which follow each other few are open at once.
	Since time.Time
	// Open gives the log; fs.ErrNotExist says that there is none (any more).
	Open func() (io.ReadCloser, error)
}

// Merger gives the lines of several logs in the order in which they were written: by time, and of each log in the order
// of that log. A line is not interrupted by others while more of it can be read at once. It is for one goroutine.
type Merger struct {
	logs    []Log
	waiting []int // of logs that were not opened yet, by Since, the last one first
	heads   heads
	current *head // that whose piece the caller holds
	failed  []Failure
}

// Failure is a log that could not be read, or not to its end.
type Failure struct {
	Log int // its index
	Err error
}

// head is a log that is open, and its next piece.
type head struct {
	log    int
	closer io.Closer
	reader *Reader
	piece  Piece
}

// Merge merges logs.
func Merge(logs []Log) *Merger {
	m := &Merger{logs: logs}
	for i := range logs {
		m.waiting = append(m.waiting, i)
	}
	slices.SortStableFunc(m.waiting, func(a, b int) int {
		return cmp.Or(logs[b].Since.Compare(logs[a].Since), cmp.Compare(b, a))
	})
	return m
}

// Next gives the next piece, and the index of the log that it is of; io.EOF when there is none. A log that cannot be
// read is left out, and is among the Failures then.
func (m *Merger) Next() (int, Piece, error) {
	if h := m.current; h != nil {
		m.current = nil
		continued := h.piece.Ending == Continues
		if m.advance(h) {
			if continued {
				m.current = h
				return h.log, h.piece, nil
			}
			heap.Push(&m.heads, h)
		}
	}
	for len(m.waiting) > 0 {
		next := m.waiting[len(m.waiting)-1]
		if len(m.heads) > 0 && m.heads[0].piece.Time.Before(m.logs[next].Since) {
			break
		}
		m.waiting = m.waiting[:len(m.waiting)-1]
		m.open(next)
	}
	if len(m.heads) == 0 {
		return 0, Piece{}, io.EOF
	}
	h, _ := heap.Pop(&m.heads).(*head)
	m.current = h
	return h.log, h.piece, nil
}

func (m *Merger) open(log int) {
	r, err := m.logs[log].Open()
	if err != nil {
		m.failed = append(m.failed, Failure{log, err})
		return
	}
	h := &head{log: log, closer: r, reader: NewReader(r)}
	if m.advance(h) {
		heap.Push(&m.heads, h)
	}
}

// advance reads the next piece of a log; false when it is at its end, and closed.
func (m *Merger) advance(h *head) bool {
	piece, err := h.reader.Next()
	if err == nil {
		h.piece = piece
		return true
	}
	if !errors.Is(err, io.EOF) {
		m.failed = append(m.failed, Failure{h.log, err})
	}
	_ = h.closer.Close() // it was only read
	return false
}

// Failures are the logs that could not be read so far.
func (m *Merger) Failures() []Failure { return m.failed }

// Close closes what is open.
func (m *Merger) Close() {
	if m.current != nil {
		_ = m.current.closer.Close() // it was only read
	}
	for _, h := range m.heads {
		_ = h.closer.Close() // as above
	}
	m.current, m.heads, m.waiting = nil, nil, nil
}

// Missing tells whether there is nothing (any more) of the log.
func (f Failure) Missing() bool { return errors.Is(f.Err, fs.ErrNotExist) }

// heads is a heap: the earliest first, and of equal times the log that was named first.
type heads []*head

func (h heads) Len() int { return len(h) }
func (h heads) Less(i, j int) bool {
	return cmp.Or(h[i].piece.Time.Compare(h[j].piece.Time), cmp.Compare(h[i].log, h[j].log)) < 0
}
func (h heads) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *heads) Push(x any)   { *h = append(*h, x.(*head)) }
func (h *heads) Pop() any {
	last := (*h)[len(*h)-1]
	(*h)[len(*h)-1] = nil
	*h = (*h)[:len(*h)-1]
	return last
}
