// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import "time"

// When is a failed pod replaced? After a delay that doubles with every failure in a row, which ends at the first
// success. The failures of all pods of the Job count together and [syncState.createPods] waits; with
// backoffLimitPerIndex each index has a delay of its own ([syncState.readyIndexes]).

// Backoff is what the delay is computed from (job.md 5.2). The API has no place for it: a restart begins anew, with the
// failed pods that are not accounted for yet. (With a backoff limit per index the pods carry the counts.)
type Backoff struct {
	// Failures since the last success.
	Failures int
	// LastFailure is when the latest of them happened; zero when there is none.
	LastFailure time.Time
}

// delayFor is the wait before the next try after n failures in a row: base, doubled each time, at most limit; none for
// n = 0.
func delayFor(n int, base, limit time.Duration) time.Duration {
	if n <= 0 {
		return 0
	}
	d := base
	for i := 1; i < n; i++ {
		if d >= limit/2 {
			return limit
		}
		d *= 2
	}
	return min(d, limit)
}

// remaining is what is left of the delay at now, never more than the delay.
func (b Backoff) remaining(now time.Time, o Options) time.Duration {
	if b.LastFailure.IsZero() {
		return 0
	}
	return max(0, delayFor(b.Failures, o.BackoffBase, o.BackoffMax)-max(0, now.Sub(b.LastFailure)))
}

// after is the back-off with the finish times of newly finished pods worked in (job.md 5.2): a success wipes out the
// failures up to and including its own time.
//
// Finish times are those of the nodes' clocks. Their order is believed; but no failure is later than now, or a node
// whose clock is ahead would hold up the replacement until its time has come.
func (b Backoff) after(successes, failures []time.Time, now time.Time) Backoff {
	if len(successes) > 0 {
		b = Backoff{}
	}
	success := latest(successes)
	for _, t := range failures {
		if len(successes) > 0 && !t.After(success) {
			continue
		}
		b.Failures++
		if t.After(b.LastFailure) {
			b.LastFailure = t
		}
	}
	if b.LastFailure.After(now) {
		b.LastFailure = now
	}
	return b
}

func latest(times []time.Time) (last time.Time) {
	for _, t := range times {
		if t.After(last) {
			last = t
		}
	}
	return last
}
