// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package controlplane

import (
	"errors"
	"io"
	"net"
	"testing"
)

// Closing the connections ends those that are open and those that come later; each is forgotten when it is closed.
func TestConnTracker(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	tracker := trackConns(inner)
	defer tracker.Close()
	pair := func() (near, far net.Conn) {
		near, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { near.Close() })
		if far, err = tracker.Accept(); err != nil {
			t.Fatal(err)
		}
		return near, far
	}
	_, gone := pair()
	gone.Close()
	open, _ := pair()
	if n := len(tracker.conns); n != 1 {
		t.Errorf("%d connections remembered, want 1", n)
	}
	tracker.closeConns()
	late, far := pair()
	for name, c := range map[string]net.Conn{"open": open, "late": late} {
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("reading from the %s connection gave %v, want its end", name, err)
		}
	}
	far.Close()
	if n := len(tracker.conns); n != 0 {
		t.Errorf("%d connections remembered after all were closed", n)
	}
}
