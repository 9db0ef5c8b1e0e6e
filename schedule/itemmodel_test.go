// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/schedule"
)

// itemModel is an item of a Timetable told twice: as text, and as what it means, by one predicate for each item of a
// field. The tests compare the package, which reads the text, with the predicates.
type itemModel struct {
	text       string
	dayRule    schedule.DayRule
	hash       schedule.Hash
	fields     map[string][]func(t time.Time) bool
	starred    map[string]bool
	namesHours bool
}

func (m *itemModel) options(loc *time.Location, dst schedule.DST) schedule.Options {
	return schedule.Options{Zone: loc, DST: dst, DayRule: m.dayRule, Hash: m.hash}
}

// matches tells whether the item names what a wall clock shows.
func (m *itemModel) matches(wall time.Time) bool {
	field := func(name string) bool {
		return slices.ContainsFunc(m.fields[name], func(matches func(time.Time) bool) bool { return matches(wall) })
	}
	for _, name := range [...]string{"second", "minute", "hour", "month", "year"} {
		if !field(name) {
			return false
		}
	}
	if m.dayRule == schedule.DayRuleBoth || m.starred["dayOfMonth"] || m.starred["dayOfWeek"] {
		return field("dayOfMonth") && field("dayOfWeek")
	}
	return field("dayOfMonth") || field("dayOfWeek")
}

// modelField is a field as the model knows it.
type modelField struct {
	name        string
	low, high   int
	hashHigh    int
	names       []string
	of          func(t time.Time) int
	specialDays bool
}

var modelFields = []modelField{
	{name: "second", high: 59, hashHigh: 59, of: time.Time.Second},
	{name: "minute", high: 59, hashHigh: 59, of: time.Time.Minute},
	{name: "hour", high: 23, hashHigh: 23, of: time.Time.Hour},
	{name: "dayOfMonth", low: 1, high: 31, hashHigh: 28, of: time.Time.Day, specialDays: true},
	{name: "month", low: 1, high: 12, hashHigh: 12, names: monthNames, of: func(t time.Time) int { return int(t.Month()) }},
	{name: "dayOfWeek", high: 6, hashHigh: 6, names: weekdayNames, of: func(t time.Time) int { return int(t.Weekday()) }, specialDays: true},
	{name: "year", low: 1970, high: 2199, of: time.Time.Year},
}

// drawItemModel draws an item with five fields, or with six or seven.
func drawItemModel(t *rapid.T, seconds bool) *itemModel {
	m := &itemModel{
		dayRule: rapid.SampledFrom([]schedule.DayRule{"", schedule.DayRuleEither, schedule.DayRuleBoth}).Draw(t, "dayRule"),
		hash:    schedule.Hash{Namespace: "ops", Name: rapid.StringMatching("[a-z]{1,3}").Draw(t, "name")},
		fields:  map[string][]func(t time.Time) bool{},
		starred: map[string]bool{},
	}
	var texts []string
	for _, f := range modelFields {
		if f.name == "second" && !seconds {
			m.fields[f.name] = append(m.fields[f.name], func(t time.Time) bool { return t.Second() == 0 })
			continue
		}
		if f.name == "year" && (!seconds || rapid.Bool().Draw(t, "no year")) {
			m.fields[f.name] = append(m.fields[f.name], func(time.Time) bool { return true })
			continue
		}
		texts = append(texts, m.drawField(t, f))
	}
	m.text = strings.Join(texts, " ")
	return m
}

func (m *itemModel) drawField(t *rapid.T, f modelField) string {
	items := []string{"*"}
	if rapid.Bool().Draw(t, f.name+" starred") {
		m.starred[f.name] = true
		items[0] = rapid.SampledFrom([]string{"*", "?", "*/1"}).Draw(t, f.name)
		m.fields[f.name] = append(m.fields[f.name], func(wall time.Time) bool { return f.of(wall) >= f.low && f.of(wall) <= f.high })
	} else {
		items = nil
		for range rapid.IntRange(1, 3).Draw(t, f.name+" items") {
			var item string
			var matches func(time.Time) bool
			switch form := rapid.IntRange(0, 3).Draw(t, f.name+" form"); {
			case form == 0 && f.specialDays:
				item, matches = f.drawSpecialDay(t)
			case form == 1 && f.hashHigh > 0:
				item, matches = m.drawHashed(t, f)
			default:
				item, matches = f.drawRange(t)
			}
			if item == "*/1" {
				m.starred[f.name] = true
			}
			items = append(items, item)
			m.fields[f.name] = append(m.fields[f.name], matches)
		}
	}
	if f.name == "hour" {
		m.namesHours = !slices.ContainsFunc(items, func(item string) bool { return strings.ContainsAny(item[:1], "*?") })
	}
	return strings.Join(items, ",")
}

// value writes a value as a number or a name, and Sunday in its three ways.
func (f modelField) value(t *rapid.T, v int) string {
	if f.names != nil && rapid.Bool().Draw(t, f.name+" by name") {
		return anyCase(t, f.names[v])
	}
	return fmt.Sprint(v)
}

func anyCase(t *rapid.T, text string) string {
	if rapid.Bool().Draw(t, "in capitals") {
		return strings.ToUpper(text)
	}
	return strings.ToLower(text)
}

// around lists the values from low to high, going round if low is above high.
func (f modelField) around(low, high int) []int {
	values := []int{low}
	for v := low; v != high; values = append(values, v) {
		if v++; v > f.high {
			v = f.low
		}
	}
	return values
}

// among is a predicate: one of the values at from, from+step and so on.
func (f modelField) among(values []int, from, step int) func(time.Time) bool {
	chosen := map[int]bool{}
	for i := from; i < len(values); i += step {
		chosen[values[i]] = true
	}
	return func(wall time.Time) bool { return chosen[f.of(wall)] }
}

func (f modelField) drawRange(t *rapid.T) (string, func(time.Time) bool) {
	low, high := rapid.IntRange(f.low, f.high).Draw(t, f.name+" low"), rapid.IntRange(f.low, f.high).Draw(t, f.name+" high")
	if f.name == "year" {
		low = rapid.IntRange(f.low, high).Draw(t, "from year")
	}
	step := rapid.IntRange(1, f.high-f.low+2).Draw(t, f.name+" step")
	switch rapid.IntRange(0, 4).Draw(t, f.name+" range") {
	case 0:
		return f.value(t, low), f.among([]int{low}, 0, 1)
	case 1:
		return f.value(t, low) + "-" + f.value(t, high), f.among(f.around(low, high), 0, 1)
	case 2:
		return fmt.Sprintf("%s-%s/%d", f.value(t, low), f.value(t, high), step), f.among(f.around(low, high), 0, step)
	case 3:
		return fmt.Sprintf("%s/%d", f.value(t, low), step), f.among(f.around(low, f.high), 0, step)
	default:
		return fmt.Sprintf("*/%d", step), f.among(f.around(f.low, f.high), 0, step)
	}
}

func (m *itemModel) drawHashed(t *rapid.T, f modelField) (string, func(time.Time) bool) {
	text, values := anyCase(t, "h"), f.around(f.low, f.hashHigh)
	if rapid.Bool().Draw(t, f.name+" hash range") {
		low, high := rapid.IntRange(f.low, f.high).Draw(t, f.name+" low"), rapid.IntRange(f.low, f.high).Draw(t, f.name+" high")
		text, values = fmt.Sprintf("%s(%s-%s)", text, f.value(t, low), f.value(t, high)), f.around(low, high)
	}
	h := m.hash.Value("main", f.name)
	if rapid.Bool().Draw(t, f.name+" hash step") {
		step := rapid.IntRange(1, len(values)).Draw(t, f.name+" step")
		return fmt.Sprintf("%s/%d", text, step), f.among(values, int(h%uint64(step)), step)
	}
	return text, f.among(values, int(h%uint64(len(values))), len(values))
}

// monthOf lists the days of the month of a date.
func monthOf(wall time.Time) (days []time.Time) {
	year, month, _ := wall.Date()
	for day := time.Date(year, month, 1, 0, 0, 0, 0, time.UTC); day.Month() == month; day = day.AddDate(0, 0, 1) {
		days = append(days, day)
	}
	return days
}

func onWeekday(day time.Time) bool {
	return day.Weekday() != time.Saturday && day.Weekday() != time.Sunday
}

func (f modelField) drawSpecialDay(t *rapid.T) (string, func(time.Time) bool) {
	form := rapid.IntRange(0, 3).Draw(t, f.name+" special form")
	if f.name == "dayOfMonth" {
		n := rapid.IntRange(1, 31).Draw(t, "day")
		switch form {
		case 0:
			return anyCase(t, "l"), func(wall time.Time) bool { return wall.AddDate(0, 0, 1).Day() == 1 }
		case 1:
			n = min(n, 30)
			return fmt.Sprintf("%s-%d", anyCase(t, "l"), n), func(wall time.Time) bool { return wall.Day() == len(monthOf(wall))-n }
		case 2:
			return anyCase(t, "lw"), func(wall time.Time) bool {
				weekdays := slices.DeleteFunc(monthOf(wall), func(day time.Time) bool { return !onWeekday(day) })
				return wall.Day() == weekdays[len(weekdays)-1].Day()
			}
		default:
			return fmt.Sprintf("%d%s", n, anyCase(t, "w")), func(wall time.Time) bool {
				nearest, distance := 0, 99
				for _, day := range monthOf(wall) {
					if far := max(day.Day()-n, n-day.Day()); onWeekday(day) && far < distance {
						nearest, distance = day.Day(), far
					}
				}
				return n <= len(monthOf(wall)) && wall.Day() == nearest
			}
		}
	}
	weekday, n := rapid.IntRange(0, 7).Draw(t, "weekday"), rapid.IntRange(1, 5).Draw(t, "nth")
	text := fmt.Sprint(weekday)
	if weekday < 7 {
		text = f.value(t, weekday)
	}
	last := func(wall time.Time) bool {
		return int(wall.Weekday()) == weekday%7 && wall.AddDate(0, 0, 7).Month() != wall.Month()
	}
	switch form {
	case 0:
		return text + anyCase(t, "l"), last
	case 1:
		return text + "#" + anyCase(t, "l"), last
	default:
		return fmt.Sprintf("%s#%d", text, n), func(wall time.Time) bool {
			return int(wall.Weekday()) == weekday%7 && (wall.Day()-1)/7+1 == n
		}
	}
}
