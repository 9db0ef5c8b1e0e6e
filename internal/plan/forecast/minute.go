// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"cmp"
	"slices"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// Starting is an object that starts runs in some minute.
type Starting struct {
	Object *workload.Scheduled
	// Schedule is its schedule as people are shown it: "0 0 * * * (Europe/Berlin)".
	Schedule string
	// Starts are when its runs are planned to start in that minute, in their order; at least one.
	Starts []time.Time
}

// StartingAt tells who starts in the minute that begins then, those with the most starts first. They have the objects
// that the forecast was made of; a minute outside of it has none. It may be called by several goroutines.
func (f *Forecast) StartingAt(minute time.Time) []Starting {
	if f.fleet == nil || minute.Before(f.From) || !minute.Before(f.Until()) {
		return nil
	}
	var all []Starting
	for _, g := range f.fleet.groups {
		if g.idle {
			continue
		}
		seconds := g.times.between(minute.Unix(), minute.Unix()+60)
		if len(seconds) == 0 {
			continue
		}
		starts := make([]time.Time, len(seconds))
		for n, s := range seconds {
			starts[n] = time.Unix(s, 0).UTC()
		}
		for _, m := range g.members {
			all = append(all, Starting{Object: m.Scheduled, Schedule: m.label, Starts: starts})
		}
	}
	slices.SortFunc(all, func(a, b Starting) int {
		return cmp.Or(cmp.Compare(len(b.Starts), len(a.Starts)), byName(a.Object, b.Object))
	})
	return all
}
