// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/datadir"
	"github.com/carillon-dev/carillon/internal/journal/ended"
	"github.com/carillon-dev/carillon/internal/node/process"
	"github.com/carillon-dev/carillon/internal/node/process/shim"
)

// livingContainers counts the containers of a Carillon that does not run that run all the same, because it was killed.
// Each is held by a process with a lock.
func livingContainers(dir string) (int, error) {
	list, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	alive := 0
	for _, e := range list {
		lock, err := shim.Lock(filepath.Join(dir, e.Name()))
		if err == nil {
			lock.Close()
		} else if errors.Is(err, unix.EWOULDBLOCK) {
			alive++
		}
	}
	return alive, nil
}

// keepEnds keeps for the journal how containers ended while no Carillon ran, because it was killed, and their logs, as
// the next start would: otherwise what has succeeded would be done again after a restore. It returns how many
// containers run still. The caller has the data directory locked.
func keepEnds(dir string, warn func(string)) (alive int, err error) {
	if _, err := os.Lstat(datadir.Containers(dir)); errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	entries, err := ended.Open(datadir.EndedContainers(dir), ended.Options{LogBytes: -1, Entries: -1, Warn: warn})
	if err != nil {
		return 0, err
	}
	defer entries.Close() //nolint:errcheck // what is in it is durable enough, and read by what follows
	left, err := process.TellEnds(datadir.Runtime(dir), datadir.PodLogs(dir), func(e process.ContainerEnd) error {
		err := entries.Add(ended.Container{
			ID: e.ID, Pod: ended.Pod{Namespace: e.PodNamespace, Name: e.PodName, UID: types.UID(e.PodUID), Labels: e.PodLabels},
			Name: e.Container, Restart: int32(e.Restart), Started: e.Started, Ended: e.Ended, ExitCode: int32(e.ExitCode),
			Signal: int32(e.Signal), Reason: e.Reason, Message: e.Message, CPU: e.CPU, MemoryPeak: e.MemoryPeak, OutputBytes: e.OutputBytes,
		}, e.LogPath)
		// Without its log the end is kept all the same, and the user was told.
		if _, rerr := entries.Read(e.ID); rerr == nil {
			return nil
		}
		return err
	})
	if left.Unknown > 0 {
		warn(fmt.Sprintf("%d containers of a Carillon that was killed have ended, and their records cannot be read: after a restore their Pods count as lost", left.Unknown))
	}
	if err != nil {
		return 0, fmt.Errorf("containers ended after Carillon was killed, and how cannot be kept, so that a restore would do their work again; start it once (carillon up --data-dir %s) and make the backup then: %w", dir, err)
	}
	return left.Alive, nil
}
