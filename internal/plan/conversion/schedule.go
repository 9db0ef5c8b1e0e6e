// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"fmt"
	"strings"
	"time"
)

// cutZone takes the zone off the front of a schedule: "TZ=Asia/Tokyo 0 6 * * *".
func cutZone(text string) (zone, rest string) {
	for _, prefix := range []string{"CRON_TZ=", "TZ="} {
		if after, ok := strings.CutPrefix(text, prefix); ok {
			zone, rest, _ = strings.Cut(after, " ")
			return zone, strings.TrimSpace(rest)
		}
	}
	return "", text
}

// intended writes a cron expression without what CronJobs take by accident: empty items, text behind a star, and plus
// signs. The times are the same.
func intended(text string) string {
	texts := strings.Fields(text)
	for n, field := range texts {
		if strings.HasPrefix(field, "@") {
			continue
		}
		var items []string
		for item := range strings.SplitSeq(field, ",") {
			if item == "" {
				continue
			}
			span, step, stepped := strings.Cut(item, "/")
			low, high, ranged := strings.Cut(span, "-")
			span = withoutPlus(low)
			if ranged && low != "*" && low != "?" {
				span += "-" + withoutPlus(high)
			}
			if stepped {
				span += "/" + withoutPlus(step)
			}
			items = append(items, span)
		}
		texts[n] = strings.Join(items, ",")
	}
	return strings.Join(texts, " ")
}

func withoutPlus(number string) string {
	if after, ok := strings.CutPrefix(number, "+"); ok && after != "" && strings.Trim(after, "0123456789") == "" {
		return after
	}
	return number
}

// durationText writes a length of time as Timetables do: hours, minutes and seconds. ok is false for one that is too
// long for that.
func durationText(d time.Duration) (text string, ok bool) {
	seconds := int64(d / time.Second)
	const mostHours = 99999
	if seconds/3600 > mostHours {
		return "", false
	}
	if seconds == 0 {
		return "0s", true
	}
	for _, unit := range []struct {
		length int64
		name   string
	}{{3600, "h"}, {60, "m"}, {1, "s"}} {
		if n := seconds / unit.length; n > 0 {
			text += fmt.Sprintf("%d%s", n, unit.name)
			seconds -= n * unit.length
		}
	}
	return text, true
}
