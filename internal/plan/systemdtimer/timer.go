// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package systemdtimer

import (
	"fmt"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/carillon-dev/carillon/internal/plan/document"
)

// A timing is when a timer starts its service.
type timing struct {
	schedules    *yaml.Node
	zone, jitter string
	persistent   bool
	// calendar tells that a schedule comes again by the clock on the wall.
	calendar bool
}

// understoodOfTimer are the settings of a timer that become something, are told of, or make no difference.
var understoodOfTimer = []string{
	"Timer.OnCalendar", "Timer.OnActiveSec", "Timer.OnBootSec", "Timer.OnStartupSec", "Timer.OnUnitActiveSec", "Timer.OnUnitInactiveSec",
	"Timer.Unit", "Timer.Persistent", "Timer.RandomizedDelaySec", "Timer.RandomizedOffsetSec", "Timer.FixedRandomDelay", "Timer.AccuracySec",
	"Timer.WakeSystem", "Timer.RemainAfterElapse",
}

const (
	mostSchedules = 16
	longestJitter = 24 * time.Hour
	longestEvery  = 99999 * time.Hour
)

// when reads the timer; nil if it names nothing that comes again, which is told.
func (c *converter) when(file unitFile) (*timing, error) {
	t := &timing{zone: c.options.Zone, persistent: isYes(file.last("Timer.Persistent"))}
	items, err := c.events(file, t)
	if err != nil {
		return nil, err
	}
	for _, setting := range []struct{ name, counts string }{
		{"OnUnitActiveSec", "from the last start of the service"},
		{"OnUnitInactiveSec", "from the last end of the service"},
	} {
		for _, text := range file.values["Timer."+setting.name] {
			length, infinite, err := readSpan(text)
			if err == nil && (infinite || length < time.Second || length > longestEvery) {
				err = fmt.Errorf("%q is no distance from 1s to %s", text, longestEvery)
			}
			if err != nil {
				return nil, fmt.Errorf("%s=: %w", setting.name, err)
			}
			c.note(c.timer.File, "%s=%s counts %s; here it is every %s on a grid that nothing moves", setting.name, text, setting.counts, spanText(length))
			items = append(items, document.Map("every", spanText(length)))
		}
	}
	for _, name := range []string{"OnBootSec", "OnStartupSec", "OnActiveSec"} {
		if text := file.last("Timer." + name); text != "" {
			if len(items) > 0 {
				c.note(c.timer.File, "%s=%s is left out: nothing starts with the machine, the first run is at the next time", name, text)
				continue
			}
			c.note(c.timer.File, "%s=%s is no time that comes again, and nothing was made of it: leave that to systemd, or write a Job", name, text)
		}
	}
	switch {
	case len(items) == 0 && len(c.notes) == 0:
		return nil, fmt.Errorf("there is no OnCalendar=, OnUnitActiveSec= or their like in [Timer]")
	case len(items) == 0:
		return nil, nil
	case len(items) > mostSchedules:
		return nil, fmt.Errorf("there are %d times, and a Timetable has %d at most: split the timer", len(items), mostSchedules)
	}
	t.schedules = named(items)
	return t, c.delays(file, t)
}

// named gives each of several schedules a name of its own.
func named(items []*yaml.Node) *yaml.Node {
	list := document.List()
	for n, item := range items {
		if len(items) > 1 {
			item.Content = append(document.Map("name", fmt.Sprintf("time-%d", n+1)).Content, item.Content...)
		}
		list.Content = append(list.Content, item)
	}
	return list
}

// events reads OnCalendar=.
func (c *converter) events(file unitFile, t *timing) ([]*yaml.Node, error) {
	var items []*yaml.Node
	zone, zoned := "", false
	for _, text := range file.values["Timer.OnCalendar"] {
		text, err := specifiers(c.timer.Name).expand(text)
		if err != nil {
			return nil, fmt.Errorf("OnCalendar=: %w", err)
		}
		event, err := readCalendar(text)
		if err != nil {
			return nil, err
		}
		own := event.zone
		if own == "" {
			own = c.options.Zone
		}
		if zoned && own != zone && !strings.HasSuffix(event.at, "Z") {
			return nil, fmt.Errorf("OnCalendar= names times in %s and in %s, and a Timetable has one time zone: split the timer", zone, own)
		}
		if !strings.HasSuffix(event.at, "Z") {
			zone, zoned = own, true
		}
		switch {
		case event.at != "":
			items = append(items, document.Map("at", document.Flow(document.List(document.Quoted(event.at)))))
		case event.both:
			t.calendar = true
			items = append(items, document.Map("cron", document.Quoted(event.cron), "dayRule", "Both"))
		default:
			t.calendar = true
			items = append(items, document.Map("cron", document.Quoted(event.cron)))
		}
	}
	if zoned {
		t.zone = zone
	}
	return items, nil
}

// delays reads what puts a start off.
func (c *converter) delays(file unitFile, t *timing) error {
	for _, name := range []string{"RandomizedDelaySec", "RandomizedOffsetSec"} {
		text := file.last("Timer." + name)
		if text == "" {
			continue
		}
		length, infinite, err := readSpan(text)
		if err == nil && (infinite || length > longestJitter) {
			err = fmt.Errorf("%q is longer than the 24h that jitter has at most", text)
		}
		if err != nil {
			return fmt.Errorf("%s=: %w", name, err)
		}
		if length < time.Second {
			continue
		}
		if c.options.CronJob {
			return fmt.Errorf("%s=%s: a CronJob has no such thing; --kind timetable has jitter", name, text)
		}
		t.jitter = spanText(length)
		if name == "RandomizedDelaySec" && !isYes(file.last("Timer.FixedRandomDelay")) {
			c.note(c.timer.File, "%s=%s is another delay each time; jitter is the same one each time, so that it can be told in advance", name, text)
		}
	}
	if text := file.last("Timer.AccuracySec"); text != "" {
		c.note(c.timer.File, "AccuracySec=%s is left out: runs start in the second in which they are due", text)
	}
	if isYes(file.last("Timer.WakeSystem")) {
		c.note(c.timer.File, "WakeSystem= is left out: nothing wakes the machine")
	}
	if t.persistent && len(file.values["Timer.OnCalendar"]) == 0 {
		t.persistent = false
	}
	return nil
}

// spanText writes a length of time as Timetables do.
func spanText(length time.Duration) string {
	length = length.Truncate(time.Second)
	text := ""
	for _, unit := range []struct {
		length time.Duration
		name   string
	}{{time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}} {
		if n := length / unit.length; n > 0 {
			text += fmt.Sprintf("%d%s", n, unit.name)
			length -= n * unit.length
		}
	}
	return text
}
