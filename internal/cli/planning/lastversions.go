// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"cmp"
	"fmt"

	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// lastVersions leaves out objects of which there is a later version among them, as a server would: the one that is
// applied last stays. It tells each that is left out.
func lastVersions(objects []*workload.Scheduled, tell func(string)) []*workload.Scheduled {
	identityOf := func(s *workload.Scheduled) identity {
		return identity{s.Kind.Info().Owner, cmp.Or(s.Owner.Namespace, s.Content.GetNamespace()), s.Content.GetName()}
	}
	last := map[identity]*workload.Scheduled{}
	for _, s := range objects {
		last[identityOf(s)] = s
	}
	var kept []*workload.Scheduled
	for _, s := range objects {
		id := identityOf(s)
		if later := last[id]; later != s && id.name != "" {
			tell(fmt.Sprintf("%s is left out: %s is the same object, and comes later.", s, later))
			continue
		}
		kept = append(kept, s)
	}
	return kept
}
