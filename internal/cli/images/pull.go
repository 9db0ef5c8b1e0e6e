// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package images

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/image"
)

func newPull(c *commands) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "pull NAME…",
		Short: "Bring images here from their registries",
		Long: `Pulls images, or makes those that are here as new as the registry has them. What is here already is not
downloaded again, and a download that was cut off goes on where it ended.

A name is one of Docker Hub unless it begins with the host of a registry (quay.io/…, localhost:5000/…); without a
tag it is :latest. Credentials are those of ` + "`docker login`" + ` or ` + "`podman login`" + `.`,
		Example: `  carillon image pull busybox
  carillon image pull quay.io/me/report:1.4 registry.example:5000/tool@sha256:…
  carillon image pull busybox --registry-mirror https://mirror.example`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: c.complete,
		RunE:              func(cmd *cobra.Command, args []string) error { return c.pull(cmd.Context(), args) },
	}
	c.outputFlags(cmd.Flags(), "say nothing but what is wrong")
	c.AddCacheSize(cmd.Flags())
	c.AddMirrors(cmd.Flags())
	return cmd
}

func (c *commands) pull(ctx context.Context, args []string) error {
	names := make(map[string]image.Name, len(args))
	for _, text := range args {
		if image.IsHost(text) {
			return &UsageError{fmt.Errorf("%s is not an image: in a manifest it stands for this machine's own files, so there is nothing to pull (an image of that name is docker.io/library/%[1]s)", text)}
		}
		name, err := image.ParseName(text)
		if err != nil {
			return &UsageError{err}
		}
		names[text] = name
	}
	return c.with(ctx, func(s store) error {
		return each(ctx, args, func(text string) error { return c.pullOne(ctx, s, names[text]) })
	})
}

func (c *commands) pullOne(ctx context.Context, s store, name image.Name) error {
	before, known, err := s.Find(name.String())
	if err != nil {
		return err
	}
	began := c.now()
	line, progress := c.progress()
	img, err := s.Pull(ctx, name, nil, progress)
	line.Clear()
	if err != nil {
		return withCure(err)
	}
	verb := fmt.Sprintf("pulled in %s", console.FormatDuration(c.now().Sub(began)))
	if known && before.ID == img.ID {
		verb = "up to date"
	}
	return c.tell(img, name.Short(), verb)
}
