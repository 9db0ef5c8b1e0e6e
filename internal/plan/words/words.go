// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package words

// Words say what the expression names, as the end of a sentence that begins with "It runs": "at 02:30 on weekdays
// (Monday to Friday)". The zone is not part of them.
func (e *Expression) Words() string {
	if e.Every > 0 {
		return "every " + Period(e.Every) + ", counted from the run before"
	}
	if reason := e.names(); reason != "" {
		return "never: " + reason
	}
	times, daily, ending := e.timesWords()
	days := e.daysWords()
	if days == "" && daily {
		days = " every day"
	}
	return times + days + e.monthsWords() + e.yearsWords() + ending
}

// names says why the expression names no time at all, as far as its fields alone show that; "" if they do not.
func (e *Expression) names() string {
	for _, f := range e.Fields() {
		day := f.Name == domColumn.name || f.Name == dowColumn.name
		if !f.Empty() || day || f.Name == yearColumn.name && !e.HasYear {
			continue
		}
		return "the field for the " + f.Name + " names no value"
	}
	if e.DayOfMonth.Empty() && (!e.EitherDay || e.DayOfWeek.Empty()) {
		return "the field for the day of month names no value"
	}
	if e.DayOfWeek.Empty() && !e.EitherDay {
		return "the field for the day of week names no value"
	}
	return ""
}
