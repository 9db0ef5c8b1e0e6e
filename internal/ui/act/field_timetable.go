// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/carillon-dev/carillon/internal/ui/entry"
)

const durationHint = "Such as 30s, 10m or 4h. "

// timetableSections are the inputs for a Timetable: those for its schedules as it has them now.
func timetableSections(object map[string]any) []section {
	when := section{Legend: "When"}
	schedules, _, _ := unstructured.NestedFieldNoCopy(object, "spec", "schedules")
	list, _ := schedules.([]any)
	for i, item := range list {
		if schedule, ok := item.(map[string]any); ok {
			when.Settings = append(when.Settings, scheduleSetting(i, schedule, len(list)))
		}
	}
	when.Settings = append(when.Settings,
		zone("UTC."),
		suspended(),
		input("suspendUntil", "Suspended until", "An instant such as 2026-12-27T06:00:00Z. Empty: not.", "spec", "suspendUntil").checked(entry.Instant),
		length("jitter", "Jitter", "Starts are put off by at most that, always by the same time.", 0, 24*time.Hour, "spec", "jitter"))
	return []section{when, {Legend: "What if", Settings: []*setting{
		choose("concurrency.policy", "There is no room for a run", "", "Forbid (the default)",
			[]string{"Forbid the newest time waits", "Queue times wait in line", "Replace the oldest run is stopped", "Allow they run side by side"}, "spec", "concurrency", "policy"),
		number("concurrency.limit", "Runs at once", "Empty: 1.", 1, 100, "spec", "concurrency", "limit"),
		number("concurrency.queueLimit", "Times in line, for Queue", "Empty: 10.", 0, 100, "spec", "concurrency", "queueLimit"),
		length("startingDeadline", "Starting deadline", "A time that cannot start within so long is missed. Empty: however late it is.", time.Second, 0, "spec", "startingDeadline"),
		choose("catchUp.policy", "After an outage", "", "Latest (the default)", []string{"None nothing is made up", "Latest the newest time starts", "All they all start, in their order"}, "spec", "catchUp", "policy"),
		choose("onResume", "After a suspension", "", "Skip (the default)", []string{"Skip nothing is made up", "CatchUp as after an outage"}, "spec", "onResume"),
		number("retry.limit", "Retries of a run that failed", "Empty: none.", 1, 10, "spec", "retry", "limit"),
		length("retry.delay", "First retry after", "It doubles with each. Empty: 10s.", 0, 0, "spec", "retry", "delay"),
		length("retry.maxDelay", "At most", "Empty: 10m.", 0, 0, "spec", "retry", "maxDelay"),
		length("timeout", "Time limit of an attempt", "Empty: none.", time.Second, 0, "spec", "timeout"),
		number("pauseAfterFailures", "Pause after so many failures in a row", "Empty: never.", 1, 100, "spec", "pauseAfterFailures"),
	}}, {Legend: "What is kept", Settings: []*setting{
		number("history.succeeded", "Runs that succeeded", "Empty: 3.", 0, 100, "spec", "history", "succeeded", "limit"),
		number("history.failed", "Runs that failed or were cancelled", "Empty: 3.", 0, 100, "spec", "history", "failed", "limit"),
		number("history.ledger", "Results in the status", "Empty: 20.", 0, 100, "spec", "history", "ledger"),
	}}}
}

// scheduleSetting is the input for one of its schedules, of which there are several.
func scheduleSetting(i int, schedule map[string]any, of int) *setting {
	kind := "cron"
	for _, each := range []string{"every", "at"} {
		if _, ok := schedule[each]; ok {
			kind = each
		}
	}
	name, _ := schedule["name"].(string)
	s := input(fmt.Sprintf("schedules.%d", i), "Schedule", "", "spec", fmt.Sprintf("schedules[%d]", i))
	if of > 1 {
		s.Label = "Schedule " + name
	}
	switch kind {
	case "cron":
		s.Hint = "Minute, hour, day of the month, month, day of the week; a sixth field, of seconds, comes first."
	case "every":
		s.Label, s.Hint = s.Label+": every", durationHint
	case "at":
		s.Label, s.Hint, s.Type = s.Label+": at", "Moments such as 2027-03-01T09:00, one a line.", "area"
	}
	find := func(object map[string]any) map[string]any {
		schedules, _, _ := unstructured.NestedFieldNoCopy(object, "spec", "schedules")
		list, _ := schedules.([]any)
		if i >= len(list) {
			return nil
		}
		item, _ := list[i].(map[string]any)
		return item
	}
	s.get = func(object map[string]any) string {
		item := find(object)
		if kind != "at" {
			text, _ := item[kind].(string)
			return text
		}
		list, _ := item[kind].([]any)
		var lines []string
		for _, m := range list {
			lines = append(lines, fmt.Sprint(m))
		}
		return strings.Join(lines, "\n")
	}
	s.check = func(text string) error {
		switch kind {
		case "every":
			return cmp.Or(entry.Duration(text, time.Second, 0), entry.Schedule{Every: text}.Check())
		case "at":
			return entry.Schedule{At: moments(text)}.Check()
		}
		return entry.Schedule{Cron: text}.Check()
	}
	s.set = func(object map[string]any, text string) error {
		item := find(object)
		if item == nil || text == "" {
			return errors.New("a schedule must say when; to take it out use the YAML")
		}
		if kind != "at" {
			item[kind] = text
			return nil
		}
		var all []any
		for _, each := range moments(text) {
			all = append(all, each)
		}
		item[kind] = all
		return nil
	}
	return s
}

// moments are those of a text, one in each line.
func moments(text string) []string {
	var all []string
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, line)
		}
	}
	return all
}
