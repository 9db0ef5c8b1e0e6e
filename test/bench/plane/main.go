// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Command plane runs one control plane without node, scheduler or controllers of Carillon's, so that a
// measured controller is a process of its own. It prints its kubeconfig's path when it is ready and
// stops when its standard input ends.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/carillon-dev/carillon/internal/controlplane"
)

func main() {
	if err := run(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "plane:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dir string) error {
	plane, err := controlplane.New(controlplane.Options{DataDir: dir, NoScheduler: true, Ephemeral: true})
	if err != nil {
		return err
	}
	if err := plane.Start(ctx); err != nil {
		return err
	}
	<-plane.Ready()
	fmt.Println(plane.Kubeconfig())
	_, _ = io.Copy(io.Discard, os.Stdin) // until the harness lets go
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return plane.Close(ctx)
}
