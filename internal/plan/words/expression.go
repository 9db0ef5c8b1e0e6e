// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package words

import (
	"slices"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/schedule"
)

// A Language is one of the two cron languages.
type Language int

const (
	// CronJob is that of CronJobs (cronjob.md 3.1).
	CronJob Language = iota
	// Timetable is that of the cron items of a Timetable (timetable.md 3.1).
	Timetable
)

// Options say how a text is read.
type Options struct {
	Language Language
	// DayRule, Hash and Name are for Timetables only: how the day fields go together, by what H is chosen, and the name of
	// the item.
	DayRule schedule.DayRule
	Hash    schedule.Hash
	Name    string
}

// An Expression is a cron expression read into its fields.
type Expression struct {
	// Text is the expression as it was written.
	Text string
	// Zone is the zone that the text itself names (TZ=), and HasZone tells whether there is one.
	Zone    string
	HasZone bool
	// Descriptor is the shorthand that the text is, such as @daily; "" if it has fields.
	Descriptor string
	// Every is the period of "@every"; 0 for all others, which have fields. EveryText is what was written.
	Every     time.Duration
	EveryText string
	// Seconds tells that the text has a field for seconds, HasYear that it has one for years.
	Seconds, HasYear bool
	// The fields. Without one for seconds Second is 0, and without one for years Year has no values and means all.
	Second, Minute, Hour, DayOfMonth, Month, DayOfWeek, Year Field
	// EitherDay tells that a day matches that matches one of the two day fields, because both are restricted. Otherwise it
	// has to match both.
	EitherDay bool
}

// A Field is one field of an expression.
type Field struct {
	// Name is its name: "day of month".
	Name string
	// Text is what was written.
	Text string
	// Values are the values that it names, ascending, without those of Days. Sunday is 0.
	Values []int
	// Days are days told in another way, in a day field of a Timetable.
	Days []Day
	// Starred tells that an item is "*" or "?" without a step above 1.
	Starred bool
	// All tells that Values are all values of the field.
	All bool
	// Steps are the items with a step above 1.
	Steps []Step
	// Hashed are the items with an H.
	Hashed []Hashed
	// Accidents are the forms in it that are accepted and mean nothing, such as "," or "*-5".
	Accidents []string
}

// A Step is an item with a step, such as "*/40".
type Step struct {
	Item string
	Step int
	// Values are what it names, in its order.
	Values []int
	// Star tells that it begins with "*" or "?".
	Star bool
}

// A Hashed is an item with an H, and the values that were chosen.
type Hashed struct {
	Item   string
	Values []int
}

// Empty tells that the field names nothing at all.
func (f Field) Empty() bool { return len(f.Values) == 0 && len(f.Days) == 0 }

// Read reads an expression. The error is that of package schedule, which says what is wrong and what to write instead.
func Read(text string, o Options) (*Expression, error) {
	if o.Language == Timetable {
		_, err := schedule.Compile(schedule.Item{Name: o.Name, Cron: text}, schedule.Options{DayRule: o.DayRule, Hash: o.Hash})
		if err != nil {
			return nil, err
		}
		return readTimetable(text, o), nil
	}
	parsed, err := schedule.Parse(text, nil)
	if err != nil {
		return nil, err
	}
	e := &Expression{Text: text}
	rest := text
	if strings.HasPrefix(rest, "TZ=") || strings.HasPrefix(rest, "CRON_TZ=") {
		prefix, after, _ := strings.Cut(rest, " ")
		_, e.Zone, _ = strings.Cut(prefix, "=")
		e.HasZone = true
		rest = strings.TrimSpace(after)
	}
	if period, ok := parsed.Every(); ok {
		e.Every, e.EveryText = period, strings.TrimPrefix(rest, "@every ")
		return e, nil
	}
	e.fields(rest, o)
	return e, nil
}

func readTimetable(text string, o Options) *Expression {
	e := &Expression{Text: text}
	e.fields(strings.Trim(text, " \t"), o)
	return e
}

// descriptors are what the shorthands stand for.
var descriptors = map[string]string{
	"@yearly":   "0 0 1 1 *",
	"@annually": "0 0 1 1 *",
	"@monthly":  "0 0 1 * *",
	"@weekly":   "0 0 * * 0",
	"@daily":    "0 0 * * *",
	"@midnight": "0 0 * * *",
	"@hourly":   "0 * * * *",
}

// fields reads a text that package schedule has accepted.
func (e *Expression) fields(text string, o Options) {
	if meant, ok := descriptors[text]; ok {
		e.Descriptor, text = text, meant
	}
	texts := strings.Fields(text)
	if len(texts) < 5 {
		return // which package schedule does not accept
	}
	if len(texts) == 5 {
		texts = append([]string{"0"}, texts...)
	} else {
		e.Seconds = true
	}
	r := reader{language: o.Language, hash: o.Hash, name: o.Name}
	e.Second = r.field(&secondColumn, texts[0])
	e.Minute = r.field(&minuteColumn, texts[1])
	e.Hour = r.field(&hourColumn, texts[2])
	e.DayOfMonth = r.field(&domColumn, texts[3])
	e.Month = r.field(&monthColumn, texts[4])
	e.DayOfWeek = r.field(&dowColumn, texts[5])
	e.Year = Field{Name: yearColumn.name}
	if len(texts) == 7 {
		e.HasYear = true
		e.Year = r.field(&yearColumn, texts[6])
	}
	e.EitherDay = o.DayRule != schedule.DayRuleBoth && !e.DayOfMonth.Starred && !e.DayOfWeek.Starred
}

// NamesHours tells whether a Timetable reads the expression as one that names hours of the wall clock, which dst
// places, and not as one that flows with the clock.
func (e *Expression) NamesHours() bool {
	return e.Every == 0 && !slices.ContainsFunc(strings.Split(e.Hour.Text, ","), func(item string) bool {
		return strings.HasPrefix(item, "*") || strings.HasPrefix(item, "?")
	})
}

// Fields are the fields from the seconds to the year; those that were not written are among them. An "@every" has none.
func (e *Expression) Fields() []Field {
	if e.Every > 0 {
		return nil
	}
	return []Field{e.Second, e.Minute, e.Hour, e.DayOfMonth, e.Month, e.DayOfWeek, e.Year}
}
