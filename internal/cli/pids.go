// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/carillon-dev/carillon/internal/standalone"
)

// pidsMax is a flag: how many processes and threads a container may have at once, -1 for any number.
type pidsMax int64

var _ pflag.Value = (*pidsMax)(nil)

// pidsMaxFlag adds the flag of that name.
func pidsMaxFlag(flags *pflag.FlagSet, value *pidsMax) {
	*value = standalone.DefaultPIDsMax
	flags.Var(value, "pids-max", "how many processes and threads each container may have at once, -1 for any number; needs cgroups that can be written (root, or systemd's Delegate=yes)")
}

// Set implements pflag.Value.
func (p *pidsMax) Set(text string) error {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 1 && n != -1 {
		return errors.New("must be a whole number of at least 1, or -1 for any number")
	}
	*p = pidsMax(n)
	return nil
}

// String implements pflag.Value.
func (p *pidsMax) String() string { return strconv.FormatInt(int64(*p), 10) }

// Type implements pflag.Value.
func (p *pidsMax) Type() string { return "int" }
