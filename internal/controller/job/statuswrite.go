// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"time"

	"github.com/carillon-dev/carillon/internal/job"
)

// When is a Job's status written? Each write carries the whole Job to the server and to everybody who watches, so a
// write that nobody needs now is put off and joined by what happens meanwhile. Who waits for it is its [job.Urgency];
// for how long it may be put off, from when there first was something to write, is said here:
//
//	Immediate  not at all
//	Start      startMaxDefer while the server has more urgent work, else not at all
//	Progress   ProgressDeferPerPod for every pod but the first, up to ProgressDeferMost
//	Lazy       SyncPeriod
//
// status.go does the write or leaves it out, and wakeup.go wakes the Job when a write that was left out is due. What
// was put off begins anew after a crash.

// startMaxDefer is for how long the write may be put off that says that a Job started.
const startMaxDefer = 2 * time.Second

// deferWriteUntil is until when a status write is put off; zero: write it now. unwritten is since when there is something
// to write, zero if only since now; pods is how many pods of the Job the cache shows; busy tells that the server has more urgent work.
func (o Options) deferWriteUntil(u job.Urgency, unwritten, now time.Time, pods int, busy bool) (until time.Time) {
	var most time.Duration
	switch {
	case u == job.UrgencyStart && busy:
		most = startMaxDefer
	case u == job.UrgencyProgress:
		most = min(time.Duration(max(0, pods-1))*o.ProgressDeferPerPod, o.ProgressDeferMost)
	case u == job.UrgencyLazy:
		most = o.SyncPeriod
	}
	if unwritten.IsZero() {
		unwritten = now
	}
	if until = unwritten.Add(most); most == 0 || !until.After(now) {
		return time.Time{}
	}
	return until
}
