// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package controlplane

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A renewed administrator reaches the kubeconfig, if need be at a later pass, and what is wrong is told.
func TestRenewalWritesTheKubeconfig(t *testing.T) {
	begin := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	dir := t.TempDir()
	c, err := New(Options{DataDir: dir, Kubeconfig: filepath.Join(dir, "for-admin", "kubeconfig")})
	if err != nil {
		t.Fatal(err)
	}
	p := open(t, filepath.Join(dir, "pki"), begin)
	if err := os.Mkdir(filepath.Dir(c.Kubeconfig()), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := c.writeAdminKubeconfig(p, begin); err != nil {
		t.Fatal(err)
	}
	before := read(t, c.Kubeconfig())
	r := &renewal{plane: c, pki: p, began: begin}
	if trouble := r.pass(begin.Add(testLife / 2)); trouble != "" || !bytes.Equal(before, read(t, c.Kubeconfig())) {
		t.Errorf("changed before it was due, or %q", trouble)
	}

	due := begin.Add(testLife * 3 / 4)
	away := filepath.Join(dir, "away")
	if err := os.Rename(filepath.Dir(c.Kubeconfig()), away); err != nil {
		t.Fatal(err)
	}
	if trouble := r.pass(due); !strings.Contains(trouble, c.Kubeconfig()) && !strings.Contains(trouble, filepath.Dir(c.Kubeconfig())) {
		t.Errorf("a kubeconfig that cannot be written gave %q", trouble)
	}
	if err := os.Rename(away, filepath.Dir(c.Kubeconfig())); err != nil {
		t.Fatal(err)
	}
	if trouble := r.pass(due.Add(time.Hour)); trouble != "" || bytes.Equal(before, read(t, c.Kubeconfig())) {
		t.Errorf("the kubeconfig was not written later, or %q", trouble)
	}

	if trouble := r.pass(begin.Add(-2 * time.Hour)); !strings.Contains(trouble, "clock is behind") {
		t.Errorf("a clock that was set back too far gave %q", trouble)
	}
	if trouble := r.pass(begin.Add(processLife - 24*time.Hour)); !strings.Contains(trouble, "start Carillon again") {
		t.Errorf("the end of what this process can serve gave %q", trouble)
	}
}
