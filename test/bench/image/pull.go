// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/carillon-dev/carillon/test/runtimes"
)

// pulls has each side pull and unpack images into a store that is empty.
func (b *bench) pulls(ctx context.Context, sizes string) error {
	for text := range strings.SplitSeq(sizes, ",") {
		megabytes, err := strconv.Atoi(text)
		if err != nil || megabytes <= 0 {
			return fmt.Errorf("%q is not a number of megabytes", text)
		}
		ref, img, err := b.newImage(ctx, megabytes)
		if err != nil {
			return err
		}
		size, err := compressed(img)
		if err != nil {
			return err
		}
		// Nothing is removed in between: for minutes ext4 looks at what was there before it takes a freed inode again.
		dir := filepath.Join(b.dir, text)
		if err := os.Mkdir(dir, 0o711); err != nil {
			return err
		}
		r := results{sides: []string{ours, ctr, podman}}
		for i := range b.repeat {
			for _, side := range turns(r.sides, i) {
				if err := b.pull(ctx, filepath.Join(dir, fmt.Sprint(i, "-", side[:5])), side, ref, &r); err != nil {
					return fmt.Errorf("%s: %w", side, err)
				}
			}
		}
		title := fmt.Sprintf("pull of %d MB (%d MB gzip)", megabytes, size/1_000_000)
		if err := errors.Join(r.print(os.Stdout, title), os.RemoveAll(dir)); err != nil {
			return err
		}
	}
	return nil
}

// pull measures one pull into a directory that does not exist yet.
func (b *bench) pull(ctx context.Context, dir, side, ref string, r *results) (err error) {
	if err := os.Mkdir(dir, 0o711); err != nil {
		return err
	}
	var cmd *exec.Cmd
	var store string
	var others []int
	switch side {
	case ours:
		store = filepath.Join(dir, "images")
		cmd = exec.CommandContext(ctx, b.carillon, "image", "pull", "--quiet", "--image-dir", store, ref)
	case ctr:
		c, err := runtimes.StartContainerd(ctx, filepath.Join(dir, "c"))
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, c.Stop()) }()
		store, cmd, others = c.Root(), c.Pull(ctx, ref), []int{c.PID()}
	case podman:
		p, err := runtimes.NewPodman(filepath.Join(dir, "p"))
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, p.Stop()) }()
		store, cmd = p.Root(), p.Pull(ctx, ref)
	}
	unix.Sync() // nobody pays for what others wrote
	took, used, memory, err := measured(cmd, others)
	if err != nil {
		return err
	}
	began := time.Now()
	unix.Sync()
	durable := took + time.Since(began)
	disk, err := diskUsage(store)
	if err != nil {
		return err
	}
	r.addTime(side, "pulled", took)
	r.addTime(side, "and on disk", durable)
	r.addTime(side, "CPU", used)
	r.add(side, "memory, MB", float64(memory.resident)/1e6)
	r.add(side, "of it in no file, MB", float64(memory.private)/1e6)
	r.add(side, "disk, MB", float64(disk)/1e6)
	return nil
}

// measured runs a command and looks at the processor time and the memory that it takes, together with other processes.
func measured(cmd *exec.Cmd, others []int) (took, used time.Duration, memory usedMemory, err error) {
	var errout bytes.Buffer
	cmd.Stderr = &errout
	before := processorTime(others)
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, 0, usedMemory{}, err
	}
	stop := watch(append(others, cmd.Process.Pid)...)
	err = cmd.Wait()
	took = time.Since(began)
	memory = stop()
	if err != nil {
		return 0, 0, memory, fmt.Errorf("%s: %w\n%s", cmd, err, &errout)
	}
	used = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime() + processorTime(others) - before
	return took, used, memory, nil
}

// diskUsage is what the files below dir take, each once.
func diskUsage(dir string) (n int64, err error) {
	type inode struct{ dev, ino uint64 }
	seen := map[inode]bool{}
	err = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return &os.PathError{Op: "stat", Path: path, Err: err}
		}
		if id := (inode{st.Dev, st.Ino}); !seen[id] {
			seen[id] = true
			n += st.Blocks * 512
		}
		return nil
	})
	return n, err
}
