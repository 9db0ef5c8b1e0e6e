// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/carillon-dev/carillon/internal/manager"
)

// AddSyncs adds the flags that say how much is worked on at the same time, under the names that kube-controller-manager
// has for them.
func AddSyncs(flags *pflag.FlagSet, syncs *manager.Syncs) {
	*syncs = manager.DefaultSyncs
	flags.Var((*count)(&syncs.CronJobs), "concurrent-cron-job-syncs", "how many CronJobs of each kind, and how many Timetables, are worked on at the same time")
	flags.Var((*count)(&syncs.Jobs), "concurrent-job-syncs", "how many Jobs are worked on at the same time")
	flags.Var((*count)(&syncs.TTLs), "concurrent-ttl-after-finished-syncs", "how many finished Jobs are deleted at the same time")
}

// count is a flag whose value is a whole number above zero.
type count int

var _ pflag.Value = (*count)(nil)

// Set implements pflag.Value.
func (c *count) Set(text string) error {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 1 {
		return fmt.Errorf("must be a whole number of at least 1")
	}
	*c = count(n)
	return nil
}

// String implements pflag.Value.
func (c *count) String() string { return strconv.Itoa(int(*c)) }

// Type implements pflag.Value.
func (*count) Type() string { return "int" }
