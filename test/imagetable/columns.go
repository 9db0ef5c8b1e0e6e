// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/carillon-dev/carillon/test/runtimes"
)

// columns are the sides of the table. The first is held against the others.
var columns = []string{"Carillon", "ctr run", "podman run"}

// run runs an image from a registry on loopback under each, and returns what each wrote.
func run(ctx context.Context, dir, carillon string, images map[string]v1.Image) (wrote map[string]map[string]string, err error) {
	reg, err := runtimes.StartRegistry(filepath.Join(dir, "registry"))
	if err != nil {
		return nil, err
	}
	defer func() { err = firstOf(err, reg.Stop()) }()
	containerd, err := runtimes.StartContainerd(ctx, filepath.Join(dir, "c"))
	if err != nil {
		return nil, err
	}
	defer func() { err = firstOf(err, containerd.Stop()) }()
	podman, err := runtimes.NewPodman(filepath.Join(dir, "p"))
	if err != nil {
		return nil, err
	}
	defer func() { err = firstOf(err, podman.Stop()) }()
	wrote = map[string]map[string]string{}
	for name, img := range images {
		ref, err := reg.Push(ctx, name+":1", img)
		if err != nil {
			return nil, err
		}
		for _, pull := range []*exec.Cmd{containerd.Pull(ctx, ref), podman.Pull(ctx, ref)} {
			if _, err := runtimes.Output(pull); err != nil {
				return nil, err
			}
		}
		wrote[name] = map[string]string{}
		for column, cmd := range map[string]*exec.Cmd{
			columns[0]: carillonRun(ctx, carillon, dir, ref),
			columns[1]: containerd.RunCommand(ctx, ref, name),
			columns[2]: podman.RunCommand(ctx, ref, name),
		} {
			if wrote[name][column], err = runtimes.Output(cmd); err != nil {
				return nil, err
			}
		}
	}
	return wrote, nil
}

const job = `apiVersion: batch/v1
kind: Job
metadata:
  name: table
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      automountServiceAccountToken: false
      containers:
      - name: main
        image: %s
`

func carillonRun(ctx context.Context, carillon, dir, ref string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, carillon, "run", "-f", "-", "--image-dir", filepath.Join(dir, "images"))
	cmd.Stdin = strings.NewReader(fmt.Sprintf(job, ref))
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	return cmd
}
