// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package standalone

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/carillon-dev/carillon/internal/controlplane"
	"github.com/carillon-dev/carillon/internal/node/process"
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
func sweep(ctx context.Context) {
	dirs, _ := filepath.Glob(filepath.Join(os.TempDir(), ephemeralPrefix+"*"))
	for _, dir := range dirs {
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() || time.Since(info.ModTime()) < sweepAge {
			continue
		}
		// Another user's directory cannot be locked: it has mode 0700.
		if lock, err := controlplane.LockDir(dir); err == nil {
			sweepOne(ctx, dir)
			lock.Release()
		}
	}
}

func sweepOne(ctx context.Context, dir string) {
	ctx, cancel := context.WithTimeout(ctx, sweepTimeout)
	defer cancel()
	root := filepath.Join(nodePath(dir), "process")
	if _, err := os.Stat(root); err == nil {
		if runtime, err := process.New(process.Options{RootDir: root}); err == nil && runtime.Start(ctx) == nil {
			err := runtime.StopAll(ctx, 0)
			if err = errors.Join(err, runtime.Close(ctx)); err != nil {
				return // something runs still: the next sweep tries again
			}
		}
	}
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	for _, point := range mountsBelow(string(mounts), dir) {
		_ = unix.Unmount(point, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
	}
	_ = os.RemoveAll(dir) // what stays is for the next sweep
}

// mountsBelow lists what is mounted below dir, the latest first, from the text of /proc/self/mountinfo. Paths with
// characters that are escaped there are left out: there are none below our directories.
func mountsBelow(mountinfo, dir string) []string {
	var points []string
	for line := range strings.Lines(mountinfo) {
		if fields := strings.Fields(line); len(fields) > 4 && strings.HasPrefix(fields[4], dir+"/") {
			points = append(points, fields[4])
		}
	}
	slices.Reverse(points)
	return points
}
