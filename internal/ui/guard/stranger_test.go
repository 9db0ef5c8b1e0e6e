// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// overHTTP2 makes a site serve as the page does.
func overHTTP2(o *Options, s *httptest.Server) {
	o.writeWithin = 500 * time.Millisecond
	s.EnableHTTP2, s.TLS = true, &tls.Config{} //nolint:gosec // the test's
}

// newBoundedRig is a site whose strangers are bounded.
func newBoundedRig(t *testing.T, change ...func(o *Options, s *httptest.Server)) *rig {
	t.Helper()
	var g *rig
	change = append(change, func(_ *Options, s *httptest.Server) {
		s.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context { return g.guard.ConnContext(ctx, c) }
		s.Config.ConnState = func(c net.Conn, state http.ConnState) { g.guard.ConnState(c, state) }
	})
	g = newRig(t, change...)
	return g
}

// asked asks for a page that is never read, so many times by one connection, and gives how each of them ended, by the
// number of its stream: the status, or "reset".
func (g *rig) asked(times int, path string, headers ...string) map[uint32]string {
	g.t.Helper()
	address := g.server.Listener.Addr().String()
	c, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}) //nolint:gosec // the test's
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		g.t.Fatal(err)
	}
	_, _ = io.WriteString(c, http2.ClientPreface)
	f := http2.NewFramer(c, c)
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	_ = f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
	for n := range times {
		var block bytes.Buffer
		e := hpack.NewEncoder(&block)
		fields := append([]string{":method", "GET", ":scheme", "https", ":authority", address, ":path", path}, headers...)
		for i := 0; i < len(fields); i += 2 {
			_ = e.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
		}
		_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: uint32(2*n + 1), BlockFragment: block.Bytes(), EndStream: true, EndHeaders: true})
	}
	ended := map[uint32]string{}
	status := map[uint32]string{}
	for len(ended) < times {
		frame, err := f.ReadFrame()
		if err != nil {
			return ended
		}
		switch frame := frame.(type) {
		case *http2.MetaHeadersFrame:
			status[frame.StreamID] = frame.PseudoValue("status")
			if frame.StreamEnded() {
				ended[frame.StreamID] = status[frame.StreamID]
			}
		case *http2.DataFrame:
			if frame.StreamEnded() {
				ended[frame.StreamID] = status[frame.StreamID]
			}
		case *http2.RSTStreamFrame:
			ended[frame.StreamID] = "reset"
		case *http2.SettingsFrame:
			if !frame.IsAck() {
				_ = f.WriteSettingsAck()
			}
		}
	}
	return ended
}

// count counts values.
func count(all map[uint32]string) map[string]int {
	n := map[string]int{}
	for _, what := range all {
		n[what]++
	}
	return n
}

// Who never takes his answers, by HTTP/2, holds nothing up for long; a stranger cannot even ask for many.
func TestAnswersNobodyTakes(t *testing.T) {
	g := newBoundedRig(t, overHTTP2)
	if got := count(g.asked(3, "/login")); got["reset"] != 3 {
		t.Errorf("a stranger's end so: %v", got)
	}
	if got := count(g.asked(100, "/login")); got["reset"] != mostOfStranger || got["503"] != 100-mostOfStranger {
		t.Errorf("many of a stranger end so: %v", got)
	}
	if got := count(g.asked(40, "/page", "authorization", "Bearer "+g.token)); got["reset"] < 40-mostOfStranger || got["reset"]+got["503"] != 40 {
		t.Errorf("a viewer's end so: %v", got)
	}
}

// Strangers have few connections; a viewer is not among them, and a new one is let in.
func TestStrangersAreBounded(t *testing.T) {
	g := newBoundedRig(t)
	c, _ := g.viewer()
	stream, err := c.Get(g.server.URL + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	var first *bufio.Reader
	for n := range mostStrangers + 10 {
		_, answers := g.connect("GET /")
		if n == 0 {
			first = answers
		}
	}
	if _, err := first.ReadByte(); err == nil {
		t.Error("the first is answered")
	} else if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		t.Error("the first is held")
	}
	g.viewer()
	g.mu.Lock()
	if g.streams != 1 {
		t.Error("a viewer's connection was ended for them")
	}
	g.mu.Unlock()
	until(t, "they are forgotten", func() bool {
		g.guard.connections.mu.Lock()
		defer g.guard.connections.mu.Unlock()
		return len(g.guard.connections.strangers) == 0
	})
}
