// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package overlay mounts overlays of the layers of an image, however many there are.
//
//	err := overlay.Mount{Lowers: layers, Upper: upper, Work: work, Options: form.MountOptions()}.At(target)
//
// mount(2) has room for one page of options, which is some 200 layers, or some 250 if each is named by an open file.
// Since Linux 6.5 each can be told by itself, up to the 500 that the kernel puts on one another.
//
// The supervisor of a container imports this package, so it imports the standard library and golang.org/x/sys/unix
// alone.
package overlay

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	// page is what mount(2) takes as options, with the end of the text.
	page = 4096 - 1
	// roomForLowers is how much of it the names of lower directories may take; the rest is for all other options.
	roomForLowers = 3000
	// mostLowers is how many lower directories the kernel takes at all.
	mostLowers = 500
)

// Mount is an overlay. Paths may be relative to the working directory.
type Mount struct {
	Lowers      []string // the topmost first
	Upper, Work string   // what is written goes there; empty for an overlay that can only be read
	Options     string   // others, as in mount(8)
	Flags       uintptr  // MS_RDONLY, MS_NODEV, MS_NOSUID
}

// TooManyError says that an image has more layers than this kernel can put on one another.
type TooManyError struct {
	Layers int
	Why    error // nil: more than any kernel takes
}

func (e *TooManyError) Error() string {
	if e.Why == nil {
		return fmt.Sprintf("the image has %d layers, and the kernel takes %d at most: build it with fewer", e.Layers, mostLowers)
	}
	return fmt.Sprintf("the image has %d layers, for which this kernel has no room (%v): use Linux 6.5 or later, or build the image with fewer", e.Layers, e.Why)
}

// Unwrap gives the kernel's refusal.
func (e *TooManyError) Unwrap() error { return e.Why }

// At mounts the overlay at target.
func (m Mount) At(target string) error {
	if len(m.Lowers) > mostLowers {
		return &TooManyError{Layers: len(m.Lowers)}
	}
	names := "lowerdir=" + strings.Join(m.Lowers, ":")
	if len(names) <= roomForLowers && !slices.ContainsFunc(m.Lowers, func(d string) bool { return strings.ContainsAny(d, `,:\`) }) {
		return unix.Mount("overlay", target, "overlay", m.Flags, m.options(names))
	}
	err := m.oneByOne(target)
	if !errors.Is(err, errOneByOne) {
		return err
	}
	return m.byOpenFiles(target, err)
}

// options are all of them in one text.
func (m Mount) options(lowers string) string {
	all := []string{lowers}
	if m.Upper != "" {
		all = append(all, "upperdir="+m.Upper, "workdir="+m.Work)
	}
	if m.Options != "" {
		all = append(all, m.Options)
	}
	return strings.Join(all, ",")
}

// errOneByOne is that the kernel does not take lower directories one by one.
var errOneByOne = errors.New("it takes no lower directories one by one")

// oneByOne tells the kernel each option by itself.
func (m Mount) oneByOne(target string) error {
	fs, err := unix.Fsopen("overlay", unix.FSOPEN_CLOEXEC)
	if errors.Is(err, unix.ENOSYS) {
		return errOneByOne
	}
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fs) }()
	for i, dir := range m.Lowers {
		err := withOpenName(dir, func(name string) error { return unix.FsconfigSetString(fs, "lowerdir+", name) })
		if i == 0 && errors.Is(err, unix.EINVAL) {
			return errOneByOne
		}
		if err != nil {
			return fmt.Errorf("layer %d: %w", i, err)
		}
	}
	for option := range strings.SplitSeq(m.options("source=overlay"), ",") {
		name, value, hasValue := strings.Cut(option, "=")
		if hasValue {
			err = unix.FsconfigSetString(fs, name, value)
		} else {
			err = unix.FsconfigSetFlag(fs, name)
		}
		if err != nil {
			return fmt.Errorf("the option %s: %w", option, err)
		}
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return err
	}
	fd, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, attributes(m.Flags))
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	return unix.MoveMount(fd, "", unix.AT_FDCWD, target, unix.MOVE_MOUNT_F_EMPTY_PATH)
}

// attributes are the attributes of a mount that mean the same as flags of mount(2).
func attributes(flags uintptr) int {
	attr := 0
	for flag, a := range map[uintptr]int{unix.MS_RDONLY: unix.MOUNT_ATTR_RDONLY, unix.MS_NODEV: unix.MOUNT_ATTR_NODEV, unix.MS_NOSUID: unix.MOUNT_ATTR_NOSUID} {
		if flags&flag != 0 {
			attr |= a
		}
	}
	return attr
}

// withOpenName calls f with a name of the directory dir that is short and free of what means something in an option.
func withOpenName(dir string, f func(name string) error) error {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: dir, Err: err}
	}
	defer func() { _ = unix.Close(fd) }()
	return f("/proc/self/fd/" + strconv.Itoa(fd))
}

// byOpenFiles names the lower directories by open files, and says why not when that is too long as well.
func (m Mount) byOpenFiles(target string, why error) error {
	var fds []int
	defer func() {
		for _, fd := range fds {
			_ = unix.Close(fd)
		}
	}()
	var names []string
	for _, dir := range m.Lowers {
		fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return &os.PathError{Op: "open", Path: dir, Err: err}
		}
		fds = append(fds, fd)
		names = append(names, "/proc/self/fd/"+strconv.Itoa(fd))
	}
	options := m.options("lowerdir=" + strings.Join(names, ":"))
	if len(options) > page {
		return &TooManyError{Layers: len(m.Lowers), Why: why}
	}
	return unix.Mount("overlay", target, "overlay", m.Flags, options)
}
