// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"
)

// An Item is a named schedule in the extended language.
type Item struct {
	// Name is what errors call it. The values of H depend on it; "" is a name, too.
	Name string
	// Cron is the text.
	Cron string
}

// Options say how the text of an Item is read. The zero Options are UTC, DayRuleEither, GapShift and OverlapFirst.
type Options struct {
	// Zone is where the wall clock hangs; nil means UTC.
	Zone *time.Location
	// DayRule says which days match when both day fields are restricted.
	DayRule DayRule
	// DST says where times go that the clock skips or shows twice.
	DST DST
	// Hash chooses the values of H; the zero Hash is one like any other.
	Hash Hash
}

// DayRule says which days match when neither day of month nor day of week is starred.
type DayRule string

// The values of DayRule; the empty one means DayRuleEither.
const (
	DayRuleEither DayRule = "Either" // a day that matches one of the two fields
	DayRuleBoth   DayRule = "Both"   // a day that matches both
)

// DST says where the times of an item go that the wall clock skips or shows twice. It holds for items that name
// hours: an hour field with an item that begins with "*" or "?" flows with the clock instead, and each instant whose
// wall clock matches is a time. The empty value means GapShift and OverlapFirst.
type DST struct {
	Gap     Gap
	Overlap Overlap
}

// Gap says what becomes of a local time that does not exist.
type Gap string

// The values of Gap; the empty one means GapShift.
const (
	GapShift Gap = "Shift" // the first instant after the gap
	GapSkip  Gap = "Skip"  // none
)

// Overlap says what becomes of a local time that exists twice.
type Overlap string

// The values of Overlap; the empty one means OverlapFirst.
const (
	OverlapFirst Overlap = "First" // the earlier instant
	OverlapLast  Overlap = "Last"  // the later one
	OverlapBoth  Overlap = "Both"  // both
)

// Hash is whom values are hashed for, so that many schedules with the same text do not fire at once. The same Hash
// gives the same values in every process, on every machine and in every version of this package.
type Hash struct {
	Namespace, Name string
}

// Value returns the hash of a field of the schedule of that name, equally likely to be any number. The fields of the
// extended language are second, minute, hour, dayOfMonth, month and dayOfWeek. Others may be asked for by programs that
// want a fixed number of their own, such as an offset: package timeset has a jitter so, with the schedule name "".
func (h Hash) Value(schedule, field string) uint64 {
	sum := sha256.Sum256([]byte("carillon.dev/hash/v1\n" + h.Namespace + "/" + h.Name + "\n" + schedule + "\n" + field))
	return binary.BigEndian.Uint64(sum[:8])
}

// check refuses values that are none of those named above.
func (o Options) check() error {
	switch o.DayRule {
	case "", DayRuleEither, DayRuleBoth:
	default:
		return fmt.Errorf("dayRule %s is unknown; use Either or Both", bare(string(o.DayRule)))
	}
	switch o.DST.Gap {
	case "", GapShift, GapSkip:
	default:
		return fmt.Errorf("dst.gap %s is unknown; use Shift or Skip", bare(string(o.DST.Gap)))
	}
	switch o.DST.Overlap {
	case "", OverlapFirst, OverlapLast, OverlapBoth:
	default:
		return fmt.Errorf("dst.overlap %s is unknown; use First, Last or Both", bare(string(o.DST.Overlap)))
	}
	return nil
}
