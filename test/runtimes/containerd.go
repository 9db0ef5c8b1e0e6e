// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package runtimes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Containerd is a containerd of our own, without its CRI service.
type Containerd struct {
	dir       string
	namespace string
	daemon    *exec.Cmd
	ended     chan struct{}
	log       *os.File
	places    []string // that were not there before
}

// The places that containerd's shim and runc use whatever they are told.
var containerdPlaces = []string{"/run/containerd", "/run/containerd/s", "/run/containerd/runc", "/run/containerd/fifo", "/run/runc"}

const containerdConfig = `version = 2
root = %[1]q
state = %[2]q
disabled_plugins = ["io.containerd.grpc.v1.cri", "io.containerd.internal.v1.opt", "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs"]
[grpc]
  address = %[3]q
`

// StartContainerd starts one in dir, which should be short: it holds sockets.
func StartContainerd(ctx context.Context, dir string) (_ *Containerd, err error) {
	c := &Containerd{dir: dir, namespace: "carillon-" + strconv.Itoa(os.Getpid()), ended: make(chan struct{}), places: absent(containerdPlaces)}
	if err := os.MkdirAll(dir, 0o711); err != nil {
		return nil, err
	}
	config := filepath.Join(dir, "config.toml")
	text := fmt.Sprintf(containerdConfig, filepath.Join(dir, "root"), filepath.Join(dir, "state"), c.socket())
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	if c.log, err = os.Create(filepath.Join(dir, "log")); err != nil {
		return nil, err
	}
	c.daemon = exec.Command("containerd", "--config", config)
	c.daemon.Stdout, c.daemon.Stderr = c.log, c.log
	c.daemon.SysProcAttr = &unix.SysProcAttr{Pdeathsig: unix.SIGTERM, Setpgid: true}
	started := make(chan error)
	go func() {
		// It gets its signal when the thread ends that started it, which is not to be before this process does.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := c.daemon.Start()
		started <- err
		if err == nil {
			_ = c.daemon.Wait() // its log says why
			close(c.ended)
		}
	}()
	if err := <-started; err != nil {
		c.log.Close()
		return nil, err
	}
	if err := c.ready(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("containerd does not start: %w", err), c.Stop())
	}
	return c, nil
}

func (c *Containerd) socket() string { return filepath.Join(c.dir, "s") }

func (c *Containerd) ready(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	for {
		err := c.Ctr(ctx, "version").Run()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-c.ended:
			text, _ := os.ReadFile(c.log.Name())
			return fmt.Errorf("it ended; its log: %s", text)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// PID is the daemon's.
func (c *Containerd) PID() int { return c.daemon.Process.Pid }

// Root is the directory of its images.
func (c *Containerd) Root() string { return filepath.Join(c.dir, "root") }

// Ctr is a ctr command, not started.
func (c *Containerd) Ctr(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "ctr", append([]string{"--address", c.socket(), "--namespace", c.namespace}, args...)...)
}

// Pull is a command that pulls and unpacks an image.
func (c *Containerd) Pull(ctx context.Context, image string) *exec.Cmd {
	return c.Ctr(ctx, "images", "pull", "--plain-http", image)
}

// RunCommand is a command that runs a container of an image on the machine's network, with the seccomp profile that is
// usual, and removes it.
func (c *Containerd) RunCommand(ctx context.Context, image, id string, args ...string) *exec.Cmd {
	return c.Ctr(ctx, append([]string{"run", "--rm", "--net-host", "--seccomp", "--runc-root", filepath.Join(c.dir, "runc"), image, id}, args...)...)
}

// Stop ends it, and removes all that it made elsewhere than in its directory.
func (c *Containerd) Stop() error {
	err := c.daemon.Process.Signal(unix.SIGTERM)
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	<-c.ended
	c.log.Close()
	err = errors.Join(err, removeCgroups(c.namespace, nil), unmountBelow(c.dir))
	removeEmpty(c.places)
	return err
}

// Output runs a command and returns what it wrote to its standard output; an error has what it wrote to the other.
func Output(cmd *exec.Cmd) (string, error) {
	var out, errout bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errout
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s: %w\n%s", cmd, err, &errout)
	}
	return out.String(), nil
}
