// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"syscall"
	"time"
)

const (
	// queueLimit bounds what waits to be written, in bytes. What is said about containers may use as much again, so
	// that their output never keeps the end of a Job from being told.
	queueLimit = 4 << 20
	// batchLimit bounds one write.
	batchLimit = 32 << 10
	// writeTimeout is how long one write may take before nobody is thought to read.
	writeTimeout = time.Second
	// closeLimit bounds the writing after the program was told to stop.
	closeLimit = 3 * time.Second
)

// queue writes lines in a goroutine of its own: a terminal that is stopped (Ctrl-S), a pager that is not read on, a
// pipe that is full block that goroutine and nothing else.
type queue struct {
	notice func(dropped int) chunk

	mu            sync.Mutex
	waitForReader bool // wait for room instead of dropping, however long it takes
	waiting       []chunk
	bytes         int           // of waiting
	lines         int           // of waiting, and of the write that goes on
	began         time.Time     // of the write that goes on; zero when none does
	dropped       int           // lines, not told yet
	lost          int           // lines, ever
	closed        bool          // nothing is taken any more
	room          chan struct{} // closed and replaced at each change
	work          chan struct{} // capacity 1
	failure       error         // the first, that did not mean that the reader is gone
	readerErr     error         // why nobody will ever read
	status, shown string        // the status line, and what of it is on the screen
	statusTo      io.Writer

	gone  chan struct{} // closed when the reader is gone
	ended chan struct{} // closed when all is written after close, or the reader is gone
}

// chunk is some whole lines, or a part of one, for one writer.
type chunk struct {
	to   io.Writer
	text []byte
}

func newQueue(statusTo io.Writer, keep bool, notice func(int) chunk) *queue {
	q := &queue{
		statusTo: statusTo, waitForReader: keep, notice: notice, room: make(chan struct{}), work: make(chan struct{}, 1),
		gone: make(chan struct{}), ended: make(chan struct{}),
	}
	go q.run()
	return q
}

// put adds a line. Output waits while the queue is full: for as long as somebody reads, or, with keep, until the queue
// is released or closed. Anything else never waits.
func (q *queue) put(c chunk, output bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		limit := queueLimit
		if !output {
			limit *= 2
		}
		switch {
		case q.readerErr != nil:
			return
		case q.closed:
			q.drop(1)
			return
		case q.bytes == 0, q.bytes+len(c.text) <= limit:
			q.waiting = append(q.waiting, c)
			q.bytes += len(c.text)
			q.lines++
			q.wake()
			return
		case !output, !q.waitForReader && q.writeTimeLeft() <= 0:
			q.drop(1)
			return
		}
		q.await()
	}
}

// stopWaiting ends waitForReader: whoever waits for room waits on only as long as somebody reads.
func (q *queue) stopWaiting() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waitForReader = false
	q.changed()
}

// writeTimeLeft is how long the write that goes on may still take before nobody is thought to read.
func (q *queue) writeTimeLeft() time.Duration {
	if q.began.IsZero() {
		return writeTimeout
	}
	return writeTimeout - time.Since(q.began)
}

// await gives up the lock until something changes, or until the write that goes on is too old.
func (q *queue) await() {
	room, left := q.room, q.writeTimeLeft()
	if q.waitForReader || left <= 0 {
		left = writeTimeout
	}
	q.mu.Unlock()
	defer q.mu.Lock()
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-room:
	case <-timer.C:
	}
}

func (q *queue) drop(lines int) {
	q.dropped += lines
	q.lost += lines
}

func (q *queue) wake() {
	select {
	case q.work <- struct{}{}:
	default:
	}
}

func (q *queue) changed() {
	close(q.room)
	q.room = make(chan struct{})
}

// next takes what can go in one write. Nothing and true mean that it is all over.
func (q *queue) next() (batch chunk, lines int, over bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if change := q.statusChange(); len(change.text) > 0 {
		q.began = time.Now()
		return change, 0, false
	}
	if len(q.waiting) == 0 {
		if q.dropped == 0 || q.closed {
			return chunk{}, 0, q.closed
		}
		batch = q.notice(q.dropped)
		q.dropped = 0
		return batch, 0, false
	}
	batch = q.waiting[0]
	n := 1
	if len(batch.text) < batchLimit {
		var b bytes.Buffer
		b.Write(batch.text)
		for ; n < len(q.waiting) && q.waiting[n].to == batch.to && b.Len()+len(q.waiting[n].text) <= batchLimit; n++ {
			b.Write(q.waiting[n].text)
		}
		batch.text = b.Bytes()
	}
	clear(q.waiting[:n]) // the texts are not kept by the array
	q.waiting = q.waiting[n:]
	q.bytes -= len(batch.text)
	q.began = time.Now()
	q.changed()
	return batch, n, false
}

func (q *queue) run() {
	defer close(q.ended)
	for {
		batch, lines, over := q.next()
		switch {
		case over:
			return
		case len(batch.text) == 0:
			<-q.work
			continue
		}
		n, err := batch.to.Write(batch.text)
		if q.wrote(lines, n, batch, err) {
			return
		}
	}
}

// wrote records the end of a write and tells whether it was the last.
func (q *queue) wrote(lines, n int, batch chunk, err error) (over bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.began = time.Time{}
	q.lines -= lines
	defer q.changed()
	if err == nil {
		return false
	}
	q.drop(min(lines, bytes.Count(batch.text[n:], []byte("\n"))))
	if !readerGone(err) {
		if q.failure == nil {
			q.failure = err
		}
		return false
	}
	q.readerErr = err
	q.waiting, q.bytes, q.lines = nil, 0, 0
	close(q.gone)
	return true
}

// readerGone tells whether nobody will ever read: the other end of a pipe is closed, or the terminal is.
func readerGone(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.EIO) || errors.Is(err, io.ErrClosedPipe)
}

// close takes nothing more and waits until all is written. When ctx has ended, it waits only as long as somebody reads.
func (q *queue) close(ctx context.Context) (unwritten int, failure error) {
	q.mu.Lock()
	q.closed = true
	q.wake()
	q.changed()
	q.mu.Unlock()
	select {
	case <-q.ended:
	case <-ctx.Done():
		q.waitWhileRead()
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.readerErr != nil {
		return 0, nil
	}
	return q.lost + q.lines, q.failure
}

// waitWhileRead waits until all is written or a write takes too long.
func (q *queue) waitWhileRead() {
	for began := time.Now(); ; {
		q.mu.Lock()
		room, left := q.room, min(q.writeTimeLeft(), closeLimit-time.Since(began))
		q.mu.Unlock()
		if left <= 0 {
			return
		}
		timer := time.NewTimer(left)
		select {
		case <-q.ended:
			timer.Stop()
			return
		case <-room:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// blocked tells whether nobody reads what waits.
func (q *queue) blocked() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.bytes > queueLimit/2
}
