// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package image

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// ordinaryUID is a user that no machine should have.
const ordinaryUID = 54321

// Everything works for an ordinary user: the tests themselves run once more as one.
func TestAsOrdinaryUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("it is one already")
	}
	if testing.Short() {
		t.Skip("runs the tests a second time")
	}
	dir, err := os.MkdirTemp("", "carillon-ordinary-") // t.TempDir keeps others out
	must(t, err)
	defer os.RemoveAll(dir)
	must(t, os.Chmod(dir, 0o711))
	tmp := filepath.Join(dir, "tmp")
	must(t, os.Mkdir(tmp, 0o700))
	must(t, os.Chown(tmp, ordinaryUID, ordinaryUID))
	for d := dir; d != "/"; d = filepath.Dir(d) {
		if info, err := os.Stat(d); err != nil || info.Mode().Perm()&0o001 == 0 {
			t.Skipf("others can not enter %s", d)
		}
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.v", "-test.short")
	cmd.Dir = tmp
	cmd.Env = []string{"TMPDIR=" + tmp, "PATH=" + os.Getenv("PATH"), "HOME=" + tmp}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ordinaryUID, Gid: ordinaryUID}}
	out, err := cmd.CombinedOutput()
	for line := range bytes.Lines(out) {
		if bytes.Contains(line, []byte("--- ")) || err != nil {
			t.Logf("%s", bytes.TrimRight(line, "\n"))
		}
	}
	if err != nil {
		t.Error(err)
	}
	if bytes.Count(out, []byte("\n--- PASS")) < 25 {
		t.Errorf("only %d tests passed", bytes.Count(out, []byte("\n--- PASS")))
	}
}
