// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package mountnamespace

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/carillon-dev/carillon/internal/datadir"
	"github.com/carillon-dev/carillon/internal/node/process/shim"
	"github.com/carillon-dev/carillon/internal/privatedir"
)

// findHolder looks for a supervisor of a container that still runs from an earlier life on the data directory, and
// returns the mount namespace that it holds for that life; nil if there is none. Every supervisor holds a file of it
// open, so the namespace lives exactly as long as the program or a container that may need it.
//
// The directory's records are believed only if nobody else can have written them.
func findHolder(dir string) *os.File {
	dir, err := privatedir.Resolve(dir)
	if err != nil {
		return nil // the start says so
	}
	opened, err := privatedir.Open(dir)
	if err != nil {
		return nil // likewise, or it is new
	}
	opened.Close()
	here, err := current()
	if err != nil {
		return nil
	}
	containers, err := os.ReadDir(datadir.Containers(dir))
	if err != nil {
		return nil
	}
	for _, container := range containers {
		of := filepath.Join(datadir.Containers(dir), container.Name())
		id, err := shim.ReadIdentity(of)
		if err != nil || !id.Supervises(of) {
			continue
		}
		// Asked again: in between another process can have got the same ID.
		if ns := heldBy(id.PID, here); ns != nil && id.Supervises(of) {
			return ns
		} else if ns != nil {
			ns.Close()
		}
	}
	return nil
}

// heldBy opens a mount namespace that a process of root holds open and that is not here.
func heldBy(pid int, here string) *os.File {
	proc := "/proc/" + strconv.Itoa(pid)
	info, err := os.Stat(proc)
	if err != nil {
		return nil
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || st.Uid != 0 {
		return nil
	}
	files, err := os.ReadDir(proc + "/fd")
	if err != nil {
		return nil
	}
	for _, file := range files {
		path := filepath.Join(proc, "fd", file.Name())
		if to, err := os.Readlink(path); err != nil || to == here || !strings.HasPrefix(to, "mnt:[") {
			continue
		}
		if ns, err := os.Open(path); err == nil {
			return ns
		}
	}
	return nil
}
