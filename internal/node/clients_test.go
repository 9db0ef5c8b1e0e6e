// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package node

import (
	"errors"
	"io"
	"net"
	"testing"
)

// Cutting the line ends the connections there are and refuses others.
func TestLine(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	go func() {
		for {
			conn, err := server.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
		}
	}()
	line := newConnections()
	conn, err := line.dial(t.Context(), "tcp", server.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	line.close()
	if _, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("the connection lives on: %v", err)
	}
	if _, err := line.dial(t.Context(), "tcp", server.Addr().String()); !errors.Is(err, errConnectionsClosed) {
		t.Errorf("a connection after the cut: %v", err)
	}
}
