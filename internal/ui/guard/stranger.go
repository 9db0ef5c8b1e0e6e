// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync"
)

const (
	// mostStrangers is how many connections there are at once on which nobody has shown a session; with one more the
	// oldest of them ends.
	mostStrangers = 128
	// mostOfStranger is how many answers such a connection may have under way at once, by HTTP/2.
	mostOfStranger = 16
)

// connections are those on which nobody has shown a session yet, oldest first.
type connections struct {
	mu        sync.Mutex
	strangers []*connection
}

// connection is one of a viewer, or of a stranger.
type connection struct {
	of  *connections
	net net.Conn
	// Under the lock of all.
	known bool
	asked int
}

type connectionKey struct{}

// ConnContext is for http.Server: it finds out who has made a connection, and bounds those of strangers.
func (g *Guard) ConnContext(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ConnContext(ctx, c), connectionKey{}, g.connections.enter(c))
}

// ConnState is for http.Server, with ConnContext.
func (g *Guard) ConnState(c net.Conn, state http.ConnState) {
	if state == http.StateClosed {
		g.connections.leave(c)
	}
}

func (all *connections) enter(c net.Conn) *connection {
	entered := &connection{of: all, net: c}
	all.mu.Lock()
	defer all.mu.Unlock()
	if len(all.strangers) >= mostStrangers {
		cut(all.strangers[0].net)
		all.strangers = slices.Delete(all.strangers, 0, 1)
	}
	all.strangers = append(all.strangers, entered)
	return entered
}

// cut ends a connection at once: TLS would say goodbye, and wait for who does not read.
func cut(c net.Conn) {
	if encrypted, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = encrypted.NetConn()
	}
	_ = c.Close() // it may have ended by itself
}

func (all *connections) leave(c net.Conn) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.strangers = slices.DeleteFunc(all.strangers, func(s *connection) bool { return s.net == c })
}

// connectionOf is that of a request; nil if http.Server was not told of ConnContext.
func connectionOf(ctx context.Context) *connection {
	c, _ := ctx.Value(connectionKey{}).(*connection)
	return c
}

// ask counts a request in, unless a stranger has too many under way. answered counts it out.
func (c *connection) ask() (answered func(), ok bool) {
	if c == nil {
		return func() {}, true
	}
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	if !c.known && c.asked >= mostOfStranger {
		return nil, false
	}
	c.asked++
	return func() {
		c.of.mu.Lock()
		defer c.of.mu.Unlock()
		c.asked--
	}, true
}

// isStranger tells whether nobody has shown a session on it yet.
func (c *connection) isStranger() bool {
	if c == nil {
		return false
	}
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	return !c.known
}

// introduce says that a session was shown on it: it is no stranger's any more.
func (c *connection) introduce() {
	if c == nil {
		return
	}
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	if c.known {
		return
	}
	c.known = true
	c.of.strangers = slices.DeleteFunc(c.of.strangers, func(s *connection) bool { return s == c })
}
