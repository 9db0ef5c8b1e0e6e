// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package othercontroller decides whether a kind of CronJob is served or left to another controller. Two controllers on
// one kind decide the same things twice: the name of a child keeps a scheduled time from being started twice, but each
// of them deletes by a picture that the other one changes. So where another controller is seen at work nothing is
// started and nothing deleted, until it is gone.
//
// That it is gone cannot be seen, only that it does not do what is its to do: a start that is due is not made, and
// nothing else is heard of it either, for as long as TakeoverAfter. While nothing is due, nothing is missed by the
// pause.
package othercontroller

import (
	"strings"
	"time"
)

// TakeoverAfter is how long another controller must have been silent, while a start was due, to count as gone. It is
// longer than an ordinary restart or change of leader, and so a start is at most that late when the other one has
// really gone.
const TakeoverAfter = 2 * time.Minute

// OurFieldManager is the name under which we write, of all versions and replicas.
const OurFieldManager = "carillon-manager"

// people write a status by hand, with these programs; what they do is no controller's work.
var people = []string{"kubectl"}

// Is tells whether a field manager that writes the status of CronJobs is another controller. The names of their
// programs are many, so everything counts that is neither ours nor a person's tool.
func Is(manager string) bool {
	if manager == OurFieldManager {
		return false
	}
	for _, name := range people {
		if manager == name || strings.HasPrefix(manager, name+"-") {
			return false
		}
	}
	return true
}

// Sign is one trace of another controller.
type Sign struct {
	// Manager is the name under which it writes.
	Manager string
	// Object is the namespace and name of the CronJob whose status it wrote.
	Object string
	// Seen is when, by our clock.
	Seen time.Time
}

// Pause says whether we have paused on a kind. The zero Pause is none: the kind is served.
type Pause struct {
	// Paused: another controller works on the kind, and we start and delete nothing of it.
	Paused bool
	// Since is when the other controller was first seen, and Last the latest sign of it.
	Since time.Time
	Last  Sign
}

// AfterSign is the pause after a sign.
func (p Pause) AfterSign(sign Sign) Pause {
	if !p.Paused {
		return Pause{Paused: true, Since: sign.Seen, Last: sign}
	}
	if !sign.Seen.Before(p.Last.Seen) {
		p.Last = sign
	}
	return p
}

// At is the pause at now, when a start that became due at due has not been made; the zero time means that none is due.
// recheck is when to look again at this start, zero for not before something else happens.
func (p Pause) At(now, due time.Time, takeoverAfter time.Duration) (next Pause, recheck time.Time) {
	if !p.Paused || due.IsZero() {
		return p, time.Time{}
	}
	if p.Last.Seen.After(now) { // the clock was set back
		p.Last.Seen = now
	}
	silent := p.Last.Seen
	if due.After(silent) {
		silent = due
	}
	if recheck = silent.Add(takeoverAfter); now.Before(recheck) {
		return p, recheck
	}
	return Pause{}, time.Time{}
}
