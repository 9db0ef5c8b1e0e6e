// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package words_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	everySeconds  = regexp.MustCompile(`^every ([0-9]+) seconds$`)
	ofEveryMinute = regexp.MustCompile(`^at seconds? (.+) of every minute$`)
	eachSuch      = regexp.MustCompile(`^(.*), at (?:(every second)|seconds? (.+)) of each such minute(;.*)?$`)
	everyMinutes  = regexp.MustCompile(`^every ([0-9]+) minutes?(?:, beginning at minute ([0-9]+) of each hour)?$`)
	ofEveryHour   = regexp.MustCompile(`^at minutes? ([^(]+) of every hour(?: \((.*) apart\))?$`)
	ofTheHours    = regexp.MustCompile(`^at minutes? (.+) of (?:the )?hours? (.+)$`)
	stretches     = regexp.MustCompile(`^every ([0-9]+ )?(minute|hour)s? (from .+)$`)
	stretch       = regexp.MustCompile(`^from ([0-9:]+) to ([0-9:]+)$`)
)

// readTimes reads the times of a day as seconds of the day. ending are the parts of the ending that names seconds; nil
// if there is none.
func readTimes(text string, ending []string) (map[int]bool, error) {
	ofMinute := []int{0}
	all := func(upTo, step int) (values []int) {
		for v := 0; v < upTo; v += step {
			values = append(values, v)
		}
		return values
	}
	var err error
	if ending != nil {
		if ofMinute = all(60, 1); ending[2] == "" {
			if ofMinute, err = readList(ending[3], "and", strconv.Atoi); err != nil {
				return nil, err
			}
		}
	}
	minutes, err := readMinutes(text)
	if err != nil {
		return nil, err
	}
	switch m, s := ofEveryMinute.FindStringSubmatch(text), everySeconds.FindStringSubmatch(text); {
	case text == "every second":
		minutes, ofMinute = all(1440, 1), all(60, 1)
	case s != nil:
		step, _ := strconv.Atoi(s[1])
		minutes, ofMinute = all(1440, 1), all(60, step)
	case m != nil:
		if ofMinute, err = readList(m[1], "and", strconv.Atoi); err != nil {
			return nil, err
		}
		minutes = all(1440, 1)
	case minutes == nil:
		listed, err := readClocks(text)
		if ending == nil || err != nil {
			return listed, err
		}
		for second := range listed {
			minutes = append(minutes, second/60)
		}
	}
	seconds := map[int]bool{}
	for _, minute := range minutes {
		for _, second := range ofMinute {
			seconds[minute*60+second] = true
		}
	}
	return seconds, nil
}

// readMinutes reads what is told in minutes of the day; nil if it is told otherwise.
func readMinutes(text string) (minutes []int, err error) {
	if text == "every minute" {
		text = "every 1 minute"
	}
	if m := everyMinutes.FindStringSubmatch(text); m != nil {
		step, _ := strconv.Atoi(m[1])
		first, _ := strconv.Atoi(m[2])
		for v := first; v < 1440; v += step {
			minutes = append(minutes, v)
		}
		return minutes, nil
	}
	if m := ofEveryHour.FindStringSubmatch(text); m != nil {
		ofHour, err := readList(m[1], "and", strconv.Atoi)
		if err != nil {
			return nil, err
		}
		if m[2] != "" && m[2] != gaps(ofHour) {
			return nil, fmt.Errorf("%q: they are %s apart", text, gaps(ofHour))
		}
		return product(ofHour, 24, nil), nil
	}
	if m := ofTheHours.FindStringSubmatch(text); m != nil {
		ofHour, err := readList(m[1], "and", strconv.Atoi)
		if err != nil {
			return nil, err
		}
		hours, err := readList(m[2], "and", strconv.Atoi)
		return product(ofHour, 24, hours), err
	}
	m := stretches.FindStringSubmatch(text)
	if m == nil {
		return nil, nil
	}
	step := 1
	if m[1] != "" {
		step, _ = strconv.Atoi(strings.TrimSpace(m[1]))
	}
	if m[2] == "hour" {
		step *= 60
	}
	for _, part := range splitList(m[3], "and") {
		ends := stretch.FindStringSubmatch(part)
		if ends == nil {
			return nil, fmt.Errorf("no stretch: %q", part)
		}
		from, err := readClock(ends[1])
		if err != nil {
			return nil, err
		}
		to, err := readClock(ends[2])
		if err != nil {
			return nil, err
		}
		for v := from / 60; v <= to/60; v += step {
			minutes = append(minutes, v)
		}
	}
	return minutes, nil
}

func gaps(minutes []int) string {
	var parts []string
	for i, m := range minutes {
		gap := (minutes[(i+1)%len(minutes)] - m + 60) % 60
		noun := " minutes"
		if gap == 1 {
			noun = " minute"
		}
		parts = append(parts, strconv.Itoa(gap)+noun)
	}
	return strings.Join(parts, " and then ")
}

func product(ofHour []int, upTo int, hours []int) (minutes []int) {
	for hour := range upTo {
		if hours == nil || slices.Contains(hours, hour) {
			for _, minute := range ofHour {
				minutes = append(minutes, hour*60+minute)
			}
		}
	}
	return minutes
}

// readClocks reads "at 02:30, 08:30 and 14:30:15".
func readClocks(text string) (map[int]bool, error) {
	list, ok := strings.CutPrefix(text, "at ")
	if !ok {
		return nil, fmt.Errorf("no times: %q", text)
	}
	seconds := map[int]bool{}
	for _, part := range splitList(list, "and") {
		second, err := readClock(part)
		if err != nil {
			return nil, err
		}
		seconds[second] = true
	}
	return seconds, nil
}

// readClock reads 02:30 or 02:30:15 as a second of the day.
func readClock(text string) (int, error) {
	second := 0
	parts := strings.Split(text, ":")
	if len(parts) == 2 {
		parts = append(parts, "00")
	}
	if len(parts) != 3 {
		return 0, fmt.Errorf("no time of day: %q", text)
	}
	for i, part := range parts {
		v, err := strconv.Atoi(part)
		if err != nil || len(part) != 2 || v >= []int{24, 60, 60}[i] {
			return 0, fmt.Errorf("no time of day: %q", text)
		}
		second = second*60 + v
	}
	return second, nil
}
