// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Question is what somebody asks.
type Question struct {
	// At is the time that the question is about; nil asks about the present.
	At *At
}

// At is a time as somebody has written it.
type At struct {
	// From and Until hold what was meant, Until excluded: a minute if no seconds were written.
	From, Until time.Time
	// Second is the beginning of the other minute that the same words name on the day that clocks go back; zero if
	// there is none.
	Second time.Time
	// First is the beginning of the earlier one, if From is the later of the two; zero otherwise.
	First time.Time
	// Skipped: clocks jumped over this local time, and From is the first instant after it.
	Skipped bool
	// Local is the time of day as it was written, "" if it was written with an offset.
	Local string
}

// Contains tells whether an instant is one of those that were meant: also in the other minute that the same words name.
func (a *At) Contains(t time.Time) bool {
	for _, from := range []time.Time{a.From, a.First, a.Second} {
		if !from.IsZero() && !t.Before(from) && t.Before(from.Add(a.Until.Sub(a.From))) {
			return true
		}
	}
	return false
}

// ParseAt reads a time: RFC 3339, "2026-11-20 02:00", or a time of day such as "02:00" or "yesterday 02:00", in a zone.
// A time of day alone is the last one that has come. Errors are the user's to mend.
func ParseAt(text string, now time.Time, zone *time.Location) (At, error) {
	text = strings.TrimSpace(text)
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04Z07:00", "2006-01-02 15:04:05 Z07:00", "2006-01-02 15:04 Z07:00", "2006-01-02 15:04:05 UTC", "2006-01-02 15:04 UTC"} {
		t, err := time.Parse(layout, text)
		if err == nil && inRange(t) {
			t = t.UTC().Truncate(time.Second)
			return At{From: t, Until: t.Add(precisionOf(layout))}, nil
		}
	}
	wall, precision, alone, ok := wallTime(text, now.In(zone))
	if !ok || !inRange(wall) {
		return At{}, fmt.Errorf("%q is no time: write 02:00, \"yesterday 02:00\", \"2026-11-20 02:00\" (in the schedule's zone, %s), or 2026-11-20T02:00:00Z", text, zone)
	}
	at := inZone(wall, precision, zone)
	if alone && at.From.After(now) {
		at = inZone(wall.AddDate(0, 0, -1), precision, zone)
	}
	if alone && !at.Second.IsZero() && !at.Second.After(now) { // the last one that has come
		at = At{From: at.Second, Until: at.Second.Add(precision), First: at.From, Local: at.Local}
	}
	return at, nil
}

func inRange(t time.Time) bool { return t.Year() >= 1970 && t.Year() < 3000 }

func precisionOf(layout string) time.Duration {
	if strings.Contains(layout, ":05") {
		return time.Second
	}
	return time.Minute
}

// wallTime reads a local time, as if it were UTC; alone: no day was written.
func wallTime(text string, now time.Time) (wall time.Time, precision time.Duration, alone, ok bool) {
	for _, layout := range []string{"2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02T15:04"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.Truncate(time.Second), precisionOf(layout), false, true
		}
	}
	days, alone := 0, true
	if word, rest, found := strings.Cut(text, " "); found {
		shift, known := map[string]int{"today": 0, "yesterday": -1, "tomorrow": 1}[strings.ToLower(word)]
		if !known {
			return time.Time{}, 0, false, false
		}
		days, alone, text = shift, false, strings.TrimSpace(rest)
	}
	for _, layout := range []string{"15:04:05", "15:04"} {
		if t, err := time.Parse(layout, text); err == nil {
			today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC).AddDate(0, 0, days)
			return today.Add(time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute + time.Duration(t.Second())*time.Second),
				precisionOf(layout), alone, true
		}
	}
	return time.Time{}, 0, false, false
}

// inZone finds the instants at which clocks in a zone show a local time.
func inZone(wall time.Time, precision time.Duration, zone *time.Location) At {
	at := At{Local: wall.Format("15:04")}
	var offsets []int
	for _, around := range []time.Duration{-26 * time.Hour, 0, 26 * time.Hour} {
		_, offset := wall.Add(around).In(zone).Zone()
		offsets = append(offsets, offset)
	}
	slices.Sort(offsets)
	offsets = slices.Compact(offsets)
	var found []time.Time
	for _, offset := range offsets {
		t := wall.Add(-time.Duration(offset) * time.Second)
		if _, is := t.In(zone).Zone(); is == offset {
			found = append(found, t)
		}
	}
	slices.SortFunc(found, time.Time.Compare)
	switch len(found) {
	case 0: // a gap: what its clocks would show by the offset before it lies as far behind the gap
		at.Skipped = true
		at.From = endOfGap(wall.Add(-time.Duration(offsets[len(offsets)-1])*time.Second), wall.Add(-time.Duration(offsets[0])*time.Second), zone)
	case 1:
		at.From = found[0]
	default:
		at.From, at.Second = found[0], found[1]
	}
	at.Until = at.From.Add(precision)
	return at
}

// endOfGap is the first instant after clocks jumped between two instants.
func endOfGap(low, high time.Time, zone *time.Location) time.Time {
	_, before := low.In(zone).Zone()
	for high.Sub(low) > time.Second {
		middle := low.Add(high.Sub(low) / 2).Truncate(time.Second)
		if _, offset := middle.In(zone).Zone(); offset == before {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}
