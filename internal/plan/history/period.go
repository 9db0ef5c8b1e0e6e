// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/diagnosis"
)

// Period is a span of time: From is in it, Until is not. Zero is open.
type Period struct{ From, Until time.Time }

// ParseMonth reads a month in a zone: "2026-10", "october" or "oct" (the last one that has begun), "last" or "last
// month", "this" or "this month". Errors are the user's to mend.
func ParseMonth(text string, now time.Time, zone *time.Location) (Period, error) {
	word := strings.ToLower(strings.TrimSpace(text))
	today := now.In(zone)
	year, month := today.Year(), today.Month()
	switch named, ok := monthNamed(word); {
	case word == "this" || word == "this month":
	case word == "last" || word == "last month":
		month--
	case ok:
		if named > month {
			year--
		}
		month = named
	default:
		t, err := time.Parse("2006-01", word)
		if err != nil || !inRange(t) {
			return Period{}, fmt.Errorf("%q is no month: write 2026-10, october, last or this", text)
		}
		year, month = t.Year(), t.Month()
	}
	return Period{Midnight(year, month, 1, zone), Midnight(year, month+1, 1, zone)}, nil
}

func monthNamed(word string) (time.Month, bool) {
	for m := time.January; m <= time.December; m++ {
		if name := strings.ToLower(m.String()); word == name || word == name[:3] {
			return m, true
		}
	}
	return 0, false
}

// ParseStart reads where a span begins, in a zone: a duration before now ("30d", "2w", "36h", "1d12h"), a day or a
// month ("2026-10-01", "2026-10"), "today", "yesterday", "this week", "last week", "this month", "last month", "this
// year", "last year", or a time as diagnosis.ParseAt reads it. Errors are the user's to mend.
func ParseStart(text string, now time.Time, zone *time.Location) (time.Time, error) {
	word := strings.Join(strings.Fields(strings.ToLower(text)), " ")
	if t, ok := beginning(word, now.In(zone), zone); ok {
		return t, nil
	}
	for _, layout := range []string{time.DateOnly, "2006-01", "2006"} {
		if t, err := time.Parse(layout, word); err == nil && inRange(t) {
			return Midnight(t.Year(), t.Month(), t.Day(), zone), nil
		}
	}
	if back, ok := ParseSpan(strings.TrimSuffix(word, " ago")); ok {
		return now.Add(-back), nil
	}
	if at, err := diagnosis.ParseAt(text, now, zone); err == nil {
		return at.From, nil
	}
	return time.Time{}, fmt.Errorf("%q is no time: write 30d, 2026-10-01, 2026-10, \"last month\", yesterday, \"2026-10-01 02:00\" (in the zone %s), or 2026-10-01T00:00:00Z", text, zone)
}

// beginning is when a named span began.
func beginning(word string, today time.Time, zone *time.Location) (time.Time, bool) {
	year, month, day := today.Date()
	monday := day - (int(today.Weekday())+6)%7
	switch word {
	case "now":
		return today, true
	case "today":
	case "yesterday":
		day--
	case "tomorrow":
		day++
	case "this week":
		day = monday
	case "last week":
		day = monday - 7
	case "this month":
		day = 1
	case "last month":
		month, day = month-1, 1
	case "this year":
		month, day = time.January, 1
	case "last year":
		year, month, day = year-1, time.January, 1
	default:
		return time.Time{}, false
	}
	return Midnight(year, month, day, zone), true
}

// Midnight is when a day begins in a zone: at midnight, or, where clocks jump over that, right after it. A month or a
// day out of its range counts on, as for time.Date.
func Midnight(year int, month time.Month, day int, zone *time.Location) time.Time {
	noon := time.Date(year, month, day, 12, 0, 0, 0, zone)
	t := time.Date(year, month, day, 0, 0, 0, 0, zone)
	if t.Day() == noon.Day() {
		// Where clocks go back at midnight the day has it twice; time.Date gives the first.
		return t
	}
	for t.Day() != noon.Day() { // what time.Date gives for a time that does not exist may lie before the gap
		t = t.Add(15 * time.Minute)
	}
	return t
}

func inRange(t time.Time) bool { return t.Year() >= 1970 && t.Year() < 3000 }

// units are those of ParseSpan that time.ParseDuration does not know.
var units = map[byte]time.Duration{'d': 24 * time.Hour, 'w': 7 * 24 * time.Hour}

// ParseSpan reads a duration as people write it: those of time.ParseDuration, and with days and weeks ("30d",
// "2w3d12h"). ok is false for what is none, or not above 0.
func ParseSpan(text string) (span time.Duration, ok bool) {
	rest := text
	for {
		end := strings.IndexFunc(rest, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
		if end <= 0 || units[rest[end]] == 0 {
			break
		}
		n, err := strconv.ParseFloat(rest[:end], 64)
		length := n * float64(units[rest[end]])
		if err != nil || length > math.MaxInt64/4 {
			return 0, false
		}
		span, rest = span+time.Duration(length), rest[end+1:]
		if span > math.MaxInt64/4 {
			return 0, false
		}
	}
	if rest != "" {
		d, err := time.ParseDuration(rest)
		if err != nil || d < 0 || d > math.MaxInt64/4 {
			return 0, false
		}
		span += d
	}
	return span, span > 0
}
