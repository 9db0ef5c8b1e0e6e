// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"slices"
	"time"
)

// RepeatInterval is how often the same trouble is reported while it lasts: twice in the time for which API servers keep
// events (an hour by default), so that whoever looks finds one.
const RepeatInterval = 30 * time.Minute

// recently tells whether what was reported then need not be repeated yet. A clock that was set back a little is no
// reason.
func recently(reported, now time.Time) bool { return now.Sub(reported).Abs() < RepeatInterval }

// lastingEvent is what one sync leaves for the next one about a cause that lasts.
type lastingEvent struct {
	// cause is the reason and the key of the event, and reportedAt is when it was last reported.
	cause      string
	reportedAt time.Time
}

// maxLasting bounds what is carried; a CronJob has one or two.
const maxLasting = 8

// repeatLasting makes the events whose cause lasts be published anew once in RepeatInterval, counted from when each was
// reported: the key of an event then changes. wake is when the next one is to be published, zero if no cause lasts.
// What was reported recently and is not the cause in this sync is carried on: it may come back, as a sync does not
// always get as far.
func repeatLasting(in *Input, events []Event) (now []lastingEvent, wake time.Time) {
	if in.Traits.CausesToldOnce {
		return nil, time.Time{}
	}
	for _, was := range in.Carried.inProcess().lasting {
		if recently(was.reportedAt, in.Now) {
			now = append(now, was)
		}
	}
	for i, e := range events {
		if !e.Lasts {
			continue
		}
		cause := e.Reason + "/" + e.DedupKey
		last := slices.IndexFunc(now, func(l lastingEvent) bool { return l.cause == cause })
		if last < 0 {
			now = append(now, lastingEvent{cause: cause, reportedAt: in.Now.UTC()})
			last = len(now) - 1
		}
		events[i].DedupKey = dedupKey(e.DedupKey, now[last].reportedAt)
		wake = earlier(wake, now[last].reportedAt.Add(RepeatInterval).UTC())
	}
	return now[max(0, len(now)-maxLasting):], wake
}
