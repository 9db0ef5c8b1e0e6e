// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package crontab

import (
	"fmt"
	"strings"
)

// A timing is when an entry runs.
type timing struct {
	// cron is the schedule in the language of CronJobs and Timetables.
	cron string
	// both tells that a day must match both of its fields, which no CronJob can say.
	both bool
	// flows tells that the entry runs by what the clock shows on the days on which it changes, too: cron makes
	// nothing up and takes nothing out where minute or hour begins with a star.
	flows bool
	// hourFlows tells that it is the hour that begins with one, as it does for Timetables.
	hourFlows bool
	// reboot tells that it runs when the machine starts.
	reboot bool
	// notes say where the text is another one than in the crontab.
	notes []string
}

// descriptors are the words that stand for a time, with what CronJobs call them.
var descriptors = map[string]string{
	"@yearly": "@yearly", "@annually": "@yearly", "@monthly": "@monthly", "@weekly": "@weekly",
	"@daily": "@daily", "@midnight": "@daily", "@hourly": "@hourly",
}

func readDescriptor(word string) (timing, error) {
	lower := strings.ToLower(word)
	switch known := descriptors[lower]; {
	case lower == "@reboot":
		return timing{reboot: true}, nil
	case known != "":
		return timing{cron: known, flows: known == "@hourly", hourFlows: known == "@hourly"}, nil
	case lower == "@every_minute":
		return timing{cron: "* * * * *", flows: true, hourFlows: true}, nil
	case lower == "@every":
		return timing{}, fmt.Errorf("@every is no word of cron; write five fields, such as */5 * * * * for every five minutes")
	}
	return timing{}, fmt.Errorf("%s is no time; there are @hourly, @daily, @weekly, @monthly, @yearly and @reboot, or five fields", word)
}

// readFields reads five fields. seed tells which values stand for random ones.
func readFields(texts []string, seed string) (timing, error) {
	var fields [5]field
	var t timing
	for n, text := range texts {
		f, err := readField(&columns[n], text, seed)
		if err != nil {
			return timing{}, err
		}
		for _, chosen := range f.chosen {
			t.notes = append(t.notes, "cron would draw the time at random each time it reads the crontab: "+chosen+", and stays so")
		}
		fields[n] = f
	}
	minute, hour, month := &fields[0], &fields[1], &fields[3]
	t.flows, t.hourFlows = minute.star || hour.star, hour.star
	if !hour.star && strings.Contains(hour.text, "*") {
		hour.text = listOf(hour.values) // 5,*/2 names hours for cron, and flows with the clock for a Timetable
	}
	days, weekdays, both := t.dayFields(&fields[2], &fields[dayOfWeek])
	t.both = both
	t.cron = strings.Join([]string{minute.text, hour.text, days, month.text, weekdays}, " ")
	written := strings.Join(texts, " ")
	if t.notes == nil && t.cron != written {
		t.notes = append(t.notes, fmt.Sprintf("the times are those of %q, which CronJobs read in another way or not at all", written))
	}
	return t, nil
}

// dayFields gives the two fields of a day as CronJobs read them. For cron a day must match both of them if one begins
// with a star, even "*/2", and one of them else. For CronJobs a field leaves the choice to the other if it has a star
// without a step, wherever that stands.
func (t *timing) dayFields(days, weekdays *field) (dayText, weekdayText string, both bool) {
	switch {
	case (days.star || weekdays.star) == (leavesChoice(days.text) || leavesChoice(weekdays.text)):
		return days.text, weekdays.text, false
	case !days.star && !weekdays.star && (days.full || weekdays.full):
		return "*", "*", false
	case days.full && weekdays.full:
		return "*", "*", false
	case days.full:
		return "*", weekdays.text, false
	case weekdays.full:
		return days.text, "*", false
	case days.star || weekdays.star:
		t.notes = append(t.notes, "cron runs it on days that match both day of month and day of week, because one of them begins with *; "+
			"a CronJob would run it on days that match either, so this is a Timetable with dayRule: Both")
		return days.text, weekdays.text, true
	}
	return days.text, weekdays.text, false
}

// leavesChoice tells whether CronJobs let the other day field choose the days.
func leavesChoice(text string) bool {
	for item := range strings.SplitSeq(text, ",") {
		if item == "*" || strings.HasPrefix(item, "*/") && strings.TrimLeft(item[2:], "0") == "1" {
			return true
		}
	}
	return false
}
