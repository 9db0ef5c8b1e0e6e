// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package runtimes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Podman is a podman with a storage of its own.
type Podman struct {
	dir     string
	places  []string // that were not there before
	cgroups []string // that were

	files, processes string // limits of containers
}

// The places that podman and its helpers use whatever they are told.
var podmanPlaces = []string{
	"/run/libpod", "/run/runc", "/run/crun", "/run/containers", "/var/lib/cni", "/var/lib/containers", "/var/lib/containers/cache", blobCache,
}

// blobCache is where podman notes which registry has which blob.
const blobCache = "/var/lib/containers/cache/blob-info-cache-v1.boltdb"

const (
	podmanCgroup = "libpod_parent"
	podmanConfig = `[containers]
[network]
network_config_dir = %q
[engine]
cgroup_manager = "cgroupfs"
events_logger = "none"
lock_type = "file"
runtime = "runc"
`
	podmanStorage = `[storage]
driver = "overlay"
graphroot = %[1]q
runroot = %[2]q
`
)

// NewPodman prepares a podman in dir.
func NewPodman(dir string) (*Podman, error) {
	p := &Podman{dir: dir, places: absent(podmanPlaces), cgroups: cgroups(podmanCgroup)}
	var err error
	if p.files, err = limit("nofile", unix.RLIMIT_NOFILE, "/proc/sys/fs/nr_open"); err != nil {
		return nil, err
	}
	if p.processes, err = limit("nproc", unix.RLIMIT_NPROC, "/proc/sys/kernel/pid_max"); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(dir, "tmp"), 0o711); err != nil {
		return nil, err
	}
	for name, text := range map[string]string{"containers.conf": fmt.Sprintf(podmanConfig, filepath.Join(dir, "net")), "storage.conf": fmt.Sprintf(podmanStorage, p.Root(), filepath.Join(dir, "run"))} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// limit is one of this process's limits, or what the kernel allows if that is less.
func limit(name string, resource int, path string) (string, error) {
	var own unix.Rlimit
	if err := unix.Getrlimit(resource, &own); err != nil {
		return "", err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	most, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	return fmt.Sprintf("%s=%d:%d", name, min(own.Cur, most), min(own.Max, most)), err
}

// Root is the directory of its images.
func (p *Podman) Root() string { return filepath.Join(p.dir, "root") }

// Command is a podman command, not started.
func (p *Podman) Command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "podman", append([]string{
		"--root", p.Root(), "--runroot", filepath.Join(p.dir, "run"), "--tmpdir", filepath.Join(p.dir, "state"),
	}, args...)...)
	cmd.Env = append(os.Environ(), "CONTAINERS_CONF="+filepath.Join(p.dir, "containers.conf"), "CONTAINERS_STORAGE_CONF="+filepath.Join(p.dir, "storage.conf"),
		"HOME="+p.dir, "TMPDIR="+filepath.Join(p.dir, "tmp"), "XDG_RUNTIME_DIR="+filepath.Join(p.dir, "run"))
	return cmd
}

// Pull is a command that pulls and unpacks an image.
func (p *Podman) Pull(ctx context.Context, image string) *exec.Cmd {
	return p.Command(ctx, "pull", "--quiet", "--tls-verify=false", image)
}

// RunCommand is a command that runs a container of an image that is here on the machine's network, and removes it. Its
// limits are no higher than this process's, and than what podman lets itself have: those that it gives unasked not
// every root may give.
func (p *Podman) RunCommand(ctx context.Context, image, id string, args ...string) *exec.Cmd {
	return p.Command(ctx, append([]string{
		"run", "--rm", "--pull=never", "--network=host", "--ulimit", p.files, "--ulimit", p.processes, "--name", id, image,
	}, args...)...)
}

// Stop waits for what podman left running, and removes all that it made elsewhere than in its directory.
func (p *Podman) Stop() error {
	if err := processesEnd(p.dir); err != nil { // which clean up behind a container
		return err
	}
	err := errors.Join(removeCgroups(podmanCgroup, p.cgroups), unmountBelow(p.dir))
	if slices.Contains(p.places, blobCache) {
		_ = os.Remove(blobCache) // else its directory stays, too
	}
	removeEmpty(p.places)
	return err
}
