// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"fmt"
	"strings"
	"time"

	"pgregory.net/rapid"
)

// model is an expression told twice: as text, and as what it means, by tables of
// values. The tests compare the package, which reads the text, with the tables.
type model struct {
	text                          string
	minute, hour, dom, month, dow [60]bool
	domStarred, dowStarred        bool
}

// matches is the definition of a tick: what a wall clock shows at t.
func (m *model) matches(t time.Time) bool {
	hour, minute, second := t.Clock()
	if second != 0 || !m.minute[minute] || !m.hour[hour] {
		return false
	}
	_, month, day := t.Date()
	dom, dow := m.dom[day], m.dow[t.Weekday()]
	if !m.month[month] {
		return false
	}
	if m.domStarred || m.dowStarred {
		return dom && dow
	}
	return dom || dow
}

// walk lists the ticks in (after, until], looking at every step of the clock. Steps
// are as fine as the zone's offsets from UTC need: a minute since 1972.
func (m *model) walk(loc *time.Location, after, until time.Time, step time.Duration) []time.Time {
	var ticks []time.Time
	for t := after.Truncate(step).In(loc); !t.After(until); t = t.Add(step) {
		if t.After(after) && m.matches(t) {
			ticks = append(ticks, t)
		}
	}
	return ticks
}

var (
	monthNames   = []string{"", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}
	weekdayNames = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}
)

// drawModel draws an expression. Dense ones are common, so that short windows have
// ticks.
func drawModel(t *rapid.T) *model {
	m := &model{}
	var texts [5]string
	texts[0], _ = drawField(t, "minute", 0, 59, nil, &m.minute)
	texts[1], _ = drawField(t, "hour", 0, 23, nil, &m.hour)
	texts[2], m.domStarred = drawField(t, "dom", 1, 31, nil, &m.dom)
	texts[3], _ = drawField(t, "month", 1, 12, monthNames, &m.month)
	texts[4], m.dowStarred = drawField(t, "dow", 0, 6, weekdayNames, &m.dow)
	m.text = strings.Join(texts[:], " ")
	return m
}

func drawField(t *rapid.T, name string, low, high int, names []string, set *[60]bool) (text string, starred bool) {
	// Days and months restricted in one of two draws leave enough of a calendar.
	if rapid.Bool().Draw(t, name+" starred") {
		for v := low; v <= high; v++ {
			set[v] = true
		}
		return rapid.SampledFrom([]string{"*", "?", "*/1", "*-3"}).Draw(t, name), true
	}
	var items []string
	for range rapid.IntRange(1, 3).Draw(t, name+" items") {
		item, star := drawItem(t, name, low, high, names, set)
		items = append(items, item)
		starred = starred || star
	}
	return strings.Join(items, ","), starred
}

func drawItem(t *rapid.T, name string, low, high int, names []string, set *[60]bool) (text string, starred bool) {
	value := func(v int) string {
		if names != nil && rapid.Bool().Draw(t, name+" by name") {
			if rapid.Bool().Draw(t, name+" in capitals") {
				return strings.ToUpper(names[v])
			}
			return names[v]
		}
		return fmt.Sprint(v)
	}
	from := rapid.IntRange(low, high).Draw(t, name+" from")
	to := rapid.IntRange(from, high).Draw(t, name+" to")
	step := rapid.IntRange(1, high+2).Draw(t, name+" step")
	switch rapid.IntRange(0, 4).Draw(t, name+" form") {
	case 0:
		to, step, text = from, 1, value(from)
	case 1:
		step, text = 1, value(from)+"-"+value(to)
	case 2:
		text = fmt.Sprintf("%s-%s/%d", value(from), value(to), step)
	case 3:
		to, text = high, fmt.Sprintf("%s/%d", value(from), step)
	case 4:
		from, to, text, starred = low, high, fmt.Sprintf("*/%d", step), step == 1
	}
	for v := from; v <= to; v += step {
		set[v] = true
	}
	return text, starred
}
