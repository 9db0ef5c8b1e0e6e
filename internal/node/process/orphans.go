// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/carillon-dev/carillon/internal/node/process/shim"
)

// envContainer marks the processes of a container without a PID namespace of
// its own, so that they can be found when their shim was killed.
const envContainer = "CARILLON_CONTAINER_ID"

// killOrphans kills processes of a container whose shim is gone. With a PID
// namespace the kernel has done that already.
func (r *Runtime) killOrphans(c *container) {
	if c.rec.PIDs {
		return
	}
	for _, dir := range c.rec.Cgroups {
		killCgroup(dir)
	}
	marked := func(pid int) bool {
		env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
		return err == nil && slices.Contains(strings.Split(string(env), "\x00"), envContainer+"="+c.rec.ID)
	}
	for range 100 {
		found := false
		tree := shim.ProcessTree()
		for _, pid := range tree.All() {
			if !marked(pid) {
				continue
			}
			found = true
			// What it started may have taken the mark off; it goes first, as
			// long as it can be told by its parent.
			tree.KillBelow(pid)
			shim.SignalIf(pid, unix.SIGKILL, func() bool { return marked(pid) })
		}
		if !found {
			return
		}
		time.Sleep(5 * time.Millisecond) //nolint:forbidigo // until the kernel has taken them away; the end is recorded next
	}
}
