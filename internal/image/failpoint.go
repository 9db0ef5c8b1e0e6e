// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package image

import (
	"os"
	"runtime/debug"
	"strings"

	"golang.org/x/sys/unix"
)

// EnvFailPoint names, for a process of a test, a place on the way of an image into the store. The process that comes
// there ends as if it had been killed. Only test binaries have such places.
const EnvFailPoint = "CARILLON_IMAGE_FAIL_POINT"

// failPoints are the places, in the order in which a pull passes them.
var failPoints = []string{"resolved", "configured", "part", "work", "applied", "described", "synced", "renamed", "published", "dropped", "complete", "recorded"}

// removalFailPoints are those of a removal.
var removalFailPoints = []string{"forgotten", "unpublished"}

var failAt = func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || !strings.HasSuffix(info.Path, ".test") {
		return ""
	}
	return os.Getenv(EnvFailPoint)
}()

func failPoint(name string) {
	if failAt == name {
		kill()
	}
}

// kill ends this process at once.
func kill() {
	_ = unix.Kill(os.Getpid(), unix.SIGKILL)
	select {}
}
