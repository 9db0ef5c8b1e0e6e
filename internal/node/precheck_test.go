// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package node

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What the kubelet would end the process for is an error that says what is
// wrong.
func TestPrecheck(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()

	t.Run("port taken", func(t *testing.T) {
		err := checkPort(taken.Addr().String())
		if err == nil || !strings.Contains(err.Error(), taken.Addr().String()) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("no such address", func(t *testing.T) {
		if err := checkPort("203.0.113.7:1"); err == nil {
			t.Error("no error")
		}
	})
	t.Run("a file where a directory should be", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.WriteFile(logsDir(dir), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := makeDirs(dir); err == nil || !strings.Contains(err.Error(), logsDir(dir)) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("directories are made, private, and left empty", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "new")
		if err := makeDirs(dir); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(dir)
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode != 0o700 {
			t.Errorf("mode %v", mode)
		}
		entries, err := os.ReadDir(logsDir(dir))
		if err != nil || len(entries) > 0 {
			t.Errorf("left %v, %v", entries, err)
		}
	})
	t.Run("certificates that are none", func(t *testing.T) {
		options := validOptions(t)
		if err := checkCertificates(&options); err == nil || !strings.Contains(err.Error(), options.ServingCert) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a runtime that is not there", func(t *testing.T) {
		if err := checkRuntime("unix:///does/not/exist.sock"); err == nil || !strings.Contains(err.Error(), "exist.sock") {
			t.Errorf("got %v", err)
		}
		if err := checkRuntime(""); err != nil {
			t.Errorf("the built-in runtime: %v", err)
		}
	})
	t.Run("a stale socket is no obstacle", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "s.sock")
		for range 2 {
			if err := checkSocket(path); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A free port lies outside the range of outgoing connections, and a port that
// was asked for is kept.
func TestFreeAddress(t *testing.T) {
	const ask = "127.0.0.1:4711"
	if got, err := freeAddress(ask); err != nil || got != ask {
		t.Errorf("got %s, %v", got, err)
	}
	got, err := freeAddress("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := checkPort(got); err != nil {
		t.Error(err)
	}
}

func TestLowestEphemeralPort(t *testing.T) {
	for text, want := range map[string]int{"1024\t60999\n": 1024, "": 32768, "x y": 32768, "1 2 3": 32768, "99999 1": 32768} {
		path := filepath.Join(t.TempDir(), "range")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := lowestEphemeralPort(path); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
	if got := lowestEphemeralPort("/does/not/exist"); got != 32768 {
		t.Errorf("no file: %d", got)
	}
}
