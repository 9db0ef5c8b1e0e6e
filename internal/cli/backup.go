// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import "github.com/spf13/cobra"

func newBackup(Streams) *cobra.Command { return &cobra.Command{Use: "backup", Hidden: true} }
