// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timeset

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/carillon-dev/carillon/schedule"
)

// compiler makes sources of items. Its errors name the item.
type compiler struct {
	spec  Spec
	loc   *time.Location
	clock schedule.Clock
}

func (c compiler) item(item Item) (source, error) {
	s, err := c.source(item)
	if _, named := errors.AsType[*schedule.ParseError](err); err == nil || named {
		return s, err
	}
	return nil, fmt.Errorf("schedule %s: %w", item.Name, err)
}

func (c compiler) source(item Item) (source, error) {
	set := 0
	for _, isSet := range [...]bool{item.Cron != "", item.Every != "", len(item.At) > 0} {
		if isSet {
			set++
		}
	}
	switch {
	case set != 1:
		return nil, fmt.Errorf("exactly one of cron, every and at must be set")
	case item.Cron == "" && (item.EveryWeeks != 0 || orDefault(item.DayRule, schedule.DayRuleEither) != schedule.DayRuleEither):
		return nil, fmt.Errorf("dayRule and everyWeeks belong to cron")
	case item.Anchor != "" && item.Every == "" && item.EveryWeeks == 0:
		return nil, fmt.Errorf("anchor belongs to every or everyWeeks")
	case item.Every != "":
		return c.every(item)
	case item.Cron != "":
		return c.cron(item)
	}
	return c.at(item)
}

func (c compiler) cron(item Item) (source, error) {
	options := schedule.Options{Zone: c.loc, DayRule: item.DayRule, DST: c.spec.DST, Hash: c.spec.Hash}
	s, err := schedule.Compile(schedule.Item{Name: item.Name, Cron: item.Cron}, options)
	if err != nil {
		return nil, err
	}
	if item.EveryWeeks == 0 {
		return cron{s}, nil
	}
	if item.EveryWeeks < 2 {
		return nil, fmt.Errorf("everyWeeks must be at least 2")
	}
	m, err := ParseMoment(item.Anchor)
	if item.Anchor == "" || err == nil && !m.DateOnly {
		return nil, fmt.Errorf("everyWeeks needs an anchor that is a date, such as 2026-01-05")
	} else if err != nil {
		return nil, fmt.Errorf("anchor: %w", err)
	}
	return masked{source: cron{s}, mask: weeks{int64(item.EveryWeeks), weekOf(m.Wall)}, clock: c.clock}, nil
}

func (c compiler) every(item Item) (source, error) {
	d, err := ParseDuration(item.Every)
	if err != nil {
		return nil, fmt.Errorf("every: %w", err)
	}
	if d < time.Second {
		return nil, fmt.Errorf("every must be at least 1s")
	}
	g := grid{step: int64(d / time.Second)}
	if item.Anchor != "" {
		m, err := ParseMoment(item.Anchor)
		switch {
		case err != nil:
			return nil, fmt.Errorf("anchor: %w", err)
		case m.DateOnly:
			return nil, fmt.Errorf("the anchor of every needs a time of day")
		}
		// An anchor is placed by Shift and First, whatever dst says.
		g.anchor, _ = c.instant(m, false)
	}
	return g, nil
}

func (c compiler) at(item Item) (source, error) {
	var list moments
	for i, text := range item.At {
		m, err := ParseMoment(text)
		if err == nil && m.DateOnly {
			err = fmt.Errorf("%s needs a time of day", text)
		}
		if err != nil {
			return nil, fmt.Errorf("at[%d]: %w", i, err)
		}
		// Both means the earlier one, because a one-shot runs once.
		sec, inGap := c.instant(m, c.spec.DST.Overlap == schedule.OverlapLast)
		if !inGap || orDefault(c.spec.DST.Gap, schedule.GapShift) == schedule.GapShift {
			list = append(list, sec)
		}
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// instant places a moment.
func (c compiler) instant(m Moment, later bool) (sec int64, inGap bool) {
	if m.Zoned {
		return m.Wall - m.Offset, false
	}
	return place(c.clock, m.Wall, later)
}
