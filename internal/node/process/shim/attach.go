// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shim

import (
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// drainTime is how long output is still read after all processes of the
// container are gone: only somebody outside who was handed the pipe can hold
// it open.
const drainTime = 2 * time.Second

// watchBacklog is how many pieces of output an attached client may be behind
// before it is let go. A slow client must not slow down the container.
const watchBacklog = 1024

// stdio are both ends of the command's standard files.
type stdio struct {
	child [3]*os.File
	out   *os.File // read ends
	err   *os.File // nil with a terminal
	in    *os.File // write end; nil without stdin
	tty   *os.File // the master of the terminal, or nil
}

// stdio makes what the spec asks for.
func (s *shim) stdio() (*stdio, error) {
	if s.spec.TTY {
		master, slave, err := openTTY(s.spec.User)
		if err != nil {
			return nil, err
		}
		return &stdio{child: [3]*os.File{slave, slave, slave}, out: master, tty: master}, nil
	}
	std := &stdio{}
	var err error
	fail := func(err error) (*stdio, error) {
		for _, f := range std.child {
			if f != nil {
				f.Close()
			}
		}
		std.close()
		return nil, err
	}
	if s.spec.Stdin {
		if std.child[0], std.in, err = os.Pipe(); err != nil {
			return fail(err)
		}
	} else if std.child[0], err = os.Open(os.DevNull); err != nil {
		return fail(err)
	}
	if std.out, std.child[1], err = os.Pipe(); err != nil {
		return fail(err)
	}
	if std.err, std.child[2], err = os.Pipe(); err != nil {
		return fail(err)
	}
	return std, nil
}

func (std *stdio) close() {
	for _, f := range []*os.File{std.out, std.err, std.in} {
		if f != nil {
			f.Close()
		}
	}
}

// copy starts writing the log.
func (std *stdio) copy(s *shim) {
	s.streams.start(std)
	s.drain("stdout", std.out)
	if std.err != nil {
		s.drain("stderr", std.err)
	}
}

// streams connects the command's standard files with the log and with the
// clients that are attached.
type streams struct {
	log  *logFile
	once bool // standard input ends with the first client that used it

	mu      sync.Mutex
	std     *stdio
	watches map[*watch]bool
	ended   bool

	written atomic.Int64 // what the container wrote, in bytes

	writers sync.WaitGroup // of what clients have not got yet
}

// watch is one attached client.
type watch struct {
	stream string // "stdout" or "stderr"
	to     *os.File
	data   chan []byte
}

func newStreams(log *logFile, once bool) *streams {
	return &streams{log: log, once: once, watches: map[*watch]bool{}}
}

func (s *streams) start(std *stdio) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.std = std
}

// copyOutput reads a stream to its end, into the log and to the clients.
func (s *streams) copyOutput(stream string, r io.Reader) {
	copyLines(io.TeeReader(r, writerFunc(func(b []byte) {
		s.written.Add(int64(len(b)))
		s.broadcast(stream, b)
	})), func(partial bool, text []byte) {
		s.log.line(time.Now(), stream, partial, text)
	})
}

type writerFunc func([]byte)

func (f writerFunc) Write(b []byte) (int, error) { f(b); return len(b), nil }

func (s *streams) broadcast(stream string, b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.watches) == 0 {
		return
	}
	b = append([]byte(nil), b...)
	for w := range s.watches {
		if w.stream != stream {
			continue
		}
		select {
		case w.data <- b:
		default:
			s.drop(w)
		}
	}
}

// watch sends what stream delivers from now on to to, until the result is
// called, the client goes away or the container ends. It closes to.
func (s *streams) watch(stream string, to *os.File) (cancel func()) {
	w := &watch{stream: stream, to: to, data: make(chan []byte, watchBacklog)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		to.Close()
		return func() {}
	}
	s.watches[w] = true
	s.writers.Go(func() {
		defer to.Close()
		for b := range w.data {
			if _, err := to.Write(b); err != nil {
				cancel()
				return
			}
		}
	})
	cancel = func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.drop(w)
	}
	return cancel
}

// drop forgets a client; its goroutine writes what it has and ends. The caller
// holds the lock.
func (s *streams) drop(w *watch) {
	if s.watches[w] {
		delete(s.watches, w)
		close(w.data)
	}
}

// input copies from a client to the command until the client's end.
func (s *streams) input(from *os.File) {
	defer from.Close()
	s.mu.Lock()
	std := s.std
	s.mu.Unlock()
	if std == nil || std.in == nil {
		return
	}
	_, _ = io.Copy(std.in, from)
	if s.once {
		s.closeInput()
	}
}

// terminal is the master of the command's terminal, or nil.
func (s *streams) terminal() *os.File {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.std == nil {
		return nil
	}
	return s.std.tty
}

// closeInput gives the command the end of its input.
func (s *streams) closeInput() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.std != nil && s.std.in != nil {
		s.std.in.Close()
	}
}

// hangUp ends reading although somebody still holds the other end.
func (s *streams) hangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.std != nil {
		s.std.close()
	}
}

// end lets all clients go, when they have got what was for them: this process
// ends soon, and what it has not written then is lost. Who does not read is not
// waited for long.
func (s *streams) end() {
	s.mu.Lock()
	s.ended = true
	for w := range s.watches {
		s.drop(w)
	}
	s.mu.Unlock()
	written := make(chan struct{})
	go func() {
		s.writers.Wait()
		close(written)
	}()
	select {
	case <-written:
	case <-time.After(drainTime):
	}
}
