// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fence keeps two leaders from working at the same time: a request that starts or ends work is sent only while
// no other process can lead, and never on a decision that has become old (docs/contract/timetable.md, F1).
//
// A process can stand still between any two instructions (SIGSTOP, a hypervisor, a laptop's lid) and knows nothing of
// it when it goes on. So the question is asked as late as possible, when the request is about to go out, and by a clock
// that counts sleep:
//
//	boottime.go    the clock
//	decision.go    what a request says of the decision that it comes from, in its context
//	fence.go       the rule
//	transport.go   where it is asked: in the transport of all of a manager's clients, so that no caller can forget it
//	lock.go        how the renewals of the lease are seen, and when the lease may be given up
//	refusal.go     what callers are told
//
// What it protects, the arithmetic and what is assumed: docs/adr/0013.
package fence

import (
	"context"
	"sync"
	"time"
)

// The lease, for client-go's leader election: who leads gives up RenewDeadline after the last renewal, and others wait
// for LeaseDuration after they have last seen one.
const (
	LeaseDuration = 15 * time.Second
	RenewDeadline = 10 * time.Second
	RetryPeriod   = 2 * time.Second
)

// The rule. The last request of a leader is sent MaxRenewalAge after the last renewal at most, and has ended
// RequestTimeout later: before LeaseDuration has passed, which is when another one may begin.
const (
	// MaxDecisionAge is how old the decision behind a request may be.
	MaxDecisionAge = 10 * time.Second
	// MaxRenewalAge is how long ago the lease may have been renewed.
	MaxRenewalAge = 5 * time.Second
	// RequestTimeout bounds the request, from the check to the answer. It is that of processes that hold a lease.
	RequestTimeout = 5 * time.Second
)

// Fence is the rule for the clients of one manager. All methods may be called by several goroutines at once.
type Fence struct {
	now func() Instant

	mu sync.Mutex
	// elected: the process works only while it holds a lease. renewed is when it was last renewed, if it is held.
	elected, held bool
	renewed       Instant
	// underWay is how many requests wait for their answer. sent is when the last request was sent, and unanswered when
	// the last of those was to which no answer came; each zero if there is none.
	underWay         int
	sent, unanswered Instant
}

// New returns a Fence that asks for the age of decisions only, until it is given the lock of a lease (Lock). now tells
// the time; Now in production.
func New(now func() Instant) *Fence { return &Fence{now: now} }

// check tells why a request must not be sent now; nil if it may. What may be sent counts as sent.
func (f *Fence) check(d decision) *Refusal {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	switch age := now.Sub(d.at); {
	case !d.made:
		return &Refusal{Reason: Undecided}
	case !d.final && age > MaxDecisionAge:
		return &Refusal{Reason: DecisionTooOld, Age: age}
	}
	if !f.elected {
		return nil
	}
	if !f.held {
		return &Refusal{Reason: LeaseNotHeld}
	}
	if age := now.Sub(f.renewed); age > MaxRenewalAge {
		return &Refusal{Reason: LeaseNotRenewed, Age: age}
	}
	f.sent = now
	return nil
}

// timeout bounds a request; 0: not at all.
func (f *Fence) timeout() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.elected {
		return 0
	}
	return RequestTimeout
}

// begin counts a request that waits for its answer. The function that it returns is called when there is an answer, or
// there will be none.
func (f *Fence) begin() (end func(answered bool)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.underWay++
	return func(answered bool) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.underWay--
		if !answered {
			f.unanswered = f.sent
		}
	}
}

// renew notes a renewal of the lease that was begun at an instant and has succeeded.
func (f *Fence) renew(begun Instant) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held, f.renewed = true, begun
}

// lose notes that the lease is held by another process, or is about to be given up.
func (f *Fence) lose() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held = false
}

// settled tells how long it takes until nothing that was sent can have an effect any more; 0: nothing can.
func (f *Fence) settled() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	last := f.unanswered
	if f.underWay > 0 {
		last = f.sent
	}
	if last == 0 {
		return 0
	}
	return max(0, RequestTimeout-f.now().Sub(last))
}

// settle waits until nothing that was sent can have an effect any more.
func (f *Fence) settle(ctx context.Context) error {
	for {
		left := f.settled()
		if left == 0 {
			return nil
		}
		timer := time.NewTimer(min(left, settleRecheck))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

// settleRecheck is how often settle looks again: requests may be answered meanwhile.
const settleRecheck = 50 * time.Millisecond
