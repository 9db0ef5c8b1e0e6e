// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// ordinaryID is a user and a group that no machine should have.
const ordinaryID = 54321

// Carillon's runtime answers the same when an ordinary user runs it, but for what one user cannot give.
func TestSpecsAsOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("TestSpecs has run as one")
	}
	if *endpointFlag != "" {
		t.Skip("for Carillon's runtime")
	}
	dir, err := os.MkdirTemp("", "cri") // others may enter it, as they may not t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chown(dir, ordinaryID, ordinaryID); err != nil {
		t.Fatal(err)
	}
	for d := filepath.Dir(dir); d != "/"; d = filepath.Dir(d) {
		if info, err := os.Stat(d); err != nil || info.Mode().Perm()&0o001 == 0 {
			t.Skipf("others cannot enter %s", d)
		}
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.v", "-test.run=^TestSpecs$")
	cmd.Dir = dir
	cmd.Env = []string{"TMPDIR=" + dir, "HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ordinaryID, Gid: ordinaryID}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
		return
	}
	if bytes.Contains(out, []byte("--- SKIP: TestSpecs (")) {
		t.Skipf("%s", out)
	}
	if passed := bytes.Count(out, []byte("--- PASS: TestSpecs/")); passed < 100 {
		t.Errorf("only %d specs passed\n%s", passed, out)
	}
}
