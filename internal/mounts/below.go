// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package mounts

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Below lists what is mounted at or below dir, in an order in which it can be unmounted: the deepest first, and of
// several on one point the topmost first. A point appears as often as something is mounted there.
func Below(dir string) ([]string, error) {
	all, err := Table()
	if err != nil {
		return nil, fmt.Errorf("what is mounted: %w", err)
	}
	return below(all, dir), nil
}

func below(all []Mount, dir string) []string {
	var points []string
	for _, m := range all {
		if Under(m.Point, dir) {
			points = append(points, m.Point)
		}
	}
	slices.Reverse(points)
	slices.SortStableFunc(points, func(a, b string) int { return strings.Count(b, "/") - strings.Count(a, "/") })
	return points
}

// UnmountBelow unmounts everything at or below dir, except where keep says so (nil keeps nothing). What is in use
// disappears from the tree at once and ends with its last user. A missing right to unmount is not an error: then
// nothing here was mounted by this program. Whoever wants to remove dir has to look again.
func UnmountBelow(dir string, keep func(point string) bool) error {
	points, err := Below(dir)
	if err != nil {
		return err
	}
	var problems []error
	for _, point := range points {
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
