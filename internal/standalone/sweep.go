// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package standalone

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/controlplane"
	"github.com/carillon-dev/carillon/internal/datadir"
	"github.com/carillon-dev/carillon/internal/node/process"
	"github.com/carillon-dev/carillon/internal/privatedir"
)

const (
	// sweepAge is how old a throw-away directory without a holder must be to count as abandoned: a younger one may not
	// be locked yet.
	sweepAge = time.Minute
	// sweepTimeout bounds the end of one abandoned plane's containers.
	sweepTimeout = 5 * time.Second
)

// sweep ends and removes what throw-away planes of this user left that were killed before they could do so themselves:
// their containers run on. It is a service to the machine and not to this plane, so nothing that goes wrong stops a
// start.
//
// Anybody can make a directory with such a name. Only those are touched that belong to the effective user with mode
// 0700, so that nobody else, and no container of another, can have put anything in.
func sweep(ctx context.Context) {
	temp, err := tempDir()
	if err != nil {
		return // the start says so
	}
	entries, err := os.ReadDir(temp)
	if err != nil {
		return // likewise
	}
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), ephemeralPrefix) {
			continue
		}
		path := filepath.Join(temp, entry.Name())
		dir, err := privatedir.Open(path)
		if err != nil {
			continue
		}
		if oldEnough(dir) {
			if lock, err := controlplane.LockOpen(dir); err == nil {
				sweepOne(ctx, path)
				lock.Release()
			}
		}
		dir.Close()
	}
}

// oldEnough reports whether a directory is old enough to have been locked by its maker.
func oldEnough(dir *privatedir.Dir) bool {
	info, err := dir.Stat()
	return err == nil && time.Since(info.ModTime()) >= sweepAge
}

func sweepOne(ctx context.Context, dir string) {
	ctx, cancel := context.WithTimeout(ctx, sweepTimeout)
	defer cancel()
	root := datadir.Runtime(dir)
	if _, err := os.Lstat(root); err == nil {
		if err := endContainers(ctx, root, datadir.PodLogs(dir)); err != nil {
			return // something may run still: the next sweep tries again
		}
	}
	_ = removeEphemeral(dir) // what stays is for the next sweep
}

// endContainers ends what runs by the state in root.
func endContainers(ctx context.Context, root, logs string) error {
	runtime, err := process.New(process.Options{RootDir: root, LogDir: logs})
	if err != nil {
		return err
	}
	if err := runtime.Start(ctx); err != nil {
		return err
	}
	err = runtime.StopAll(ctx, 0)
	return errors.Join(err, runtime.Close(ctx))
}
