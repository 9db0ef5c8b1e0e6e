// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package images

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
)

// defaultUnusedFor is two weeks.
const defaultUnusedFor = 14 * 24 * time.Hour

func newPrune(c *commands) *cobra.Command {
	var all bool
	var unusedFor time.Duration
	cmd := &cobra.Command{
		Use:   "prune [--all|--unused-for 336h]",
		Short: "Remove the images that nothing has used for long",
		Long: `Removes the images that no container has used for two weeks, or for as long as --unused-for says, or all that no
container uses now. What is needed again is pulled again. Without this, too, images never take more of the disk
than --image-cache-size of ` + "`carillon up`" + ` and ` + "`carillon run`" + ` allows.`,
		Example: `  carillon image prune
  carillon image prune --unused-for 24h
  carillon image prune --all -o json`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case all && cmd.Flags().Changed("unused-for"):
				return &UsageError{errors.New("--all and --unused-for say two things: give one of them")}
			case unusedFor < 0:
				return &UsageError{fmt.Errorf("--unused-for %s lies in the future", unusedFor)}
			case all:
				unusedFor = 0
			}
			return c.prune(cmd.Context(), unusedFor)
		},
	}
	c.outputFlags(cmd.Flags(), "say nothing but what is wrong")
	cmd.Flags().BoolVar(&all, "all", false, "all that no container uses now")
	cmd.Flags().DurationVar(&unusedFor, "unused-for", defaultUnusedFor, "those that no container has used for this long")
	return cmd
}

func (c *commands) prune(ctx context.Context, unusedFor time.Duration) error {
	return c.with(ctx, func(s store) error {
		before, _, err := s.Usage()
		if err != nil {
			return err
		}
		removed, err := s.Prune(ctx, unusedFor, c.now())
		for _, img := range removed {
			if told := c.tell(img, titles(img)[0], "removed"); told != nil {
				return errors.Join(told, err)
			}
		}
		if err != nil || c.quiet || c.format == console.JSON {
			return err
		}
		after, _, err := s.Usage()
		if err != nil {
			return err
		}
		freed := int64(0)
		if before > after {
			freed = int64(before - after)
		}
		_, err = fmt.Fprintf(c.Out, "%s removed, %s freed, %s in use\n", count(len(removed), "image"), quantity.Bytes(freed), quantity.Bytes(int64(after)))
		return err
	})
}
