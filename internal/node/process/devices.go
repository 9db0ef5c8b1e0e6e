// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/carillon-dev/carillon/internal/node/process/shim"
)

// basicDevices are what every container may open: null, zero, full, random,
// urandom, tty and pseudo terminals. Making a node is no harm, opening it is.
var basicDevices = []string{
	"c *:* m", "b *:* m",
	"c 1:3 rwm", "c 1:5 rwm", "c 1:7 rwm", "c 1:8 rwm", "c 1:9 rwm", "c 5:0 rwm", "c 5:2 rwm", "c 136:* rwm",
}

// maxDevices bounds how many devices below one path are allowed one by one.
const maxDevices = 256

// allowedDevices are the devices that a container may open, in the words of
// the devices controller: the basic ones, the accelerators that its /dev shows
// and those that its volumes bring. It is nil when all are allowed.
func allowedDevices(spec *shim.Spec) []string {
	if spec.Privileged || spec.Root != shim.RootOverlay && spec.Root != shim.RootImage {
		return nil
	}
	allowed := basicDevices[:len(basicDevices):len(basicDevices)]
	for _, pattern := range shim.Accelerators {
		found, _ := filepath.Glob("/dev/" + pattern) // the patterns are well formed
		for _, path := range found {
			allowed = append(allowed, devicesBelow(path)...)
		}
	}
	for _, m := range spec.Mounts {
		path, err := filepath.EvalSymlinks(m.Source)
		if err != nil {
			continue // mounting it will say so
		}
		info, err := os.Stat(path)
		if err == nil && (path == "/dev" || strings.HasPrefix(path, "/dev/") || info.Mode()&os.ModeDevice != 0) {
			allowed = append(allowed, devicesBelow(path)...)
		}
	}
	return allowed
}

// devicesBelow allows the device at path, or those in the directory.
func devicesBelow(path string) []string {
	var allowed []string
	_ = filepath.WalkDir(path, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // what can not be read is not allowed
		}
		if e.Type()&os.ModeDevice == 0 {
			return nil
		}
		var st unix.Stat_t
		if unix.Lstat(path, &st) != nil {
			return nil
		}
		kind := "b"
		if st.Mode&unix.S_IFMT == unix.S_IFCHR {
			kind = "c"
		}
		allowed = append(allowed, fmt.Sprintf("%s %d:%d rwm", kind, unix.Major(st.Rdev), unix.Minor(st.Rdev)))
		if len(allowed) == maxDevices {
			return fs.SkipAll
		}
		return nil
	})
	return allowed
}

// deviceValues denies all devices and then allows some.
func deviceValues(allowed []string) []shim.CgroupValue {
	if allowed == nil {
		return nil
	}
	values := []shim.CgroupValue{{File: "devices.deny", Value: "a"}}
	for _, a := range allowed {
		values = append(values, shim.CgroupValue{File: "devices.allow", Value: a})
	}
	return values
}
