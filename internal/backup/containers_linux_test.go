// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/carillon-dev/carillon/internal/controlplane"
	"github.com/carillon-dev/carillon/internal/datadir"
	"github.com/carillon-dev/carillon/internal/journal/ended"
	"github.com/carillon-dev/carillon/internal/node/process/shim"
)

// What ended after Carillon was killed has ended in the backup, with its log, and what lives still is counted.
func TestBackupAfterKill(t *testing.T) {
	dir := newState(t)
	const over, alive, sandbox = "00000000000000000000000000000001", "00000000000000000000000000000002", "000000000000000000000000000000ff"
	log := filepath.Join(datadir.PodLogs(dir), "default_ran_uid-ran", "c", "0.log")
	if err := errors.Join(os.MkdirAll(filepath.Dir(log), 0o700), os.WriteFile(log, []byte("2026-05-04T11:59:59Z stdout F done\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	pod := map[string]any{"id": sandbox, "config": json.RawMessage(`{"metadata":{"name":"ran","namespace":"default","uid":"uid-ran"}}`)}
	for _, id := range []string{over, alive} {
		path := filepath.Join(datadir.Containers(dir), id)
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
		record := map[string]any{"id": id, "sandbox": sandbox, "logPath": log, "config": json.RawMessage(`{"metadata":{"name":"c"}}`), "sandboxRecord": pod}
		if err := shim.WriteRecord(path, shim.RecordFile, record); err != nil {
			t.Fatal(err)
		}
	}
	if err := shim.WriteExit(filepath.Join(datadir.Containers(dir), over), shim.Exit{StartedAt: now.UnixNano() - 5, FinishedAt: now.UnixNano(), Reason: shim.ReasonCompleted}); err != nil {
		t.Fatal(err)
	}
	lock, err := shim.Lock(filepath.Join(datadir.Containers(dir), alive))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	file, other := filepath.Join(filepath.Dir(dir), "b"), filepath.Join(filepath.Dir(dir), "other")
	if made := create(t, dir, file); made.Alive != 1 || made.EndedContainers != 2 {
		t.Errorf("%+v", made)
	}
	if made, err := Create(t.Context(), CreateOptions{DataDir: dir, File: file, Force: true}); err != nil || made.EndedContainers != 2 {
		t.Errorf("once more: %+v, %v", made, err)
	}
	done, err := Restore(t.Context(), RestoreOptions{DataDir: other, File: file, Now: clock})
	if err != nil || done.Lost != 0 || done.Ended != 2 {
		t.Errorf("%+v, %v", done, err)
	}
	inStore(t, other, func(s *controlplane.OpenStore) {
		if got := stored[*corev1.Pod](t, s, "pods/default/ran"); got.Status.Phase != corev1.PodSucceeded {
			t.Errorf("what succeeded would be done again: %+v", got.Status)
		}
	})
	entries, err := ended.Open(datadir.EndedContainers(other), ended.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer entries.Close()
	if c, err := entries.Read(over); err != nil || len(c.Logs) != 1 {
		t.Errorf("%+v, %v", c, err)
	}
}
