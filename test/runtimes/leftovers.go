// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package runtimes

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// absent are the places that do not exist.
func absent(places []string) []string {
	return slices.DeleteFunc(slices.Clone(places), func(place string) bool {
		_, err := os.Lstat(place)
		return err == nil
	})
}

// removeEmpty removes places, deepest first, with what lies in them, as far as that is empty directories and files that
// hold nothing: what somebody else keeps there meanwhile stays.
func removeEmpty(places []string) {
	for _, place := range slices.Backward(places) {
		var dirs []string
		_ = filepath.WalkDir(place, func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return nil //nolint:nilerr // it is not there, or not ours to see
			}
			if entry.IsDir() {
				dirs = append(dirs, path)
			} else if info, err := entry.Info(); err == nil && info.Size() == 0 {
				_ = os.Remove(path) // else its directory stays, too
			}
			return nil
		})
		for _, dir := range slices.Backward(dirs) {
			_ = unix.Rmdir(dir) // when it is empty
		}
	}
}

// processesEnd waits for the end of all processes that name dir in their arguments.
func processesEnd(dir string) error {
	enough := time.After(time.Minute)
	for {
		paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
		if err != nil {
			return err
		}
		running := ""
		for _, path := range paths {
			arguments, _ := os.ReadFile(path) // of one that is gone, nothing
			if strings.Contains(string(arguments), dir+"/") && path != fmt.Sprintf("/proc/%d/cmdline", os.Getpid()) {
				running = path
			}
		}
		if running == "" {
			return nil
		}
		select {
		case <-enough:
			return fmt.Errorf("%s still runs, and uses %s", filepath.Dir(running), dir)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// unmountBelow unmounts what is mounted below dir.
func unmountBelow(dir string) error {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	defer f.Close()
	var points []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); strings.HasPrefix(fields[4], dir+"/") {
			points = append(points, fields[4])
		}
	}
	var errs []error
	for _, point := range slices.Backward(points) {
		if err := unix.Unmount(point, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil {
			errs = append(errs, &os.PathError{Op: "unmount", Path: point, Err: err})
		}
	}
	return errors.Join(errs...)
}

// cgroups are those of this name, of every hierarchy.
func cgroups(name string) []string {
	found, _ := filepath.Glob("/sys/fs/cgroup/*/" + name) // the pattern is right
	if _, err := os.Lstat("/sys/fs/cgroup/" + name); err == nil {
		found = append(found, "/sys/fs/cgroup/"+name)
	}
	return found
}

// removeCgroups removes the cgroups of this name, which have no processes any more, but for those that are known.
func removeCgroups(name string, known []string) error {
	var errs []error
	for _, top := range cgroups(name) {
		if slices.Contains(known, top) {
			continue
		}
		var dirs []string
		_ = filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				dirs = append(dirs, path)
			}
			return nil // one that is gone meanwhile is as well
		})
		for _, dir := range slices.Backward(dirs) {
			if err := unix.Rmdir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, &os.PathError{Op: "remove", Path: dir, Err: err})
			}
		}
	}
	return errors.Join(errs...)
}
