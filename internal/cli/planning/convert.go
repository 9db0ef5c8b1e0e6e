// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import "github.com/spf13/cobra"

func newConvert(Streams) *cobra.Command { return &cobra.Command{Use: "convert", Hidden: true} }
