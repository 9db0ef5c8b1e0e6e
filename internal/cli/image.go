// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"github.com/spf13/cobra"

	"github.com/carillon-dev/carillon/internal/cli/images"
	"github.com/carillon-dev/carillon/internal/client/exitcode"
)

// newImage is the command image, whose commands end as all others do when they are interrupted.
func newImage(streams Streams) *cobra.Command {
	root := images.New(images.Streams(streams))
	for _, cmd := range root.Commands() {
		run := cmd.RunE
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			err := run(cmd, args)
			if err != nil && cmd.Context().Err() != nil {
				return &exitcode.Error{Code: exitcode.Interrupted}
			}
			return err
		}
	}
	return root
}
