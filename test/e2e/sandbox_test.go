// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A file that whoever started Carillon had open, and left open for it by
// mistake, does not reach a container.
func TestInheritedDescriptors(t *testing.T) {
	dir := filepath.Dir(newDataDir(t))
	key := filepath.Join(dir, "key")
	if err := os.WriteFile(key, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(key, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	cmd := exec.CommandContext(t.Context(), carillon, "run", "-q", "-f", "-")
	cmd.Env = setEnv(environment(), "TMPDIR", dir)
	cmd.Stdin = strings.NewReader(shellJob{name: "list", script: "ls -l /proc/self/fd/"}.String())
	cmd.ExtraFiles = []*os.File{nil, nil, file, file} // 5 and 6: more than the shim's own
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if !strings.Contains(string(out), "/dev/null") || strings.Contains(string(out), key) {
		t.Errorf("a container has these files open:\n%s", out)
	}
}
