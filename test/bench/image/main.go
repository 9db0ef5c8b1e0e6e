// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Command image measures images beside containerd and podman, in one run on one machine:
//
//	go run ./test/bench/image
//
// Its rounds are pull (an image of 150 MB and one of 500 MB, from a registry on loopback), start (a container of an
// image that is here, beside one on the machine's files and a plain process) and run (a whole command, to its first
// output). The sides take turns; medians are shown, and the lowest and highest in brackets. It needs root, and the
// programs as Debian packages them; "make bench-image" installs them. docs/performance.md holds the results.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/carillon-dev/carillon/test/runtimes"
)

// bench is what the rounds share.
type bench struct {
	dir             string
	carillon, probe string
	registry        *runtimes.Registry
	repeat, starts  int
}

const (
	ours     = "carillon"
	ctr      = "containerd"
	podman   = "podman"
	plain    = "plain process"
	oursHost = "carillon, the machine's files"
	oursReal = "carillon, image"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) (err error) {
	b := bench{}
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	rounds := flags.String("rounds", "pull,start,run", "rounds to run")
	sizes := flags.String("sizes", "150,500", "megabytes of the images of pull")
	flags.IntVar(&b.repeat, "repeat", 5, "times that each side pulls, and runs a whole command")
	flags.IntVar(&b.starts, "starts", 20, "containers that each side starts")
	flags.StringVar(&b.carillon, "carillon", "", "the program, if it is built already")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if missing := runtimes.Missing(); len(missing) > 0 {
		return fmt.Errorf("not installed: %s; make bench-image does it", strings.Join(missing, ", "))
	}
	if b.repeat < 1 || b.starts < 1 {
		return errors.New("-repeat and -starts must be at least 1")
	}
	if b.dir, err = os.MkdirTemp("", "bench-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	if err := b.build(ctx); err != nil {
		return err
	}
	if b.registry, err = runtimes.StartRegistry(filepath.Join(b.dir, "registry")); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.registry.Stop()) }()
	for _, round := range strings.Split(*rounds, ",") {
		var rerr error
		switch round {
		case "pull":
			rerr = b.pulls(ctx, *sizes)
		case "start":
			rerr = b.startContainers(ctx)
		case "run":
			rerr = b.runCommands(ctx)
		default:
			rerr = errors.New("there is no such round")
		}
		if rerr != nil {
			return fmt.Errorf("round %s: %w", round, rerr)
		}
	}
	return nil
}

func (b *bench) build(ctx context.Context) error {
	b.probe = filepath.Join(b.dir, "probe")
	programs := map[string]string{b.probe: "./test/bench/image/probe"}
	if b.carillon == "" {
		b.carillon = filepath.Join(b.dir, "carillon")
		programs[b.carillon] = "./cmd/carillon"
	}
	for path, pkg := range programs {
		fmt.Fprintln(os.Stderr, "building", pkg)
		cmd := exec.CommandContext(ctx, "go", "build", "-o", path, pkg)
		cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // the probe has nothing but itself
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("build %s: %w", pkg, err)
		}
	}
	return nil
}

// newImage makes an image of so many megabytes and puts it into the registry.
func (b *bench) newImage(ctx context.Context, megabytes int) (ref string, img v1.Image, err error) {
	layers := 5
	if megabytes > 300 {
		layers = 3 // few large ones, as images with models or compilers have
	}
	dir := filepath.Join(b.dir, "layers")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", nil, err
	}
	if img, err = newImage(dir, b.probe, int64(megabytes)*1_000_000, layers); err != nil {
		return "", nil, err
	}
	ref, err = b.registry.Push(ctx, fmt.Sprintf("m%d:1", megabytes), img)
	return ref, img, err
}

// turns is the order of the sides in a repetition: each is the first at times.
func turns[T any](sides []T, repetition int) []T {
	n := repetition % len(sides)
	return slices.Concat(sides[n:], sides[:n])
}
