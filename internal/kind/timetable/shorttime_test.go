// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable_test

import (
	"strings"
	"time"
)

// instant reads a time of 2026-05-04 UTC, or a whole RFC 3339 time.
func instant(text string) time.Time {
	if strings.Contains(text, "T") {
		return at(text)
	}
	if strings.Count(text, ":") == 1 {
		text += ":00"
	}
	return at("2026-05-04T" + text + "Z")
}

// shortTime is the reverse of instant.
func shortTime(t time.Time) string {
	text := strings.TrimSuffix(t.UTC().Format("2006-01-02T15:04:05.999Z"), "Z")
	text = strings.TrimPrefix(text, "2026-05-04T")
	if strings.Count(text, ":") == 2 {
		text = strings.TrimSuffix(text, ":00")
	}
	if strings.Contains(text, "T") {
		return text + "Z"
	}
	return text
}

// short is @12:10 for the child of a time of 2026-05-04.
func short(name string) string {
	stamp, run := strings.CutPrefix(name, "tick-20260504-")
	if !run || len(stamp) < 6 {
		return name
	}
	text := "@" + stamp[:2] + ":" + stamp[2:4]
	if stamp[4:6] != "00" {
		text += ":" + stamp[4:6]
	}
	return text + stamp[6:]
}

// long is the reverse of short.
func long(name string) string {
	rest, run := strings.CutPrefix(name, "@")
	if !run {
		return name
	}
	clock, attempt, retry := strings.Cut(rest, "-")
	if strings.Count(clock, ":") == 1 {
		clock += ":00"
	}
	name = "tick-20260504-" + strings.ReplaceAll(clock, ":", "")
	if retry {
		name += "-" + attempt
	}
	return name
}
