// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package explanation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/quantity"
	"github.com/carillon-dev/carillon/internal/plan/words"
	"github.com/carillon-dev/carillon/schedule"
)

// Surprises of the fields of an expression.

// namesAnything tells whether a cron item names any date at all.
func namesAnything(i item) bool {
	if i.spec.Cron != "" {
		compiled, err := schedule.Compile(schedule.Item{Name: i.name, Cron: i.text}, schedule.Options{DayRule: i.spec.DayRule})
		return err == nil && compiled.Satisfiable()
	}
	parsed, err := schedule.Parse(i.text, nil)
	return err == nil && parsed.Satisfiable()
}

func eitherDay(s *subject, _ *Explanation) []Surprise {
	var found []Surprise
	for _, i := range s.crons() {
		e := i.expression
		if !e.EitherDay || e.DayOfMonth.Empty() || e.DayOfWeek.Empty() || e.DayOfMonth.All || e.DayOfWeek.All {
			continue
		}
		message := fmt.Sprintf("Both day fields are restricted (%s and %s)%s, so it runs on a day that matches either of them, not only where both do.",
			e.DayOfMonth.Text, e.DayOfWeek.Text, s.in(i))
		found = append(found, one("day-of-month-and-week", message, s.choose(
			"If both shall match: leave one of them *, and let the command check the other; or use a Timetable with dayRule: Both.",
			"If both shall match, write dayRule: Both."))...)
	}
	return found
}

func dayWithoutEffect(s *subject, _ *Explanation) []Surprise {
	var found []Surprise
	for _, i := range s.crons() {
		e := i.expression
		if !e.EitherDay || e.DayOfMonth.All == e.DayOfWeek.All {
			continue
		}
		all, other := e.DayOfMonth, e.DayOfWeek
		if e.DayOfWeek.All {
			all, other = other, all
		}
		found = append(found, one("day-field-without-effect", fmt.Sprintf(
			"%s in the field for the %s names every day but is no *, so the field for the %s (%s) has no effect%s: it runs on every day.",
			all.Text, all.Name, other.Name, other.Text, s.in(i)), fmt.Sprintf("Write * for the %s.", all.Name))...)
	}
	return found
}

// everyMinuteOfAnHour: the hour is named, and the minute is *.
func everyMinuteOfAnHour(s *subject, _ *Explanation) []Surprise {
	const few = 3
	var found []Surprise
	for _, i := range s.crons() {
		e := i.expression
		if !e.Minute.All || e.Minute.Text != "*" || e.Seconds || len(e.Hour.Values) > few || len(e.Hour.Hashed) > 0 {
			continue
		}
		found = append(found, one("every-minute-of-an-hour", fmt.Sprintf("The hour is named and the minute is *%s: that is every minute of the hour, 60 runs, and not one.", s.in(i)),
			"If it shall run once, write the minute: 0 "+e.Hour.Text+".")...)
	}
	return found
}

func unevenSteps(s *subject, _ *Explanation) []Surprise {
	var found []Surprise
	for _, i := range s.crons() {
		e := i.expression
		for _, f := range []words.Field{e.Second, e.Minute, e.Hour, e.DayOfMonth, e.Month, e.DayOfWeek} {
			for _, step := range f.Steps {
				if step.Star || !strings.Contains(step.Item, "-") {
					found = append(found, unevenStep(s, i, f, step)...)
				}
			}
		}
	}
	return found
}

// sizes are how many values the fields have that come round after the same time.
var sizes = map[string]struct {
	size  int
	noun  string
	round string
}{
	"second": {60, "second", "the minute"}, "minute": {60, "minute", "the hour"}, "hour": {24, "hour", "the day"},
	"day of month": {0, "day", "the month"}, "month": {12, "month", "the year"}, "day of week": {7, "day", "the week"},
}

func unevenStep(s *subject, i item, f words.Field, step words.Step) []Surprise {
	about := sizes[f.Name]
	if len(step.Values) == 1 {
		return one("step-beyond-field", fmt.Sprintf("%s in the field for the %s%s names one value alone (%d): the next one would be beyond the end of %s.",
			step.Item, f.Name, s.in(i), step.Values[0], about.round), s.choose("Write the times, or use a Timetable with every.", "Write the times, or use every."))
	}
	if f.Name == "day of month" {
		return one("uneven-step", fmt.Sprintf("%s counts from the start of each month%s: after day %d comes day %d of the next month, however few days lie between.",
			step.Item, s.in(i), step.Values[len(step.Values)-1], step.Values[0]), s.choose(
			"For a steady distance of days use a Timetable with every, or let the command keep count.", fmt.Sprintf("For a steady distance use every: %dh, with an anchor.", 24*step.Step)))
	}
	last := about.size - (step.Values[len(step.Values)-1] - step.Values[0])
	if last == step.Step {
		return nil
	}
	cure := "Choose a step that divides " + map[string]string{"second": "60", "minute": "60", "hour": "24", "month": "12", "day of week": "7"}[f.Name]
	if f.Name == "day of week" {
		cure = "Write the days"
	}
	return one("uneven-step", fmt.Sprintf("%s is no steady distance%s: it starts anew with %s, so after steps of %s comes one of %s.",
		step.Item, s.in(i), about.round, quantity.Count(step.Step, about.noun), quantity.Count(last, about.noun)),
		cure+s.choose("; or use a Timetable with every, whose distance is steady.", "; or use every, whose distance is steady."))
}

var monthLengths = [13]int{0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}

// missingDays: days that not all of the months have.
func missingDays(s *subject, _ *Explanation) []Surprise {
	var found []Surprise
	for _, i := range s.crons() {
		e := i.expression
		days := e.DayOfMonth
		if days.All || days.Starred || len(days.Values) == 0 || slices.ContainsFunc(days.Steps, func(step words.Step) bool { return step.Star }) {
			continue
		}
		largest := days.Values[len(days.Values)-1]
		var without []string
		has := false
		for _, m := range e.Month.Values {
			if monthLengths[m] < largest {
				without = append(without, time.Month(m).String())
			} else {
				has = true
			}
			if m == 2 && largest == 29 && len(e.Month.Values) > 1 {
				without = append(without, "February (but in leap years)")
			}
		}
		if len(without) == 0 || !has {
			continue
		}
		found = append(found, one("day-missing-in-months", fmt.Sprintf("Some months have no day %d%s: nothing happens for it in %s.",
			largest, s.in(i), strings.Join(without, ", ")), s.choose(
			"For the last day of each month use a Timetable with L as the day of month; or day 28.", "For the last day of each month write L."))...)
	}
	return found
}

func leapDay(s *subject, e *Explanation) []Surprise {
	for _, i := range s.crons() {
		x := i.expression
		if slices.Equal(x.Month.Values, []int{2}) && slices.Equal(x.DayOfMonth.Values, []int{29}) && len(x.DayOfMonth.Days) == 0 && !x.EitherDay && e.Next != nil {
			return one("leap-day", "29 February comes in leap years only: the next time is on "+e.Next.Format(time.DateOnly)+".",
				"Write 28 February or 1 March"+s.choose(", or use a Timetable with L.", ", or L for the last day of February."))
		}
	}
	return nil
}

func longGap(s *subject, e *Explanation) []Surprise {
	if e.Next == nil || len(leapDay(s, e)) > 0 {
		return nil
	}
	const year = 366 * day
	if wait := e.Next.Sub(s.now); wait > year {
		return one("long-gap", "The next time is more than a year away, on "+e.Next.Format(time.DateOnly)+".", "Check that this is what you mean.")
	}
	if gap := time.Duration(e.Frequency.LargestDistanceSeconds) * time.Second; gap > year {
		return one("long-gap", fmt.Sprintf("Up to %d days pass between two runs.", int(gap/day)), "Check that this is what you mean.")
	}
	return nil
}

// herd: times at which many other schedules run.
func herd(s *subject, e *Explanation) []Surprise {
	if e.Next == nil {
		return nil
	}
	for _, i := range s.crons() {
		x := i.expression
		if len(x.Minute.Hashed) > 0 || !slices.Equal(x.Minute.Values, []int{0}) {
			continue
		}
		when, cure := "on the full hour", "Choose another minute, such as 17"
		if slices.Equal(x.Hour.Values, []int{0}) {
			when, cure = "at midnight", "Choose another time, such as 02:17"
		}
		return one("herd", fmt.Sprintf("It runs %s%s, as most schedules do: image pulls, databases and the API are busiest then.", when, s.in(i)),
			cure+s.choose(", or use a Timetable with H, which spreads them.", ", or H, which spreads them."))
	}
	return nil
}

// dayNumbers: numbers that other systems read otherwise.
func dayNumbers(s *subject, _ *Explanation) []Surprise {
	for _, i := range s.crons() {
		f := i.expression.DayOfWeek
		if i.expression.Descriptor != "" || f.All {
			continue
		}
		for number := range strings.FieldsFuncSeq(f.Text, func(r rune) bool { return strings.ContainsRune(",-", r) }) {
			number, _, _ = strings.Cut(number, "/")
			if number == "0" || number == "7" {
				return one("day-of-week-number", number+" is Sunday"+s.in(i)+": days of the week count from 0. (Quartz counts from 1, so there 7 is Saturday.)",
					"Write names, such as SUN.")
			}
		}
	}
	return nil
}

func moreFields(s *subject, _ *Explanation) []Surprise {
	for _, i := range s.crons() {
		switch e := i.expression; {
		case e.HasYear:
			return one("seconds-field", "It has seven fields"+s.in(i)+": the first is seconds, the last is the year.", "")
		case e.Seconds:
			return one("seconds-field", "It has six fields"+s.in(i)+": the first is seconds, and minutes come second. (Some systems put a year last instead.)",
				"If you mean minutes first, take one field away.")
		}
	}
	return nil
}

func accidents(s *subject, _ *Explanation) []Surprise {
	var found []Surprise
	for _, i := range s.crons() {
		for _, f := range i.expression.Fields() {
			for _, form := range f.Accidents {
				found = append(found, Surprise{ID: "accidental-form", Message: fmt.Sprintf("The field for the %s (%s) has %s, which is taken and ignored.", f.Name, f.Text, form),
					Cure: "Take it away; a Timetable refuses it."})
			}
		}
	}
	return slices.Compact(found)
}
