// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// mountsUnder lists what is mounted at or below dir, the deepest first, from
// the text of /proc/self/mountinfo.
func mountsUnder(mountinfo, dir string) []string {
	var found []string
	for line := range strings.Lines(mountinfo) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		point := unescapeMount(fields[4])
		if point == dir || strings.HasPrefix(point, dir+"/") {
			found = append(found, point)
		}
	}
	// A path sorts before what lies below it, and of two mounts on one path the
	// later line is on top.
	slices.Reverse(found)
	slices.SortStableFunc(found, func(a, b string) int {
		return strings.Count(b, "/") - strings.Count(a, "/")
	})
	return found
}

// unescapeMount undoes the octal escapes (\040 for a space) of mountinfo.
func unescapeMount(text string) string {
	if !strings.Contains(text, "\\") {
		return text
	}
	var plain strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+3 < len(text) && isOctal(text[i+1:i+4]) {
			plain.WriteByte((text[i+1]-'0')<<6 | (text[i+2]-'0')<<3 | (text[i+3] - '0'))
			i += 3
			continue
		}
		plain.WriteByte(text[i])
	}
	return plain.String()
}

func isOctal(digits string) bool {
	return strings.Trim(digits, "01234567") == "" && digits[0] <= '3'
}

// unmountUnder unmounts everything at or below dir, except where keep says so
// (nil keeps nothing). What is in use disappears from the tree at once and ends
// with its last user. A missing right to unmount is not an error: then nothing
// here was mounted by this program.
func unmountUnder(dir string, keep func(path string) bool) error {
	info, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return fmt.Errorf("what is mounted: %w", err)
	}
	var problems []error
	for _, point := range mountsUnder(string(info), dir) {
		if keep != nil && keep(point) {
			continue
		}
		err := unix.Unmount(point, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
		if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EPERM) {
			problems = append(problems, &os.PathError{Op: "unmount", Path: point, Err: err})
		}
	}
	return errors.Join(problems...)
}

// cleanLeftovers removes what a node that was killed left in its data
// directory and that the next one would trip over. Volumes stay mounted: the
// Pods may be running on, and the kubelet finds and takes over the volumes of
// those that are, and unmounts those of the others.
func cleanLeftovers(dataDir string) error {
	volumes := filepath.Join(kubeletDir(dataDir), "pods")
	runtime := runtimeDir(dataDir)
	err := unmountUnder(dataDir, func(path string) bool {
		return strings.HasPrefix(path, volumes+"/") || path == runtime || strings.HasPrefix(path, runtime+"/")
	})
	leftovers := []string{podResourcesSocket(dataDir), runtimeSocket(dataDir)}
	// Only a malformed pattern is an error.
	probes, _ := filepath.Glob(filepath.Join(dataDir, probePattern))
	for _, leftover := range append(leftovers, probes...) {
		if removeErr := os.Remove(leftover); removeErr != nil && !errors.Is(removeErr, fs.ErrNotExist) {
			err = errors.Join(err, removeErr)
		}
	}
	if err != nil {
		return fmt.Errorf("cleaning up after an earlier run in %s: %w", dataDir, err)
	}
	return nil
}
