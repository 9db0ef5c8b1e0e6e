// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package images

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/image"
)

func newImport(c *commands) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import FILE|-…",
		Short: "Bring images here from files",
		Long: `Brings all images of a file here, with their names: of what ` + "`docker save`" + ` or ` + "`podman save`" + ` writes, or of an OCI
layout, as a tar file (gzipped or not) or as a directory. - is standard input. It needs no network.

A manifest that names such an image with the tag :latest, or without a tag, wants ` + "`imagePullPolicy: IfNotPresent`" + `:
otherwise the registry is asked whether it has a newer one.`,
		Example: `  docker save report:dev | carillon image import -
  carillon image import images.tar
  ssh build podman save --format oci-archive report:dev | carillon image import -`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.importAll(cmd.Context(), args) },
	}
	c.outputFlags(cmd.Flags(), "say nothing but what is wrong")
	c.AddCacheSize(cmd.Flags())
	return cmd
}

func (c *commands) importAll(ctx context.Context, paths []string) error {
	var stdin int
	for _, path := range paths {
		if path == "-" {
			stdin++
		}
	}
	switch {
	case stdin > 1:
		return &UsageError{errors.New("standard input can be read only once: give - once")}
	case stdin == 1 && console.IsTerminal(c.In):
		return &UsageError{errors.New("standard input is a terminal, not an image: docker save NAME | carillon image import -")}
	}
	return c.with(ctx, func(s store) error {
		return each(ctx, paths, func(path string) error { return c.importOne(ctx, s, path) })
	})
}

func (c *commands) importOne(ctx context.Context, s store, path string) error {
	began := c.now()
	line, progress := c.progress()
	var all []image.Image
	var err error
	if path == "-" {
		all, err = s.Import(ctx, c.In, progress)
	} else {
		all, err = s.ImportPath(ctx, path, progress)
	}
	line.Clear()
	var told []error
	for _, img := range all {
		told = append(told, c.tell(img, titles(img)[0], fmt.Sprintf("imported in %s", console.FormatDuration(c.now().Sub(began)))))
	}
	return errors.Join(append(told, err)...)
}
