// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shim

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Cgroup are the control groups of a container: one directory with the unified
// hierarchy, one for each controller with the old ones.
type Cgroup struct {
	Dirs []CgroupDir `json:"dirs,omitempty"`
}

// CgroupDir is one directory to make below an existing parent.
type CgroupDir struct {
	Path    string        `json:"path"`
	Unified bool          `json:"unified,omitempty"`
	Files   []CgroupValue `json:"files,omitempty"` // written in this order
}

// CgroupValue is what to write to a file of a cgroup. A value that the kernel
// does not take is left out: a limit that can not be set must not stop a
// container from running.
type CgroupValue struct {
	File  string `json:"file"`
	Value string `json:"value"`
}

// cgroup holds the open directories: they stay usable when the container's
// view of /sys is read-only or hides them.
type cgroup struct {
	parts []cgroupPart
}

type cgroupPart struct {
	parent  *os.Root
	name    string
	dir     *os.Root
	unified bool
	handle  *os.File // the directory itself, for the unified hierarchy
	tasks   *os.File // where a process enters, in the old hierarchies
}

// openCgroup makes the directories and writes the limits. What fails is left
// out; nil works and does nothing.
func openCgroup(spec *Cgroup) *cgroup {
	if spec == nil {
		return nil
	}
	cg := &cgroup{}
	for _, d := range spec.Dirs {
		parent, err := os.OpenRoot(filepath.Dir(d.Path))
		if err != nil {
			continue
		}
		p := cgroupPart{parent: parent, name: filepath.Base(d.Path), unified: d.Unified}
		if err := parent.Mkdir(p.name, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			parent.Close()
			continue
		}
		if p.dir, err = parent.OpenRoot(p.name); err == nil && d.Unified {
			p.handle, err = p.dir.Open(".")
		} else if err == nil {
			p.tasks, err = p.dir.OpenFile("tasks", os.O_WRONLY, 0)
		}
		if err != nil {
			_ = parent.Remove(p.name)
			parent.Close()
			continue
		}
		for _, v := range d.Files {
			_ = writeCgroup(p.dir, v)
		}
		cg.parts = append(cg.parts, p)
	}
	return cg
}

func writeCgroup(dir *os.Root, v CgroupValue) error {
	f, err := dir.OpenFile(v.File, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(v.Value)
	return err
}

// taskFDs are where a new process enters the cgroups of the old kind, by
// writing "0".
func (cg *cgroup) taskFDs() []int {
	if cg == nil {
		return nil
	}
	var fds []int
	for _, p := range cg.parts {
		if p.tasks != nil {
			fds = append(fds, int(p.tasks.Fd()))
		}
	}
	return fds
}

// unifiedFD is the cgroup in which a process is to be made.
func (cg *cgroup) unifiedFD() (int, bool) {
	if cg == nil {
		return 0, false
	}
	for _, p := range cg.parts {
		if p.handle != nil {
			return int(p.handle.Fd()), true
		}
	}
	return 0, false
}

// kill kills everything in the cgroup at once, where the kernel can (5.14).
func (cg *cgroup) kill() {
	if cg == nil {
		return
	}
	for _, p := range cg.parts {
		if p.unified {
			_ = writeCgroup(p.dir, CgroupValue{File: "cgroup.kill", Value: "1"})
		}
	}
}

// oomKilled reports whether the kernel killed a process of the container
// because of its memory limit.
func (cg *cgroup) oomKilled() bool {
	if cg == nil {
		return false
	}
	for _, p := range cg.parts {
		for _, file := range []string{"memory.events", "memory.oom_control"} {
			b, err := p.dir.ReadFile(file)
			if err != nil {
				continue
			}
			for line := range strings.Lines(string(b)) {
				if n, ok := strings.CutPrefix(strings.TrimSpace(line), "oom_kill "); ok {
					if v, err := strconv.Atoi(n); err == nil && v > 0 {
						return true
					}
				}
			}
		}
	}
	return false
}

// remove removes the directories; the kernel needs a moment after the last
// process is gone. Removing twice does nothing.
func (cg *cgroup) remove() {
	if cg == nil {
		return
	}
	for _, p := range cg.parts {
		if p.handle != nil {
			p.handle.Close()
		}
		if p.tasks != nil {
			p.tasks.Close()
		}
		p.dir.Close()
		for range 100 {
			err := p.parent.Remove(p.name)
			if err == nil || errors.Is(err, fs.ErrNotExist) {
				break
			}
			time.Sleep(5 * time.Millisecond) //nolint:forbidigo // half a second at most, and nothing is left to do but this
		}
		p.parent.Close()
	}
	cg.parts = nil
}
