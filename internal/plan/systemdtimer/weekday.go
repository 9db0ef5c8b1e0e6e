// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package systemdtimer

import (
	"fmt"
	"strings"
)

var weekdayNames = []string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}

// readWeekdays reads "Mon,Wed..Fri". A week begins on Monday.
func readWeekdays(text string) (string, error) {
	var days [7]bool
	for item := range strings.SplitSeq(text, ",") {
		low, high, ranged := strings.Cut(item, "..")
		if !ranged {
			low, high, ranged = strings.Cut(item, "-") // of old versions
		}
		first, err := readWeekday(low)
		last := first
		if err == nil && ranged {
			last, err = readWeekday(high)
		}
		switch {
		case err != nil:
			return "", err
		case last < first:
			return "", fmt.Errorf("%s goes backwards, and a week begins on Monday: write %s..Sun,Mon..%s", item, low, high)
		}
		for day := first; day <= last; day++ {
			days[day] = true
		}
	}
	return weekdayList(days), nil
}

// weekdayList writes days of the week for cron, as ranges where there are three or more.
func weekdayList(days [7]bool) string {
	var items []string
	name := func(day int) string { return strings.ToUpper(weekdayNames[day][:3]) }
	for day := 0; day < len(days); day++ {
		if !days[day] {
			continue
		}
		last := day
		for last+1 < len(days) && days[last+1] {
			last++
		}
		switch last - day {
		case 0:
			items = append(items, name(day))
		case 1:
			items = append(items, name(day), name(last))
		case len(days) - 1:
			return "*"
		default:
			items = append(items, name(day)+"-"+name(last))
		}
		day = last
	}
	return strings.Join(items, ",")
}

func readWeekday(text string) (int, error) {
	for n, name := range weekdayNames {
		if lower := strings.ToLower(text); lower == name || lower == name[:3] {
			return n, nil
		}
	}
	return 0, fmt.Errorf("%q is no day of the week", text)
}
