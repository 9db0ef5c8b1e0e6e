// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"github.com/spf13/cobra"

	"github.com/carillon-dev/carillon/internal/manager/command"
)

// newManager is carillon-manager as a sub-command.
func newManager() *cobra.Command { return command.New("manager") }
