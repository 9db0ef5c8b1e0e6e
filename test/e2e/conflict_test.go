// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"net"
	"os"
	"strings"
	"testing"
)

// A second Carillon on the same data directory says so and harms nothing.
func TestLockedDataDir(t *testing.T) {
	dataDir := newDataDir(t)
	u := startReady(t, dataDir)
	got := command(t, "", "up", "--data-dir", dataDir)
	if got.code == 0 || !strings.Contains(got.stderr, dataDir) {
		t.Errorf("got %+v", got)
	}
	if got := u.kubectl("get", "nodes", "-o", "name"); !strings.HasPrefix(got, "node/") {
		t.Errorf("the first one: %q", got)
	}
}

// A port that is taken is named in the error.
func TestTakenPort(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	dataDir := newDataDir(t)
	got := command(t, "", "up", "--data-dir", dataDir, "--listen", taken.Addr().String())
	if got.code == 0 || !strings.Contains(got.stderr, taken.Addr().String()) {
		t.Errorf("got %+v", got)
	}
	wantNothingLeft(t, dataDir, "")
}

// A data directory that cannot be written is named in the error.
func TestUnusableDataDir(t *testing.T) {
	file := write(t, "a file")
	got := command(t, "", "up", "--data-dir", file+"/data")
	if got.code == 0 || !strings.Contains(got.stderr, file) {
		t.Errorf("got %+v", got)
	}
}

// Everything in the data directory is the user's alone.
func TestDataDirIsPrivate(t *testing.T) {
	dataDir := newDataDir(t)
	u := startReady(t, dataDir)
	info, err := os.Stat(dataDir)
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); mode != 0o700 {
		t.Errorf("mode of the data directory: %o", mode)
	}
	info, err = os.Stat(dataDir + "/kubeconfig")
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); mode != 0o600 {
		t.Errorf("mode of the kubeconfig: %o", mode)
	}
	for _, address := range listening(t, u.cmd.Process.Pid) {
		if !strings.HasPrefix(address, "127.") && !strings.HasPrefix(address, "[::1]") {
			t.Errorf("listens beyond this machine: %s", address)
		}
	}
}
