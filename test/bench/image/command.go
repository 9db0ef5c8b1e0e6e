// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/test/runtimes"
)

const jobManifest = `apiVersion: batch/v1
kind: Job
metadata:
  name: bench
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: main
        image: %s
        command: [%q]
`

// runCommands measures whole commands that run a container of an image that is here, to its first output and to their
// end.
func (b *bench) runCommands(ctx context.Context) (err error) {
	ref, _, err := b.newImage(ctx, 150)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(b.dir, "run-")
	if err != nil {
		return err
	}
	c, err := runtimes.StartContainerd(ctx, filepath.Join(dir, "c"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	p, err := runtimes.NewPodman(filepath.Join(dir, "p"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Stop()) }()
	images := filepath.Join(dir, "images")
	pulls := []*exec.Cmd{c.Pull(ctx, ref), p.Pull(ctx, ref), exec.CommandContext(ctx, b.carillon, "image", "pull", "--quiet", "--image-dir", images, ref)}
	for _, cmd := range pulls {
		if _, err := runtimes.Output(cmd); err != nil {
			return err
		}
	}
	own := func(image, program string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, b.carillon, "run", "-f", "-", "--image-dir", images)
		cmd.Stdin = strings.NewReader(fmt.Sprintf(jobManifest, image, program))
		cmd.Env = append(os.Environ(), "TMPDIR="+dir)
		return cmd
	}
	type side struct {
		name    string
		command func(n int) *exec.Cmd
	}
	sides := []side{
		{oursReal, func(int) *exec.Cmd { return own(ref, probePath) }},
		{oursHost, func(int) *exec.Cmd { return own("host", b.probe) }},
		{ctr, func(n int) *exec.Cmd { return c.RunCommand(ctx, ref, "c"+strconv.Itoa(n)) }},
		{podman, func(n int) *exec.Cmd { return p.RunCommand(ctx, ref, "c"+strconv.Itoa(n)) }},
	}
	r := results{}
	for _, s := range sides {
		r.sides = append(r.sides, s.name)
	}
	for i := range b.repeat + 1 {
		for _, s := range turns(sides, i) {
			first, end, err := firstOutput(s.command(i))
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			if i > 0 { // the first of each finds nothing in the machine's caches
				r.addTime(s.name, "first output", first)
				r.addTime(s.name, "end", end)
			}
		}
	}
	return r.print(os.Stdout, "a whole command")
}

// firstOutput runs a command.
func firstOutput(cmd *exec.Cmd) (first, end time.Duration, err error) {
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, 0, err
	}
	var errout bytes.Buffer
	cmd.Stderr = &errout
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, 0, err
	}
	_, rerr := io.ReadFull(out, make([]byte, 1))
	first = time.Since(began)
	_, _ = io.Copy(io.Discard, out) // what it says does not matter
	if err := errors.Join(cmd.Wait(), rerr); err != nil {
		return 0, 0, fmt.Errorf("%s: %w\n%s", cmd, err, &errout)
	}
	return first, time.Since(began), nil
}
