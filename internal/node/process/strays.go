// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/carillon-dev/carillon/internal/node/process/shim"
)

// envContainer marks the processes of a container without a PID namespace of
// its own, so that they can be found when their shim was killed.
const envContainer = "CARILLON_CONTAINER_ID"

// killStrays kills processes of a container whose shim is gone. With a PID
// namespace the kernel has done that already.
func (r *Runtime) killStrays(c *container) {
	if c.rec.PIDs {
		return
	}
	for _, dir := range c.rec.Cgroups {
		killCgroup(dir)
	}
	mark := []byte(envContainer + "=" + c.rec.ID + "\x00")
	for range 100 {
		found := false
		tree := shim.ProcessTree()
		for _, children := range tree {
			for _, pid := range children {
				env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
				if err != nil || !bytes.Contains(append([]byte{0}, env...), append([]byte{0}, mark...)) {
					continue
				}
				found = true
				_ = unix.Kill(pid, unix.SIGKILL)
				for _, child := range shim.DescendantsOf(pid, tree) {
					_ = unix.Kill(child, unix.SIGKILL)
				}
			}
		}
		if !found {
			return
		}
		time.Sleep(5 * time.Millisecond) //nolint:forbidigo // until the kernel has taken them away; the end is recorded next
	}
}
