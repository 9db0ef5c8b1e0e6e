// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package images

import (
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/carillon-dev/carillon/internal/image"
)

// complete offers the names of the images that are here. It makes no store where there is none.
func (c *commands) complete(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	var names []string
	dir := c.Dir
	if dir == "" {
		var err error
		if dir, err = image.DefaultDir(); err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
	}
	if _, err := os.Stat(dir); err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	c.quiet = true
	_ = c.with(cmd.Context(), func(s store) error { // a shell has no place for what is wrong
		all, err := s.List()
		for _, img := range all {
			for _, name := range titles(img) {
				if strings.HasPrefix(name, begun) && !slices.Contains(args, name) {
					names = append(names, name)
				}
			}
		}
		return err
	})
	return names, cobra.ShellCompDirectiveNoFileComp
}
