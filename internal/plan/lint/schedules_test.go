// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint_test

import (
	"strings"
	"testing"

	"github.com/carillon-dev/carillon/internal/plan/lint"
)

// timed is a CronJob whose schedule and fields beside it matter.
func timed(schedule, fields string) string {
	return "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\nspec:\n  schedule: \"" + schedule + "\"\n  " + fields +
		"\n  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: \"busybox:1\"}]}}}}\n"
}

// messageOf is what a rule says, "" if it says nothing.
func messageOf(report *lint.Report, rule string) string {
	for _, f := range report.Findings {
		if f.Rule.ID == rule {
			return f.Message
		}
	}
	return ""
}

// What rules say of schedules, in the very numbers.
func TestSchedules(t *testing.T) {
	const berlin = "timeZone: Europe/Berlin"
	const twice = `in Europe/Berlin there is no `
	tests := map[string]struct{ schedule, fields, rule, message string }{
		"a zone":                               {"0 2 * * *", berlin, "time-zone-unknown", ""},
		"the zone of the machine":              {"0 2 * * *", "timeZone: Local", "time-zone-unknown", `timeZone: "Local" is refused: it is another zone on each machine`},
		"no zone":                              {"0 2 * * *", `timeZone: ""`, "time-zone-unknown", `timeZone: "" is refused: it is left out, or names a zone`},
		"often":                                {"*/5 * * * *", "", "overlap-without-limit", "a run starts every 5 minutes whether or not the one before has ended, and none has a limit of time"},
		"often by day":                         {"*/5 8-17 * * *", "", "overlap-without-limit", "a run starts every 5 minutes whether or not the one before has ended, and none has a limit of time"},
		"often for once":                       {"0 */23 * * *", "", "overlap-without-limit", "two runs may be only 1 hour apart, the second starts whether or not the first has ended, and none has a limit of time"},
		"seldom":                               {"0 */6 * * *", "", "overlap-without-limit", ""},
		"stopped for ever":                     {"*/10 * * * *", "concurrencyPolicy: Replace", "replace-never-finishes", "each run is stopped after 10 minutes by the next one: what takes longer never finishes"},
		"stopped for ever, unevenly":           {"*/7 * * * *", "concurrencyPolicy: Replace", "replace-never-finishes", "each run is stopped after 7 minutes at most by the next one: what takes longer never finishes"},
		"stopped by day":                       {"*/10 8-17 * * *", "concurrencyPolicy: Replace", "replace-never-finishes", ""},
		"stopped now and then":                 {"0,10 * * * *", "concurrencyPolicy: Replace", "replace-never-finishes", ""},
		"stopped on weekdays":                  {"*/10 * * * 1-5", "concurrencyPolicy: Replace", "replace-never-finishes", "each run is stopped after 10 minutes by the next one: what takes longer never finishes"},
		"a step that leaves one hour":          {"0 */23 * * *", "", "uneven-step", `"*/23" in "0 */23 * * *" counts from hour 0 anew each day: from 23 to the next 0 it is 1 hour, not 23`},
		"a step that leaves two hours":         {"0 */11 * * *", "", "uneven-step", `"*/11" in "0 */11 * * *" counts from hour 0 anew each day: from 22 to the next 0 it is 2 hours, not 11`},
		"a run of the night":                   {"30 2 * * *", berlin, "clock-change", twice + "02:30 on 2027-03-28, and no run; 02:30 on 2027-10-31 comes twice, and so does the run"},
		"two runs of the night":                {"0,30 2 * * *", berlin, "clock-change", twice + "02:00 on 2027-03-28, and no run; 02:00 on 2027-10-31 comes twice, and so does the run"},
		"a night full of runs":                 {"* 2 * * *", berlin, "clock-change", twice + "02:00 on 2027-03-28, and no run; 02:00 on 2027-10-31 comes twice, and so does the run"},
		"many runs of the night, from morning": {"*/5 2-11 * * *", berlin, "clock-change", twice + "02:00 on 2027-03-28, and no run; 02:00 on 2027-10-31 comes twice, and so does the run"},
		"many runs a day":                      {"*/10 0-22 * * *", berlin, "clock-change", ""},
		"a run of the morning":                 {"30 5 * * *", berlin, "clock-change", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := messageOf(check(t, "a.yaml", timed(test.schedule, test.fields), lint.Options{}), test.rule); got != test.message {
				t.Errorf("%s says %q, want %q", test.rule, got, test.message)
			}
		})
	}
}

// No fix writes a zone that the API server refuses.
func TestFixWritesNoRefusedZone(t *testing.T) {
	for _, zone := range []string{"Local", "local", "Mars/Olympus", "..", "-x", "Europe/A_name_that_is_too_long"} {
		if lint.RefusedZone(zone) == "" {
			t.Errorf("%s is taken", zone)
		}
		inside := timed("TZ="+zone+" 30 2 * * *", "suspend: false")
		if got := mend(t, fixed, inside, lint.Options{}); got != inside {
			t.Errorf("%s was moved:\n%s", zone, got)
		}
		missing := timed("30 2 * * *", "suspend: false")
		if got := mend(t, fixed, missing, lint.Options{Zone: zone}); got != missing {
			t.Errorf("%s was written:\n%s", zone, got)
		}
	}
	for _, zone := range []string{"Europe/Berlin", "Etc/GMT+5", "America/Argentina/Buenos_Aires", "UTC"} {
		if why := lint.RefusedZone(zone); why != "" {
			t.Errorf("%s is refused: %s", zone, why)
		}
	}
}

// Objects that nobody has looked at do not count as those in which nothing was found.
func TestReportCountsWhatWasLookedAt(t *testing.T) {
	text := strings.Join([]string{timed("0 2 * * *", "suspend: false"), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\n", "apiVersion: batch/v1\nkind: cronjob\nmetadata: {name: b}\n"}, "---\n")
	if report := check(t, "a.yaml", text, lint.Options{}); report.Objects != 2 || report.Others != 1 {
		t.Errorf("%d objects and %d others", report.Objects, report.Others)
	}
}
