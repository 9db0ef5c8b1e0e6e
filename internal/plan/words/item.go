// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package words

import (
	"fmt"
	"strings"

	"github.com/carillon-dev/carillon/schedule/timeset"
)

// epoch is the anchor of every without one.
const epoch = "1970-01-01T00:00:00Z"

// Item says what one schedule of a Timetable names. expression is its cron text, read; nil if it has none. The item
// must be one that package timeset compiles.
func Item(item timeset.Item, expression *Expression) string {
	switch {
	case expression != nil && item.EveryWeeks > 1:
		return fmt.Sprintf("%s; only in every %s week (Monday to Sunday), counted from that of %s",
			expression.Words(), ordinal(item.EveryWeeks), item.Anchor)
	case expression != nil:
		return expression.Words()
	case item.Every != "":
		return everyWords(item)
	}
	return atWords(item.At)
}

func everyWords(item timeset.Item) string {
	d, err := timeset.ParseDuration(item.Every)
	if err != nil {
		return "every " + item.Every
	}
	anchor := item.Anchor
	if anchor == "" {
		anchor = epoch
	}
	return "every " + Period(d) + " of real time, counted from " + moment(anchor)
}

// mostMoments is how many moments are written out.
const mostMoments = 6

func atWords(at []string) string {
	var parts []string
	for i, text := range at {
		if i == mostMoments && len(at) > mostMoments+1 {
			parts = append(parts, fmt.Sprintf("%d more moments", len(at)-mostMoments))
			break
		}
		parts = append(parts, moment(text))
	}
	if len(parts) == 1 {
		return "once, at " + parts[0]
	}
	return fmt.Sprintf("%d times: at %s", len(at), join(parts, "and"))
}

// moment writes 2027-03-01T14:00 as people read it. One that has an offset of its own keeps it.
func moment(text string) string { return strings.Replace(text, "T", " ", 1) }
