// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable_test

import (
	"strings"
	"testing"

	"github.com/carillon-dev/carillon/internal/cron"
)

// What the events of a Timetable say of missed times names the fields of a Timetable and the reasons of its ledger, and
// nothing that only a CronJob has.
func TestWordsOfMissedTimes(t *testing.T) {
	for name, c := range map[string]struct {
		spec  string
		steps []step
		says  string
	}{
		"too late": {"{startingDeadline: 60s}", []step{started, {at: "12:21", given: []given{succeeds("@12:10")}}},
			"The scheduled time 2026-05-04T12:20:00Z was not started, reason Deadline: they could not start within .spec.startingDeadline; raise it"},
		"nobody looked": {"", []step{{at: "12:05"}, {at: "12:31", asleep: true}}, "reason Outage: nobody looked when they were due, because no controller ran or " +
			"the machine slept; .spec.catchUp says what is made up for"},
		"more than the limit": {"{catchUp: {policy: All, limit: 1}}", []step{{at: "12:05"}, {at: "12:55", asleep: true}}, "more were found than .spec.catchUp.limit"},
		"not ready":           {"", []step{{at: "12:05", given: []given{notGranted}}, {at: "12:21"}}, "reason NotReady: nothing could be started, for what the condition Ready says"},
		"refused":             {"", []step{{at: "12:10", given: []given{createsFail(quota)}}, {at: "12:21"}}, "reason CreateFailed: the API server failed or refused"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c.spec)
			var told []cron.Event
			w.spoken = func(e cron.Event) { told = append(told, e) }
			w.pass()
			for _, step := range c.steps {
				if !step.asleep {
					w.clock(instant(step.at).Add(-1))
				}
				w.now = instant(step.at)
				for _, g := range step.given {
					g(w)
				}
				w.pass()
			}
			found := false
			for _, e := range told {
				found = found || e.Reason == "TimesMissed" && strings.Contains(e.Message, c.says)
				for _, foreign := range []string{"startingDeadlineSeconds", "concurrencyPolicy", "jobTemplate", ".spec.schedule ", "Forbid", "CronJob"} {
					if strings.Contains(e.Message, foreign) {
						t.Errorf("%s names %s: %s", e.Reason, foreign, e.Message)
					}
				}
			}
			if !found {
				t.Errorf("no event says %q: %v", c.says, told)
			}
		})
	}
}
