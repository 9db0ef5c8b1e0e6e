// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// smallQuota is the smallest that a store can have.
const smallQuota = "16Mi"

// noSpace tells whether the store refused a write.
func noSpace(err error) bool {
	return err != nil && strings.Contains(err.Error(), "database space exceeded")
}

// padding is a ConfigMap of most of a megabyte.
func padding(name string, c byte) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, BinaryData: map[string][]byte{"x": bytes.Repeat([]byte{c}, 900<<10)}}
}

// overwrite changes one object until the store is full of its history. It tells
// whether the store refused a write.
func overwrite(t *testing.T, client kubernetes.Interface) bool {
	t.Helper()
	maps := client.CoreV1().ConfigMaps("default")
	if _, err := maps.Create(t.Context(), padding("padding", 0), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		_, err := maps.Update(t.Context(), padding("padding", byte(i)), metav1.UpdateOptions{})
		if noSpace(err) {
			return true
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return false
}

// A store that its own history filled gets room again while Carillon runs, and
// by the next start after a kill -9 in the midst of it, with the disk full in
// between. Nothing is lost, and the user is told.
func TestStoreFullOfHistory(t *testing.T) {
	dataDir, disk := onSmallDisk(t)
	u := startReady(t, dataDir, "--quota-backend-bytes", smallQuota)
	if !overwrite(t, u.client()) {
		t.Fatal("the store took everything: this test would show nothing")
	}
	u.wait("the warning", func(l line) bool {
		return l.Type == "warning" && strings.Contains(l.Message, "store was full") && strings.Contains(l.Message, "room again")
	})
	u.kubectl("delete", "configmap", "padding")
	u.kubectl("create", "configmap", "kept")

	if !overwrite(t, u.client()) {
		t.Fatal("the store took everything")
	}
	u.kill()

	filler := filepath.Join(disk, "filler")
	fillDisk(t, filler)
	got := command(t, "", "up", "--data-dir", dataDir, "--quota-backend-bytes", smallQuota)
	if got.code == 0 || !strings.Contains(got.stderr, "free some space") || !strings.Contains(got.stderr, dataDir) {
		t.Errorf("on a full disk: %+v", got)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}

	again := startReady(t, dataDir, "--quota-backend-bytes", smallQuota)
	again.kubectl("get", "configmap", "kept")
	again.kubectl("delete", "configmap", "padding")
	if got := again.tryKubectl(shellJob{name: "later", script: "true"}.String(), "apply", "-f", "-"); got.code != 0 {
		t.Errorf("apply: %+v", got)
	}
	if end := again.finished("later"); end.Outcome != "complete" {
		t.Errorf("a job of later ended %+v", end)
	}
	again.wantCleanStop(again.stop())
}

// A store that objects filled says so, and by which, while Carillon runs and at
// its next start; a larger quota gives the room to delete them, after which the
// old one is enough.
func TestStoreFullOfObjects(t *testing.T) {
	dataDir := newDataDir(t)
	// A start finds a little more to give back sometimes.
	got := result{}
	for attempt := 0; got.code == 0; attempt++ {
		if attempt == 5 {
			t.Fatal("the store had room again at each start")
		}
		u := startReady(t, dataDir, "--quota-backend-bytes", smallQuota)
		warned := fillWithObjects(t, u, fmt.Sprint("padding-", attempt, "-"))
		for _, want := range []string{"configmaps 1", "--quota-backend-bytes "} {
			if !strings.Contains(warned, want) {
				t.Errorf("warned %q, without %q", warned, want)
			}
		}
		if log, err := os.ReadFile(filepath.Join(dataDir, "log", "carillon.log")); err != nil || !bytes.Contains(log, []byte("nothing can be written")) {
			t.Errorf("the log does not say it (%v)", err)
		}
		u.kill()
		got = command(t, "", "up", "--data-dir", dataDir, "--quota-backend-bytes", smallQuota, "--exit-after", "1ms")
	}
	for _, want := range []string{"is full", "configmaps 1", "--quota-backend-bytes "} {
		if !strings.Contains(got.stderr, want) {
			t.Errorf("a start did not say %q: %+v", want, got)
		}
	}
	larger := startReady(t, dataDir, "--quota-backend-bytes", "64Mi")
	if err := larger.client().CoreV1().ConfigMaps("default").DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	larger.wantCleanStop(larger.stop())
	again := startReady(t, dataDir, "--quota-backend-bytes", smallQuota)
	again.kubectl("create", "configmap", "kept")
	again.wantCleanStop(again.stop())
}

// fillWithObjects makes objects until the user is told that no more can be
// made, and returns that warning.
func fillWithObjects(t *testing.T, u *up, prefix string) (warned string) {
	t.Helper()
	maps := u.client().CoreV1().ConfigMaps("default")
	made := 0
	until(t, "the warning", func() bool {
		_, err := maps.Create(t.Context(), padding(fmt.Sprint(prefix, made), 'x'), metav1.CreateOptions{})
		// The write that reaches the quota is refused and kept; who tries it again is told that it exists.
		kept := apierrors.IsAlreadyExists(err)
		if err != nil && !kept && !noSpace(err) {
			t.Fatal(err)
		}
		if err == nil || kept {
			made++
		}
		u.mu.Lock()
		defer u.mu.Unlock()
		for _, l := range u.lines {
			if l.Type == "warning" && strings.Contains(l.Message, "nothing can be written") {
				warned = l.Message
			}
		}
		return warned != ""
	})
	return warned
}

// onSmallDisk is a data directory on a disk of its own, which only root can
// make.
func onSmallDisk(t *testing.T) (dataDir, disk string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root to mount a small disk; TestFullOfHistory shows the same without one")
	}
	dataDir = newDataDir(t)
	disk = filepath.Dir(dataDir)
	if err := syscall.Mount("carillon-test", disk, "tmpfs", 0, "size=400m,mode=0700"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dataDir, disk
}

// fillDisk leaves a megabyte or so.
func fillDisk(t *testing.T, path string) {
	t.Helper()
	var stat syscall.Statfs_t
	if err := syscall.Statfs(filepath.Dir(path), &stat); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syscall.Fallocate(int(f.Fd()), 0, 0, int64(stat.Bavail)*stat.Bsize-1<<20); err != nil {
		t.Fatal(err)
	}
}
