// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import "github.com/spf13/cobra"

func newLogs(Streams) *cobra.Command { return &cobra.Command{Use: "logs", Hidden: true} }
