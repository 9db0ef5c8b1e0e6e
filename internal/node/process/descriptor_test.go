// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A file that this process has open, and that an exec would hand on, reaches
// neither a container's command nor what is executed in it later.
func TestOrdinaryDescriptors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open(path, unix.O_RDWR, 0) // without O_CLOEXEC
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(fd) }()
	g := newRig(t)
	// The shell's own descriptor of the directory is the fourth.
	const list = `for f in /proc/self/fd/*; do readlink $f; done | grep -v -e /proc/ -e pipe: -e /dev/null; true`
	id := g.begin(g.sandbox("p", ""), shell(list+`; exec sleep 1000`))
	if got := g.exec(id, "/bin/sh", "-c", list); strings.TrimSpace(string(got.Stdout)) != "" {
		t.Errorf("exec has %q", got.Stdout)
	}
	g.stop(id, 0)
	if got := g.output(id, "stdout"); got != "" {
		t.Errorf("the command has %q", got)
	}
}
