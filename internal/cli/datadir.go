// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"github.com/spf13/pflag"

	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/datadir"
)

func dataDirFlag(flags *pflag.FlagSet, dir *string, text string) {
	flags.StringVar(dir, "data-dir", datadir.Default(), text+" (also $"+datadir.Env+")")
}

func outputFlags(flags *pflag.FlagSet, format *console.Format, quiet *bool) {
	*format = console.Text
	flags.VarP(console.FormatFlag{Format: format}, "output", "o", "how lines look: text, or json (one object a line)")
	flags.BoolVarP(quiet, "quiet", "q", false, "only containers' output, warnings and failures")
}
