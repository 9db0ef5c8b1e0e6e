// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import "math/bits"

const (
	secondsPerMinute = 60
	secondsPerDay    = 24 * 60 * 60
	minutesPerDay    = 24 * 60
)

// rule is a parsed schedule. It answers on a wall clock without zones, which
// counts seconds (or minutes, or days) from 1970-01-01T00:00:00 on that clock.
//
// Immutable.
type rule struct {
	seconds uint64 // bit s: second s matches
	minutes uint64 // bit m: minute m matches
	hours   uint32 // bit h: hour h matches
	// onMinute tells that second 0 matches and no other, as in all expressions of five fields.
	onMinute bool
	// possible tells whether any second of the calendar matches.
	possible bool
	// placed tells that changes of the zone's offset have ticks of their own: shift, that a match in a gap is one at
	// its end; once, that a match in an overlap is one tick and not two, the later one if late.
	placed, shift, once, late bool
	// perDay is how many minutes of a matching day match.
	perDay int64
	dates  *dates
	zone   *zone

	// every is the period of an "@every" schedule in seconds, 0 for all others. If
	// set, nothing above means anything.
	every int64
}

// newRule makes a rule of the bits of its fields (bit n: value n) and its days.
func newRule(seconds, minutes, hours uint64, days *dates, z *zone) *rule {
	r := &rule{
		seconds:  seconds,
		minutes:  minutes,
		hours:    uint32(hours),
		onMinute: seconds == 1,
		perDay:   int64(bits.OnesCount64(minutes) * bits.OnesCount64(hours)),
		dates:    days,
		zone:     z,
	}
	r.possible = r.perDay > 0 && seconds != 0 && days.any
	return r
}

// first returns the first matching second that is not before sec. ok is false if the calendar has none.
func (r *rule) first(sec int64) (found int64, ok bool) {
	if r.onMinute {
		minute, ok := r.atOrAfter(minuteUp(sec))
		return minute * secondsPerMinute, ok
	}
	start := floorDiv(sec, secondsPerMinute)
	minute, ok := r.atOrAfter(start)
	if minute == start && ok {
		if left := r.seconds >> uint(sec-start*secondsPerMinute); left != 0 {
			return sec + int64(bits.TrailingZeros64(left)), true
		}
		minute, ok = r.atOrAfter(start + 1)
	}
	return minute*secondsPerMinute + int64(bits.TrailingZeros64(r.seconds)), ok
}

// last returns the last matching second that is not after sec. ok is false if the calendar has none.
func (r *rule) last(sec int64) (found int64, ok bool) {
	end := floorDiv(sec, secondsPerMinute)
	minute, ok := r.atOrBefore(end)
	if r.onMinute {
		return minute * secondsPerMinute, ok
	}
	if minute == end && ok {
		if left := r.seconds & (1<<uint(sec-end*secondsPerMinute+1) - 1); left != 0 {
			return end*secondsPerMinute + int64(bits.Len64(left)-1), true
		}
		minute, ok = r.atOrBefore(end - 1)
	}
	return minute*secondsPerMinute + int64(bits.Len64(r.seconds)-1), ok
}

// between returns how many seconds match in [from, to). It is negative if to is before from.
func (r *rule) between(from, to int64) int64 {
	if r.onMinute {
		return r.minutesBetween(minuteUp(from), minuteUp(to))
	}
	firstMinute, lastMinute := floorDiv(from, secondsPerMinute), floorDiv(to, secondsPerMinute)
	n := r.minutesBetween(firstMinute, lastMinute) * int64(bits.OnesCount64(r.seconds))
	if r.matches(firstMinute) {
		n -= int64(bits.OnesCount64(r.seconds & (1<<uint(from-firstMinute*secondsPerMinute) - 1)))
	}
	if r.matches(lastMinute) {
		n += int64(bits.OnesCount64(r.seconds & (1<<uint(to-lastMinute*secondsPerMinute) - 1)))
	}
	return n
}

// matches tells whether a minute matches.
func (r *rule) matches(m int64) bool {
	day := floorDiv(m, minutesPerDay)
	inDay := uint(m - day*minutesPerDay)
	return r.hours>>(inDay/60)&1 != 0 && r.minutes>>(inDay%60)&1 != 0 && r.dates.matches(day)
}

// minuteUp returns the first whole minute that is not before a second.
func minuteUp(sec int64) int64 {
	return -floorDiv(-sec, secondsPerMinute)
}

// atOrAfter returns the first matching minute that is not before m. ok is false
// if the calendar has none.
func (r *rule) atOrAfter(m int64) (found int64, ok bool) {
	if !r.possible {
		return 0, false
	}
	start := floorDiv(m, minutesPerDay)
	day, ok := r.dates.onOrAfter(start)
	if day == start && ok {
		if t, ok := r.timeFrom(uint(m - start*minutesPerDay)); ok {
			return day*minutesPerDay + int64(t), true
		}
		day, ok = r.dates.onOrAfter(start + 1)
	}
	if !ok {
		return 0, false
	}
	t, _ := r.timeFrom(0)
	return day*minutesPerDay + int64(t), true
}

// atOrBefore returns the last matching minute that is not after m. ok is false if
// the calendar has none.
func (r *rule) atOrBefore(m int64) (found int64, ok bool) {
	if !r.possible {
		return 0, false
	}
	end := floorDiv(m, minutesPerDay)
	day, ok := r.dates.onOrBefore(end)
	if day == end && ok {
		if t, ok := r.timeUpTo(uint(m - end*minutesPerDay)); ok {
			return day*minutesPerDay + int64(t), true
		}
		day, ok = r.dates.onOrBefore(end - 1)
	}
	if !ok {
		return 0, false
	}
	t, _ := r.timeUpTo(minutesPerDay - 1)
	return day*minutesPerDay + int64(t), true
}

// timeFrom returns the first matching minute of a matching day that is not before
// minute m of the day.
func (r *rule) timeFrom(m uint) (uint, bool) {
	hour, minute := m/60, m%60
	if r.hours>>hour&1 != 0 {
		if left := r.minutes >> minute; left != 0 {
			return m + uint(bits.TrailingZeros64(left)), true
		}
	}
	left := r.hours >> (hour + 1)
	if left == 0 {
		return 0, false
	}
	hour += 1 + uint(bits.TrailingZeros32(left))
	return hour*60 + uint(bits.TrailingZeros64(r.minutes)), true
}

// timeUpTo returns the last matching minute of a matching day that is not after
// minute m of the day.
func (r *rule) timeUpTo(m uint) (uint, bool) {
	hour, minute := m/60, m%60
	if r.hours>>hour&1 != 0 {
		if left := r.minutes & (1<<(minute+1) - 1); left != 0 {
			return hour*60 + uint(bits.Len64(left)-1), true
		}
	}
	left := r.hours & (1<<hour - 1)
	if left == 0 {
		return 0, false
	}
	hour = uint(bits.Len32(left) - 1)
	return hour*60 + uint(bits.Len64(r.minutes)-1), true
}

// minutesBetween returns how many minutes match in [from, to). It is negative if to is
// before from.
func (r *rule) minutesBetween(from, to int64) int64 {
	firstDay, lastDay := floorDiv(from, minutesPerDay), floorDiv(to, minutesPerDay)
	before, upTo := r.timesBefore(uint(from-firstDay*minutesPerDay)), r.timesBefore(uint(to-lastDay*minutesPerDay))
	if r.dates.every {
		return (lastDay-firstDay)*r.perDay + upTo - before
	}
	if firstDay == lastDay {
		if upTo == before || !r.dates.matches(firstDay) {
			return 0
		}
		return upTo - before
	}
	n := r.dates.between(firstDay, lastDay) * r.perDay
	if before != 0 && r.dates.matches(firstDay) {
		n -= before
	}
	if upTo != 0 && r.dates.matches(lastDay) {
		n += upTo
	}
	return n
}

// timesBefore returns how many minutes of a matching day match before minute m of
// the day.
func (r *rule) timesBefore(m uint) int64 {
	hour, minute := m/60, m%60
	n := bits.OnesCount32(r.hours&(1<<hour-1)) * bits.OnesCount64(r.minutes)
	if r.hours>>hour&1 != 0 {
		n += bits.OnesCount64(r.minutes & (1<<minute - 1))
	}
	return int64(n)
}
