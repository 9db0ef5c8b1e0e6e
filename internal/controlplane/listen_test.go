// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package controlplane

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Port 0 gives the same port at every start, another when that one is taken, and remembers the newest.
func TestListenRemembersThePort(t *testing.T) {
	dir := private(t)
	start := func() net.Listener {
		l, err := listen(t.Context(), dir, "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	first := start()
	port := first.Addr().String()
	first.Close()
	second := start()
	if got := second.Addr().String(); got != port {
		t.Errorf("the second start got %s, want %s again", got, port)
	}
	third := start()
	moved := third.Addr().String()
	if moved == port {
		t.Errorf("two listeners on %s", port)
	}
	second.Close()
	third.Close()
	fourth := start()
	defer fourth.Close()
	if got := fourth.Addr().String(); got != moved {
		t.Errorf("after the move to %s a start got %s", moved, got)
	}
}

// A damaged memory of the port is as good as none.
func TestListenIgnoresNonsense(t *testing.T) {
	for _, text := range []string{"", "x", "-1", "0", "70000", "80 80"} {
		dir := private(t)
		if err := os.WriteFile(filepath.Join(dir, portFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := listen(t.Context(), dir, "127.0.0.1:0")
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		l.Close()
	}
}

// An explicit address that cannot be had is an error that names it and the cure.
func TestListenExplicit(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for name, test := range map[string]struct{ address, want string }{
		"taken":       {taken.Addr().String(), "another program uses that port"},
		"not ours":    {"192.0.2.1:16443", "no such address"},
		"not ours, 0": {"192.0.2.1:0", "no such address"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := listen(t.Context(), t.TempDir(), test.address)
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), test.address) || !strings.Contains(err.Error(), "--listen") {
				t.Errorf("got %v, want %q, the address and --listen", err, test.want)
			}
		})
	}
}

// A listener on every address is reached over loopback.
func TestDialable(t *testing.T) {
	for text, want := range map[string]string{
		"0.0.0.0:1": "127.0.0.1:1", "[::]:1": "127.0.0.1:1", "127.0.0.1:1": "127.0.0.1:1", "[::1]:1": "[::1]:1", "192.0.2.7:1": "192.0.2.7:1",
	} {
		address, err := net.ResolveTCPAddr("tcp", text)
		if err != nil {
			t.Fatal(err)
		}
		if got := dialable(address); got != want {
			t.Errorf("%s is reached at %s, want %s", text, got, want)
		}
	}
}

// private is a directory such as a locked data directory is.
func private(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}
