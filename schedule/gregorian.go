// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

// daysPerCycle is the length of 400 years, after which the Gregorian calendar repeats, weekdays included.
const daysPerCycle = 146097

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

// newYear returns the first day of a year.
func newYear(year int64) int64 {
	before := year - 1
	return before*365 + floorDiv(before, 4) - floorDiv(before, 100) + floorDiv(before, 400) - 719162
}

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
