// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import "math/bits"

// The years that a schedule can name. One that names none holds for all years there are.
const (
	firstYear = 1970
	lastYear  = 2199
)

// dates is a set of days of the calendar. A day is its number, counted from 1970-01-01.
//
// Immutable.
type dates struct {
	// years are the years that match; nil means all.
	years *yearSet
	// months has bit m set if month m (1-12) matches.
	months uint32
	// every tells that all days match, any that some do.
	every, any bool
	// days holds the matching days of a month (bit d: day d, 1-31) by the weekday of its first day (0 is Sunday) and by
	// its length less 28. Days that are told by the end of the month or by its weekdays are functions of these two.
	days [7][4]uint32
	// perYear holds how many days of a year match, by the weekday of 1 January plus 7 in a leap year, if the year does.
	perYear [14]int32
}

// yearSet is a set of years. first and last are the earliest and the latest that has a matching day.
type yearSet struct {
	bits        [4]uint64 // bit n%64 of n/64: year firstYear+n
	first, last int64
}

func (s *yearSet) add(year int) { s.bits[(year-firstYear)/64] |= 1 << ((year - firstYear) % 64) }

func (s *yearSet) has(year int64) bool {
	n := uint64(year - firstYear)
	return n <= lastYear-firstYear && s.bits[n/64]>>(n%64)&1 != 0
}

// everyDate is shared by the many schedules of every day.
var everyDate = &dates{years: nil, months: 1<<13 - 2, every: true, any: true}

// newDates makes a set of days. inMonth gives the matching days (bit d: day d) of a month by the weekday of its first
// day and its length; bits past its length mean nothing. years, which may be nil, is kept.
func newDates(years *yearSet, months uint64, inMonth func(first, length int) uint32) *dates {
	d := dates{years: years, months: uint32(months), every: years == nil}
	for first := range d.days {
		for over := range d.days[first] {
			length := 28 + over
			d.days[first][over] = inMonth(first, length) & (1<<(length+1) - 2)
		}
	}
	for kind := range d.perYear {
		first, leap := kind%7, kind >= 7
		for month := 1; month <= 12; month++ {
			d.perYear[kind] += int32(bits.OnesCount32(d.month(month, first, leap)))
			first = (first + monthLength(month, leap)) % 7
		}
		d.any = d.any || d.perYear[kind] > 0
		d.every = d.every && int(d.perYear[kind]) == yearLength(leap)
	}
	if d.every {
		return everyDate
	}
	if years != nil {
		d.any = false
		for year := int64(firstYear); year <= lastYear; year++ {
			if years.has(year) && d.perYear[yearKind(weekday(newYear(year)), isLeap(year))] > 0 {
				if !d.any {
					years.first = year
				}
				years.last, d.any = year, true
			}
		}
	}
	kept := d
	return &kept
}

// daysByFields gives the days of months that match a day of month (bit d) and a day of week (bit 0 is Sunday), or
// one of them.
func daysByFields(dom, dow uint64, either bool) func(first, length int) uint32 {
	return func(first, _ int) uint32 {
		if either {
			return uint32(dom) | onWeekdays(dow, first)
		}
		return uint32(dom) & onWeekdays(dow, first)
	}
}

// onWeekdays gives the days of a month that lie on days of the week (bit 0 is Sunday), by the weekday of its first day.
func onWeekdays(dow uint64, first int) uint32 {
	// Weekdays repeated over a month that starts on a Sunday, from bit 0 on.
	week := dow | dow<<7 | dow<<14 | dow<<21 | dow<<28 | dow<<35
	return uint32(week>>first) << 1
}

// month returns the matching days of a month (bit d: day d) that starts on a weekday, in a year that matches.
func (d *dates) month(month, first int, leap bool) uint32 {
	if d.months>>month&1 == 0 {
		return 0
	}
	return d.days[first][monthLength(month, leap)-28]
}

// inYear tells whether a year matches.
func (d *dates) inYear(year int64) bool { return d.years == nil || d.years.has(year) }

// matches tells whether a day matches.
func (d *dates) matches(day int64) bool {
	if d.every {
		return true
	}
	year, month, dom := civil(day)
	return d.inYear(year) && d.month(month, weekday(day-int64(dom)+1), isLeap(year))>>dom&1 != 0
}

// onOrAfter returns the first matching day that is not before a day. ok is false if there is none.
func (d *dates) onOrAfter(day int64) (found int64, ok bool) {
	if d.every || !d.any {
		return day, d.any
	}
	year, month, dom := civil(day)
	if d.years != nil {
		if year > d.years.last {
			return 0, false
		}
		if year < d.years.first {
			year, month, dom = d.years.first, 1, 1
			day = newYear(year)
		}
	}
	leap := isLeap(year)
	january := day - int64(dayOfYear(month, dom, leap))
	if d.inYear(year) {
		if left := d.month(month, weekday(day-int64(dom)+1), leap) >> dom; left != 0 {
			return day + int64(bits.TrailingZeros32(left)), true
		}
		if found, ok := d.firstAfterMonth(january, month, leap); ok {
			return found, true
		}
	}
	// On to the next year with a match, which ends the search. There is one, since
	// leap years come round, within 8 years around 2100, and all that can match and
	// is not 29 February matches each year; or the years are listed, and the last of them has a match.
	for weekday := weekday(january); ; {
		weekday += yearLength(leap) % 7
		january += int64(yearLength(leap))
		year++
		leap = isLeap(year)
		if d.years != nil && year > d.years.last {
			return 0, false
		}
		if weekday %= 7; d.perYear[yearKind(weekday, leap)] > 0 && d.inYear(year) {
			return d.firstAfterMonth(january, 0, leap)
		}
	}
}

// firstAfterMonth returns the first matching day of the months after one of a year that matches.
func (d *dates) firstAfterMonth(january int64, month int, leap bool) (found int64, ok bool) {
	for left := d.months & (^uint32(0) << (month + 1)); left != 0; left &= left - 1 {
		month := bits.TrailingZeros32(left)
		first := january + int64(dayOfYear(month, 1, leap))
		if days := d.month(month, weekday(first), leap); days != 0 {
			return first - 1 + int64(bits.TrailingZeros32(days)), true
		}
	}
	return 0, false
}

// onOrBefore returns the last matching day that is not after a day. ok is false if there is none.
func (d *dates) onOrBefore(day int64) (found int64, ok bool) {
	if d.every || !d.any {
		return day, d.any
	}
	year, month, dom := civil(day)
	if d.years != nil {
		if year < d.years.first {
			return 0, false
		}
		if year > d.years.last {
			year, month, dom = d.years.last, 12, 31
			day = newYear(year+1) - 1
		}
	}
	leap := isLeap(year)
	january := day - int64(dayOfYear(month, dom, leap))
	if d.inYear(year) {
		if left := d.month(month, weekday(day-int64(dom)+1), leap) & (1<<(dom+1) - 1); left != 0 {
			return day - int64(dom) + int64(bits.Len32(left)-1), true
		}
		if found, ok := d.lastBeforeMonth(january, month, leap); ok {
			return found, true
		}
	}
	for weekday := weekday(january); ; { // and back in the same way
		year--
		leap = isLeap(year)
		january -= int64(yearLength(leap))
		if d.years != nil && year < d.years.first {
			return 0, false
		}
		weekday += 14 - yearLength(leap)%7
		if weekday %= 7; d.perYear[yearKind(weekday, leap)] > 0 && d.inYear(year) {
			return d.lastBeforeMonth(january, 13, leap)
		}
	}
}

// lastBeforeMonth returns the last matching day of the months before one of a year that matches.
func (d *dates) lastBeforeMonth(january int64, month int, leap bool) (found int64, ok bool) {
	for left := d.months & (1<<month - 1); left != 0; {
		month := bits.Len32(left) - 1
		left &^= 1 << month
		first := january + int64(dayOfYear(month, 1, leap))
		if days := d.month(month, weekday(first), leap); days != 0 {
			return first - 1 + int64(bits.Len32(days)-1), true
		}
	}
	return 0, false
}

// between returns how many days match in [from, to), negated if to is before from.
func (d *dates) between(from, to int64) int64 {
	if from > to {
		return -d.between(to, from)
	}
	if d.every {
		return to - from
	}
	if to-from == 1 {
		if d.matches(from) {
			return 1
		}
		return 0
	}
	if !d.any {
		return 0
	}
	var n int64
	if d.years != nil {
		if from, to = max(from, newYear(d.years.first)), min(to, newYear(d.years.last+1)); from >= to {
			return 0
		}
	} else if turns := (to - from) / daysPerCycle; turns > 0 {
		n = turns * d.perTurn()
		to -= turns * daysPerCycle
	}
	firstYear, firstPart, kind := d.ofYearBefore(from)
	lastYear, lastPart, _ := d.ofYearBefore(to)
	n += lastPart - firstPart
	for year := firstYear; year < lastYear; year++ {
		if d.inYear(year) {
			n += int64(d.perYear[kind])
		}
		kind = yearKind((kind+yearLength(kind >= 7))%7, isLeap(year+1))
	}
	return n
}

// perTurn returns how many days match in 400 years, if all years do.
func (d *dates) perTurn() (n int64) {
	first := 6 // 2000-01-01 was a Saturday
	for year := range int64(400) {
		leap := isLeap(year)
		n += int64(d.perYear[yearKind(first, leap)])
		first = (first + yearLength(leap)) % 7
	}
	return n
}

// ofYearBefore returns a day's year, its kind, and how many days of that year match before the day.
func (d *dates) ofYearBefore(day int64) (year int64, n int64, kind int) {
	year, month, dom := civil(day)
	leap := isLeap(year)
	january := weekday(day - int64(dayOfYear(month, dom, leap)))
	if !d.inYear(year) {
		return year, 0, yearKind(january, leap)
	}
	first := january
	for m := 1; m < month; m++ {
		n += int64(bits.OnesCount32(d.month(m, first, leap)))
		first = (first + monthLength(m, leap)) % 7
	}
	n += int64(bits.OnesCount32(d.month(month, first, leap) & (1<<dom - 1)))
	return year, n, yearKind(january, leap)
}
