// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package images

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/image"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
)

func newList(c *commands) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the images that are here",
		Long: `Lists the images that are here, each with what its layers take on disk. Layers that several images have are kept
once and counted with each of them.`,
		Example: `  carillon image list
  carillon image list -o json | jq -r '.names[]'
  carillon image rm $(carillon image list -q)`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return c.list(cmd.Context()) },
	}
	c.outputFlags(cmd.Flags(), "only the IDs, one a line")
	return cmd
}

func (c *commands) list(ctx context.Context) error {
	return c.with(ctx, func(s store) error {
		all, err := s.List()
		if err != nil {
			return err
		}
		if c.quiet {
			for _, img := range all {
				if _, err := fmt.Fprintln(c.Out, img.ID); err != nil {
					return err
				}
			}
			return nil
		}
		if c.format == console.JSON {
			for _, img := range all {
				if err := c.encode(img); err != nil {
					return err
				}
			}
			return nil
		}
		return c.table(all)
	})
}

func (c *commands) table(all []image.Image) error {
	if len(all) == 0 {
		fmt.Fprintln(c.Err, "no images are here: they come when a Pod names them, or with carillon image pull and carillon image import")
		return nil
	}
	now := c.now()
	w := tabwriter.NewWriter(c.Out, 0, 8, 3, ' ', 0)
	fmt.Fprintln(w, "NAME\tID\tSIZE\tPULLED\tLAST USED")
	for _, img := range all {
		for _, name := range titles(img) {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", console.EscapeControls(name), shortID(img.ID), quantity.Bytes(img.Size), age(img.Pulled, now), age(img.LastUsed, now))
		}
	}
	return w.Flush()
}

// age reads as "2d4h ago".
func age(at, now time.Time) string {
	if at.IsZero() {
		return "never"
	}
	if now.Sub(at) < time.Second {
		return "now"
	}
	return console.FormatDuration(now.Sub(at)) + " ago"
}
