// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"strconv"
	"strings"
	"time"
)

// ServedTiming is the timing that was served last, and since when (cronjob.md B2). The zero value is that none is
// known.
type ServedTiming struct {
	// Fingerprint and ZoneName are those of the Timing.
	Fingerprint string
	ZoneName    string
	// Times are its scheduled times; nil when they are not known any more.
	Times Times
	// Since is when it replaced another one; absent when it is the first that we know of.
	Since *time.Time
	// Presumed: nobody saw a change, but there may have been one, until Since at the latest.
	Presumed bool
	// Missed is the latest scheduled time that is known to have been missed and was reported (missed.go); absent when
	// lastScheduleTime is later.
	Missed *time.Time
	// Unreadable is what to say of one that is stored and cannot be read; everything else is zero then.
	Unreadable *Remark
}

// servedFrom is the timing that a policy asks for.
func servedFrom(t Timing) ServedTiming {
	return ServedTiming{Fingerprint: t.Fingerprint, ZoneName: t.ZoneName, Times: t.Times}
}

// known tells whether there was one.
func (t *ServedTiming) known() bool { return t.Fingerprint != "" }

// same tells whether both name the same scheduled times.
func (t *ServedTiming) same(other *ServedTiming) bool { return t.Fingerprint == other.Fingerprint }

// equal tells whether both would be written the same way.
func (t *ServedTiming) equal(other *ServedTiming) bool {
	return t.same(other) && t.Presumed == other.Presumed && sameTime(t.Since, other.Since) && sameTime(t.Missed, other.Missed)
}

// lastYear is the last one that a time of the API can have.
const lastYear = 9999

// writable tells whether the API can hold it.
func (t *ServedTiming) writable() bool {
	for _, at := range []*time.Time{t.Since, t.Missed} {
		if at != nil && (at.Year() > lastYear || at.Year() < 0) {
			return false
		}
	}
	return t.known()
}

// withMissed is the timing with the latest miss that is reported; the zero time is none that is new.
func (t ServedTiming) withMissed(missedUpto time.Time) ServedTiming {
	if !missedUpto.IsZero() {
		t.Missed = new(missedUpto)
	}
	return t
}

// asStored is the timing as it is to be stored beside that status.
func (t ServedTiming) asStored(status *Memory) ServedTiming {
	if t.Missed != nil && status.LastSchedule != nil && !t.Missed.After(*status.LastSchedule) {
		t.Missed = nil
	}
	return t
}

// String tells it in one line.
func (t ServedTiming) String() string {
	var b strings.Builder
	b.WriteString(strconv.Quote(t.Fingerprint))
	if t.Since != nil {
		b.WriteString(" since " + t.Since.UTC().Format(time.RFC3339Nano))
	}
	if t.Presumed {
		b.WriteString(" presumed")
	}
	if t.Missed != nil {
		b.WriteString(" missed " + t.Missed.UTC().Format(time.RFC3339))
	}
	return b.String()
}
