// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package images

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/image"
)

func newRemove(c *commands) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "rm NAME…",
		Aliases: []string{"remove"},
		Short:   "Remove images",
		Long: `Removes images, by name or by ID, of which the beginning is enough. An image that has several names loses the one that
is given, and goes with the last. One that a container uses stays, and the command fails.`,
		Example: `  carillon image rm busybox:1.36
  carillon image rm 4f1c2a90be77`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: c.complete,
		RunE:              func(cmd *cobra.Command, args []string) error { return c.remove(cmd.Context(), args) },
	}
	c.outputFlags(cmd.Flags(), "say nothing but what is wrong")
	return cmd
}

func (c *commands) remove(ctx context.Context, refs []string) error {
	return c.with(ctx, func(s store) error {
		return each(ctx, refs, func(ref string) error {
			var missing *image.NotFoundError
			err := s.Remove(ref)
			switch {
			case errors.As(err, &missing):
				return fmt.Errorf("%w: carillon image list shows those that are", err)
			case err != nil:
				return err
			case c.quiet:
				return nil
			case c.format == console.JSON:
				return json.NewEncoder(c.Out).Encode(map[string]string{"removed": ref})
			}
			_, err = fmt.Fprintf(c.Out, "%s  removed\n", console.EscapeControls(ref))
			return err
		})
	})
}
