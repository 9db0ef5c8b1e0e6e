// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package controlplane

import (
	"net"
	"sync"
)

// connTracker is a listener that remembers its open connections. The API server's own shutdown waits for open watches
// until its timeout; closing the connections ends them at once.
type connTracker struct {
	net.Listener

	mu    sync.Mutex
	conns map[*trackedConn]struct{}
	ended bool
}

type trackedConn struct {
	net.Conn
	tracker *connTracker
}

func trackConns(l net.Listener) *connTracker {
	return &connTracker{Listener: l, conns: map[*trackedConn]struct{}{}}
}

// Accept implements net.Listener.
func (t *connTracker) Accept() (net.Conn, error) {
	c, err := t.Listener.Accept()
	if err != nil {
		return nil, err
	}
	tracked := &trackedConn{Conn: c, tracker: t}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		c.Close()
	} else {
		t.conns[tracked] = struct{}{}
	}
	return tracked, nil
}

// Close implements net.Conn.
func (c *trackedConn) Close() error {
	c.tracker.mu.Lock()
	delete(c.tracker.conns, c)
	c.tracker.mu.Unlock()
	return c.Conn.Close()
}

// closeConns closes every connection, and those still to come as they are accepted.
func (t *connTracker) closeConns() {
	t.mu.Lock()
	t.ended = true
	open := t.conns
	t.conns = map[*trackedConn]struct{}{}
	t.mu.Unlock()
	for c := range open {
		c.Conn.Close()
	}
}
