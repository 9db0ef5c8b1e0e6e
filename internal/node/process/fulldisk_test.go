// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/carillon-dev/carillon/internal/node/process/shim"
)

// smallDisk is a rig whose state lies on a disk of its own.
func smallDisk(t *testing.T) *rig {
	t.Helper()
	g := newRig(t)
	g.close()
	disk := t.TempDir()
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=2m,mode=0700"); err != nil {
		if errors.Is(err, unix.EPERM) {
			g.start() // for the cleanup
			t.Skip("needs the right to mount a small disk")
		}
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(disk, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	g.opts.RootDir = filepath.Join(disk, "state")
	g.start()
	t.Cleanup(func() { // before the disk goes
		if g.run != nil {
			g.close()
		}
	})
	return g
}

// fill takes all space of the disk and returns how to give it back.
func (g *rig) fill() (free func()) {
	g.t.Helper()
	path := filepath.Join(filepath.Dir(g.opts.RootDir), "ballast")
	f, err := os.Create(path)
	if err != nil {
		g.t.Fatal(err)
	}
	defer f.Close()
	for _, size := range []int{64 << 10, 512} {
		for err == nil {
			_, err = f.Write(make([]byte, size))
		}
		if !errors.Is(err, unix.ENOSPC) {
			g.t.Fatal(err)
		}
		err = nil
	}
	return func() {
		if err := os.Remove(path); err != nil {
			g.t.Fatal(err)
		}
	}
}

// The outcome of work that was done survives a disk that is full when it ends,
// and a restart then: the record's space was taken before the work began.
func TestFullDisk(t *testing.T) {
	for name, reserved := range map[string]bool{"space was reserved": true, "the filesystem does not keep what was reserved": false} {
		t.Run(name, func(t *testing.T) {
			g := smallDisk(t)
			dir := t.TempDir()
			if err := os.Chmod(dir, 0o777); err != nil {
				t.Fatal(err)
			}
			sb := g.sandbox("p", "")
			id := g.begin(sb, withMount(shell(`echo run >> /x/runs; while [ ! -e /x/go ]; do sleep 0.01; done; echo end >> /x/runs; exit 4`), dir, "/x", false))
			state := g.run.containers[id].dir
			if !reserved {
				if err := os.Remove(filepath.Join(state, "exit.reserved")); err != nil {
					t.Fatal(err)
				}
			}
			free := g.fill()
			if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
			until(t, "the work is done", func() bool {
				b, _ := os.ReadFile(filepath.Join(dir, "runs"))
				return string(b) == "run\nend\n"
			})
			if reserved {
				if st := g.wait(id); st.ExitCode != 4 {
					t.Errorf("on the full disk: %v", st)
				}
			}
			if !reserved {
				// Its shim waits for space, and keeps others from starting it.
				if st := g.status(id); st.State != runtimeapi.ContainerState_CONTAINER_RUNNING {
					t.Errorf("before there is space: %v", st)
				}
			}
			g.close()
			free()
			g.start()
			if st := g.wait(id); st.ExitCode != 4 || st.Reason != shim.ReasonError {
				t.Errorf("%v", st)
			}
			g.close()
			g.start()
			if st := g.status(id); st.ExitCode != 4 {
				t.Errorf("after another restart: %v", st)
			}
			if b, _ := os.ReadFile(filepath.Join(dir, "runs")); string(b) != "run\nend\n" {
				t.Errorf("runs: %q", b)
			}
		})
	}
}

// A container that cannot be started because the disk is full has not been
// started: it runs, once and as the first attempt, when there is space.
func TestFullDiskAtStart(t *testing.T) {
	g := smallDisk(t)
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	config := func() *runtimeapi.ContainerConfig {
		return withMount(shell(`echo run >> /x/runs; exit 4`), dir, "/x", false)
	}
	sb := g.sandbox("p", "")
	id := g.create(sb, config())
	free := g.fill()
	if _, err := g.rt.StartContainer(g.ctx(), &runtimeapi.StartContainerRequest{ContainerId: id}); err == nil {
		t.Error("it was started on a full disk")
	}
	if _, err := os.Stat(filepath.Join(dir, "runs")); err == nil {
		t.Error("it ran")
	}
	free()
	if list := mustList(t, g); len(list) != 0 {
		t.Errorf("what is left: %v", list)
	}
	if st := g.wait(g.begin(sb, config())); st.ExitCode != 4 || st.Metadata.Attempt != 0 {
		t.Errorf("%v", st)
	}
	if b, _ := os.ReadFile(filepath.Join(dir, "runs")); string(b) != "run\n" {
		t.Errorf("runs: %q", b)
	}
}
