// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import "fmt"

// Syncs is how many objects each controller works on at the same time; 0: the default.
type Syncs struct {
	// CronJobs are per kind.
	CronJobs int
	Jobs     int
	TTLs     int
}

// DefaultSyncs are far above those of kube-controller-manager, whose 5 CronJobs at a time make starts late.
var DefaultSyncs = Syncs{CronJobs: 64, Jobs: 32, TTLs: 5}

func (s Syncs) complete() (Syncs, error) {
	for _, n := range []struct {
		what  string
		asked *int
		usual int
	}{
		{"CronJobs", &s.CronJobs, DefaultSyncs.CronJobs},
		{"Jobs", &s.Jobs, DefaultSyncs.Jobs},
		{"finished Jobs", &s.TTLs, DefaultSyncs.TTLs},
	} {
		if *n.asked < 0 {
			return s, fmt.Errorf("manager: %d %s at the same time asked for; use at least 1, or 0 for the default", *n.asked, n.what)
		}
		if *n.asked == 0 {
			*n.asked = n.usual
		}
	}
	return s, nil
}
