// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"strings"
	"time"
)

// instant writes a time in full.
func instant(t time.Time, zone *time.Location) string {
	return t.In(zone).Format("Mon 2006-01-02 " + clockOf(t) + " -07:00")
}

// clockOf is the layout of a time of day, with seconds if it has any.
func clockOf(t time.Time) string {
	if t.Second() != 0 {
		return "15:04:05"
	}
	return "15:04"
}

// duration writes whole seconds without parts that are 0: "1h30m", "45s", "3d4h".
func duration(d time.Duration) string {
	const day = 24 * time.Hour
	if d >= 2*day {
		text := fmt.Sprintf("%dd", d/day)
		if hours := d % day / time.Hour; hours > 0 {
			text += fmt.Sprintf("%dh", hours)
		}
		return text
	}
	text := d.Round(time.Second).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// number writes a count with commas: "1,412".
func number(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// counted writes a count with its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return number(n) + " " + noun + "s"
}

// wrapped breaks a text into lines of a width, the first one after the given prefix, the others indented as much.
func wrapped(prefix, text string, width int) string {
	var b strings.Builder
	indent := strings.Repeat(" ", len([]rune(prefix)))
	line := prefix
	used := 0
	for word := range strings.FieldsSeq(text) {
		if used > 0 && len([]rune(line))+1+len([]rune(word)) > width {
			b.WriteString(strings.TrimRight(line, " ") + "\n")
			line, used = indent, 0
		}
		if used > 0 {
			line += " "
		}
		line += word
		used++
	}
	return b.String() + strings.TrimRight(line, " ") + "\n"
}

// joined joins parts that are not empty.
func joined(separator string, parts ...string) string {
	var kept []string
	for _, part := range parts {
		if part != "" {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, separator)
}
