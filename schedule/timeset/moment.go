// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timeset

import (
	"fmt"
	"time"
)

// A Moment is a point on a wall clock, or an instant if it has an offset of its own.
type Moment struct {
	// Wall is what the wall clock shows, in seconds since 1970-01-01T00:00 on that clock.
	Wall int64
	// DateOnly tells that the text had no time of day; Wall is the beginning of the day.
	DateOnly bool
	// Zoned tells that the text had an offset from UTC, which is Offset, in seconds.
	Zoned  bool
	Offset int64
}

// ParseMoment reads 2027-03-01, 2027-03-01T14:00 or 2027-03-01T14:00:30, the latter two
// also with Z or an offset such as +02:00. Date and time of day must exist.
func ParseMoment(text string) (Moment, error) {
	layout := ""
	for _, l := range [...]string{dateLayout, minuteLayout, secondLayout} {
		if len(text) >= len(l) && looksLike(text[:len(l)], l) {
			layout = l
		}
	}
	m := Moment{DateOnly: layout == dateLayout}
	zone := text[len(layout):]
	var ok bool
	if m.Zoned = zone != ""; m.Zoned {
		m.Offset, ok = parseOffset(zone)
	}
	if layout == "" || m.Zoned && (m.DateOnly || !ok) {
		return Moment{}, fmt.Errorf("%s is no moment; write 2027-03-01T14:00, with Z or an offset such as +02:00 "+
			"if it is not in timeZone", quote(text))
	}
	t, err := time.Parse(layout, text[:len(layout)])
	if err != nil {
		return Moment{}, fmt.Errorf("%s is no moment: there is no such date or time of day", quote(text))
	}
	m.Wall = t.Unix()
	return m, nil
}

const (
	dateLayout   = "2006-01-02"
	minuteLayout = "2006-01-02T15:04"
	secondLayout = "2006-01-02T15:04:05"
)

// parseOffset reads Z, +02:00 or -02:30 as seconds.
func parseOffset(text string) (offset int64, ok bool) {
	if text == "Z" {
		return 0, true
	}
	if !looksLike(text, "+00:00") && !looksLike(text, "-00:00") || text[1:3] > "23" || text[4:] > "59" {
		return 0, false
	}
	hours, minutes := int64(text[1]-'0')*10+int64(text[2]-'0'), int64(text[4]-'0')*10+int64(text[5]-'0')
	offset = hours*3600 + minutes*60
	if text[0] == '-' {
		offset = -offset
	}
	return offset, true
}

// looksLike tells whether text has a digit where shape has one, and the same byte elsewhere.
func looksLike(text, shape string) bool {
	if len(text) != len(shape) {
		return false
	}
	for i := range len(text) {
		if isDigit(shape[i]) != isDigit(text[i]) || !isDigit(shape[i]) && shape[i] != text[i] {
			return false
		}
	}
	return true
}
