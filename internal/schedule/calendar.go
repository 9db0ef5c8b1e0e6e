// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import "math/bits"

const (
	secondsPerMinute = 60
	secondsPerDay    = 24 * 60 * 60
	minutesPerDay    = 24 * 60
	// daysPerCycle is the length of 400 years, after which the Gregorian calendar
	// repeats, weekdays included.
	daysPerCycle = 146097
)

// rule is a parsed schedule. It answers on a wall clock without zones, which
// counts minutes (or days) from 1970-01-01T00:00 on that clock.
//
// Immutable.
type rule struct {
	minutes uint64 // bit m: minute m matches
	hours   uint32 // bit h: hour h matches
	months  uint32 // bit m: month m (1-12) matches
	// days holds a month's matching days (bit d: day d, 1-31) by the weekday of its
	// first day (0 is Sunday), not yet cut to the month's length.
	days [7]uint32
	// perYear holds how many days of a year match, by the weekday of 1 January plus
	// 7 in a leap year.
	perYear [14]int32
	// perDay is how many minutes of a matching day match.
	perDay int64
	// everyDay tells that all days match.
	everyDay bool
	// possible tells whether any minute of the calendar matches.
	possible bool

	zone *zone

	// every is the period of an "@every" schedule in seconds, 0 for all others. If
	// set, nothing above means anything.
	every int64
}

// newRule makes a rule of the bits of its fields (bit n: value n). eitherDay
// tells that a day need match only one of day of month and day of week.
func newRule(minutes, hours, dom, months, dow uint64, eitherDay bool, z *zone) *rule {
	r := &rule{
		minutes: minutes,
		hours:   uint32(hours),
		months:  uint32(months),
		perDay:  int64(bits.OnesCount64(minutes) * bits.OnesCount64(hours)),
		zone:    z,
	}
	// Weekdays repeated over a month that starts on a Sunday, from bit 0 on.
	week := dow | dow<<7 | dow<<14 | dow<<21 | dow<<28 | dow<<35
	for first := range r.days {
		byWeekday := uint32(week>>first) << 1
		if eitherDay {
			r.days[first] = uint32(dom) | byWeekday
		} else {
			r.days[first] = uint32(dom) & byWeekday
		}
	}
	r.everyDay = true
	for kind := range r.perYear {
		first, leap := kind%7, kind >= 7
		for month := 1; month <= 12; month++ {
			r.perYear[kind] += int32(bits.OnesCount32(r.month(month, first, leap)))
			first = (first + monthLength(month, leap)) % 7
		}
		r.possible = r.possible || r.perYear[kind] > 0 && r.perDay > 0
		r.everyDay = r.everyDay && int(r.perYear[kind]) == yearLength(leap)
	}
	return r
}

// month returns the matching days of a month (bit d: day d) that starts on a
// weekday.
func (r *rule) month(month, first int, leap bool) uint32 {
	if r.months>>month&1 == 0 {
		return 0
	}
	return r.days[first] & (1<<(monthLength(month, leap)+1) - 1)
}

// atOrAfter returns the first matching minute that is not before m. ok is false
// if the calendar has none.
func (r *rule) atOrAfter(m int64) (found int64, ok bool) {
	if !r.possible {
		return 0, false
	}
	day := floorDiv(m, minutesPerDay)
	start := uint(m - day*minutesPerDay)
	if r.everyDay {
		if t, ok := r.timeFrom(start); ok {
			return day*minutesPerDay + int64(t), true
		}
		t, _ := r.timeFrom(0)
		return (day+1)*minutesPerDay + int64(t), true
	}

	year, month, dom := civil(day)
	leap := isLeap(year)
	if left := r.month(month, weekday(day-int64(dom)+1), leap) >> dom; left != 0 {
		if left&1 != 0 {
			if t, ok := r.timeFrom(start); ok {
				return day*minutesPerDay + int64(t), true
			}
		}
		if left >>= 1; left != 0 {
			t, _ := r.timeFrom(0)
			return (day+1+int64(bits.TrailingZeros32(left)))*minutesPerDay + int64(t), true
		}
	}
	newYear := day - int64(dayOfYear(month, dom, leap))
	for {
		for left := r.months & (^uint32(0) << (month + 1)); left != 0; left &= left - 1 {
			month := bits.TrailingZeros32(left)
			first := newYear + int64(dayOfYear(month, 1, leap))
			if days := r.month(month, weekday(first), leap); days != 0 {
				t, _ := r.timeFrom(0)
				return (first-1+int64(bits.TrailingZeros32(days)))*minutesPerDay + int64(t), true
			}
		}
		// On to the next year with a match, which ends the search. There is one, since
		// leap years come round, within 8 years around 2100, and all that can match and
		// is not 29 February matches each year.
		month = 0
		for weekday := weekday(newYear); ; {
			weekday += yearLength(leap) % 7
			newYear += int64(yearLength(leap))
			year++
			leap = isLeap(year)
			if weekday %= 7; r.perYear[yearKind(weekday, leap)] > 0 {
				break
			}
		}
	}
}

// atOrBefore returns the last matching minute that is not after m. ok is false if
// the calendar has none.
func (r *rule) atOrBefore(m int64) (found int64, ok bool) {
	if !r.possible {
		return 0, false
	}
	day := floorDiv(m, minutesPerDay)
	end := uint(m - day*minutesPerDay)
	if r.everyDay {
		if t, ok := r.timeUpTo(end); ok {
			return day*minutesPerDay + int64(t), true
		}
		t, _ := r.timeUpTo(minutesPerDay - 1)
		return (day-1)*minutesPerDay + int64(t), true
	}

	year, month, dom := civil(day)
	leap := isLeap(year)
	if left := r.month(month, weekday(day-int64(dom)+1), leap) & (1<<(dom+1) - 1); left != 0 {
		if left>>dom&1 != 0 {
			if t, ok := r.timeUpTo(end); ok {
				return day*minutesPerDay + int64(t), true
			}
		}
		if left &^= 1 << dom; left != 0 {
			t, _ := r.timeUpTo(minutesPerDay - 1)
			return (day-int64(dom)+int64(bits.Len32(left)-1))*minutesPerDay + int64(t), true
		}
	}
	newYear := day - int64(dayOfYear(month, dom, leap))
	for {
		for left := r.months & (1<<month - 1); left != 0; {
			month := bits.Len32(left) - 1
			left &^= 1 << month
			first := newYear + int64(dayOfYear(month, 1, leap))
			if days := r.month(month, weekday(first), leap); days != 0 {
				t, _ := r.timeUpTo(minutesPerDay - 1)
				return (first-1+int64(bits.Len32(days)-1))*minutesPerDay + int64(t), true
			}
		}
		month = 13 // and back in the same way
		for weekday := weekday(newYear); ; {
			year--
			leap = isLeap(year)
			newYear -= int64(yearLength(leap))
			weekday += 14 - yearLength(leap)%7
			if weekday %= 7; r.perYear[yearKind(weekday, leap)] > 0 {
				break
			}
		}
	}
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

// between returns how many minutes match in [from, to). It is negative if to is
// before from.
func (r *rule) between(from, to int64) int64 {
	firstDay, lastDay := floorDiv(from, minutesPerDay), floorDiv(to, minutesPerDay)
	before, upTo := r.timesBefore(uint(from-firstDay*minutesPerDay)), r.timesBefore(uint(to-lastDay*minutesPerDay))
	if r.everyDay {
		return (lastDay-firstDay)*r.perDay + upTo - before
	}
	if firstDay == lastDay {
		if upTo == before || !r.matches(firstDay) {
			return 0
		}
		return upTo - before
	}
	n := r.daysBetween(firstDay, lastDay) * r.perDay
	if before != 0 && r.matches(firstDay) {
		n -= before
	}
	if upTo != 0 && r.matches(lastDay) {
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

// matches tells whether a day matches.
func (r *rule) matches(day int64) bool {
	_, month, dom := civil(day)
	return r.months>>month&1 != 0 && r.days[weekday(day-int64(dom)+1)]>>dom&1 != 0
}

// daysBetween returns how many days match in [from, to), negated if to is before
// from.
func (r *rule) daysBetween(from, to int64) int64 {
	if from > to {
		return -r.daysBetween(to, from)
	}
	if to-from == 1 {
		if r.matches(from) {
			return 1
		}
		return 0
	}
	var n int64
	if turns := (to - from) / daysPerCycle; turns > 0 {
		n = turns * r.daysPerTurn()
		to -= turns * daysPerCycle
	}
	firstYear, firstPart, kind := r.daysOfYearBefore(from)
	lastYear, lastPart, _ := r.daysOfYearBefore(to)
	n += lastPart - firstPart
	for year := firstYear; year < lastYear; year++ {
		n += int64(r.perYear[kind])
		kind = yearKind((kind+yearLength(kind >= 7))%7, isLeap(year+1))
	}
	return n
}

// daysPerTurn returns how many days match in 400 years.
func (r *rule) daysPerTurn() (n int64) {
	first := 6 // 2000-01-01 was a Saturday
	for year := range int64(400) {
		leap := isLeap(year)
		n += int64(r.perYear[yearKind(first, leap)])
		first = (first + yearLength(leap)) % 7
	}
	return n
}

// daysOfYearBefore returns a day's year, its kind, and how many days of that year
// match before the day.
func (r *rule) daysOfYearBefore(day int64) (year int64, n int64, kind int) {
	year, month, dom := civil(day)
	leap := isLeap(year)
	newYear := weekday(day - int64(dayOfYear(month, dom, leap)))
	first := newYear
	for m := 1; m < month; m++ {
		n += int64(bits.OnesCount32(r.month(m, first, leap)))
		first = (first + monthLength(m, leap)) % 7
	}
	n += int64(bits.OnesCount32(r.month(month, first, leap) & (1<<dom - 1)))
	return year, n, yearKind(newYear, leap)
}

// civil returns the date of a day.
func civil(day int64) (year int64, month, dom int) {
	// Years that begin on 1 March put the leap day last, so that a month's first day
	// is a straight line in the month's number.
	day += 719468 // days from 0000-03-01 to 1970-01-01
	turn := floorDiv(day, daysPerCycle)
	inTurn := uint32(day - turn*daysPerCycle)
	yearInTurn := (inTurn - inTurn/1460 + inTurn/36524 - inTurn/146096) / 365
	inYear := inTurn - (365*yearInTurn + yearInTurn/4 - yearInTurn/100)
	fromMarch := (5*inYear + 2) / 153
	dom = int(inYear-(153*fromMarch+2)/5) + 1
	year = turn*400 + int64(yearInTurn)
	if fromMarch < 10 {
		return year, int(fromMarch) + 3, dom
	}
	return year + 1, int(fromMarch) - 9, dom
}

// weekday returns a day's weekday, 0 for Sunday.
func weekday(day int64) int { return int(floorMod(day+4, 7)) } // 1970-01-01 was a Thursday

func isLeap(year int64) bool { return year%4 == 0 && (year%100 != 0 || year%400 == 0) }

func yearKind(first int, leap bool) int {
	if leap {
		return first + 7
	}
	return first
}

func yearLength(leap bool) int {
	if leap {
		return 366
	}
	return 365
}

func monthLength(month int, leap bool) int {
	if month == 2 && leap {
		return 29
	}
	return int(monthLengths[month])
}

var monthLengths = [13]uint8{0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}

// dayOfYear returns how many days of the year lie before a date.
func dayOfYear(month, dom int, leap bool) int {
	n := int(daysBeforeMonth[month]) + dom - 1
	if leap && month > 2 {
		n++
	}
	return n
}

var daysBeforeMonth = [13]uint16{0, 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334}

// floorDiv divides by b > 0, rounding down.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// floorMod returns a - floorDiv(a, b)*b.
func floorMod(a, b int64) int64 {
	m := a % b
	if m < 0 {
		m += b
	}
	return m
}
