// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"fmt"
	"slices"
	"time"
)

// hasResultElsewhere: the sync before this one has given a result to a time, and its record may be on its way: no start
// waits for that (cronjob.md B4). So the time does not start either, before it is clear whether the record arrives. One that
// was told to have failed may have arrived all the same, and the cache lags: the server tells.
func hasResultElsewhere(s *syncState, t dueTime) *startDecision {
	in := s.in
	if !in.decidedElsewhere(t.time) {
		if in.read.owner || !slices.ContainsFunc(in.Carried.inProcess().elsewhere, t.time.Equal) {
			return nil
		}
		return &startDecision{result: startFailed, reads: []ReadRequest{
			in.requestOwner("the time " + stamp(in, t.time) + " was given a result, and the record of that may have arrived")}}
	}
	return &startDecision{result: startFailed, err: fmt.Errorf("the time %s was given a result that is not recorded yet", stamp(s.in, t.time))}
}

// decidedElsewhere tells whether an earlier sync has given the time a result whose record may be on its way.
func (in *Input) decidedElsewhere(t time.Time) bool {
	before := &in.Carried
	decided := before.Cursor != nil && !before.Cursor.Before(t) && !waits(before.Waiting, t)
	return in.Traits.Durable.Has(PartWaiting) && (decided || in.RecordPending && slices.ContainsFunc(before.inProcess().elsewhere, t.Equal))
}

// elsewhereTimes are those that wait now, and were given a result by an earlier sync whose record may be on its way.
func (s *syncState) elsewhereTimes() (times []time.Time) {
	for _, w := range s.outcomes.waiting {
		if s.in.decidedElsewhere(w.Time) {
			times = append(times, w.Time)
		}
	}
	return times
}
