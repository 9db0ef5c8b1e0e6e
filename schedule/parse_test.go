// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/carillon-dev/carillon/schedule"
)

// An error names the schedule, the field and the value, and says what to write.
func TestParseErrors(t *testing.T) {
	cases := map[string]struct {
		expr, field, text string
	}{
		"empty":             {"", "", `schedule "": is empty; want five fields: minute hour day-of-month month day-of-week`},
		"blank":             {"  ", "", `schedule "  ": has 0 fields; want five fields: minute hour day-of-month month day-of-week`},
		"seconds":           {"0 0 * * * *", "", `schedule "0 0 * * * *": has 6 fields; want five fields: minute hour day-of-month month day-of-week (there is no field for seconds, and a time zone is not part of them); a Timetable takes this schedule`},
		"minute":            {"61 * * * *", "minute", `schedule "61 * * * *": minute 61 is out of range 0-59`},
		"hour":              {"0 24 * * *", "hour", `schedule "0 24 * * *": hour 24 is out of range 0-23`},
		"hour range":        {"0 20-25 * * *", "hour", `schedule "0 20-25 * * *": hour 20-25 is out of range 0-23`},
		"day of month":      {"0 0 0 * *", "day of month", `schedule "0 0 0 * *": day of month 0 is out of range 1-31`},
		"month":             {"0 0 1 13 *", "month", `schedule "0 0 1 13 *": month 13 is out of range 1-12`},
		"Sunday as 7":       {"0 0 * * 7", "day of week", `schedule "0 0 * * 7": day of week 7 is out of range 0-6 (0 is Sunday); a Timetable takes this schedule`},
		"long name":         {"0 0 * january *", "month", `schedule "0 0 * january *": month january is neither a number nor a three-letter name; use 1-12`},
		"last day":          {"0 0 L * *", "day of month", `schedule "0 0 L * *": day of month L is not a number; use 1-31; a Timetable takes this schedule`},
		"backwards":         {"0 0 * * fri-mon", "day of week", `schedule "0 0 * * fri-mon": day of week fri-mon runs backwards; write fri-6,0-mon; a Timetable takes this schedule`},
		"step 0":            {"*/0 * * * *", "minute", `schedule "*/0 * * * *": minute */0 has step 0; a step is at least 1`},
		"no step":           {"*/ * * * *", "minute", `schedule "*/ * * * *": minute */ is not a number; use 0-59`},
		"negative step":     {"*/-2 * * * *", "minute", `schedule "*/-2 * * * *": minute */-2 is negative`},
		"two steps":         {"0/1/2 * * * *", "minute", `schedule "0/1/2 * * * *": minute 0/1/2 has more than one step; write A-B/S`},
		"two hyphens":       {"1-2-3 * * * *", "minute", `schedule "1-2-3 * * * *": minute 1-2-3 has more than one hyphen; write A-B`},
		"huge":              {"99999999999999999999 * * * *", "minute", `schedule "99999999999999999999 * * * *": minute 99999999999999999999 is too large`},
		"second of a list":  {"0 0 1,32 * *", "day of month", `schedule "0 0 1,32 * *": day of month 32 is out of range 1-31`},
		"descriptor":        {"@reboot", "descriptor", `schedule "@reboot": descriptor @reboot is unknown; use @yearly, @monthly, @weekly, @daily, @hourly or "@every 1h30m"`},
		"duration":          {"@every 1d", "duration", `schedule "@every 1d": duration 1d cannot be read; write a number and a unit (s, m, h), as in 90s or 1h30m`},
		"no duration":       {"@every ", "duration", `schedule "@every ": duration "" cannot be read; write a number and a unit (s, m, h), as in 90s or 1h30m`},
		"zone":              {"TZ=Mars/Olympus 0 0 * * *", "time zone", `schedule "TZ=Mars/Olympus 0 0 * * *": time zone Mars/Olympus is not in the time zone database; use a name such as Europe/Berlin or Etc/UTC`},
		"CJ-030 zone alone": {"TZ=UTC", "time zone", `schedule "TZ=UTC": time zone UTC is not followed by a blank and a schedule`},
		"a control code":    {"0 0 x\x00y * *", "day of month", `schedule "0 0 x\x00y * *": day of month "x\x00y" is not a number; use 1-31`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s, err := schedule.Parse(tc.expr, nil)
			var perr *schedule.ParseError
			if !errors.As(err, &perr) {
				t.Fatalf("error = %#v", err)
			}
			if perr.Error() != tc.text {
				t.Errorf("text:\n got %s\nwant %s", perr, tc.text)
			}
			if perr.Field != tc.field || perr.Schedule != tc.expr {
				t.Errorf("Field = %q, Schedule = %q", perr.Field, perr.Schedule)
			}
			if s != (schedule.Schedule{}) {
				t.Errorf("a schedule came with the error")
			}
		})
	}
}

// The zone error behind a parse error can be told apart.
func TestZoneErrorIsWrapped(t *testing.T) {
	_, err := schedule.Parse("CRON_TZ=Mars/Olympus @daily", nil)
	var zerr *schedule.ZoneError
	if !errors.As(err, &zerr) || zerr.Name != "Mars/Olympus" || zerr.Unwrap() == nil {
		t.Errorf("error = %#v", err)
	}
}

// However long a schedule is, its error is not.
func TestErrorsStayShort(t *testing.T) {
	for _, expr := range []string{
		strings.Repeat("x", 100_000),
		strings.Repeat("61,", 100_000) + " * * * *",
		strings.Repeat("9", 100_000) + " * * * *",
		"TZ=" + strings.Repeat("x", 100_000) + " * * * * *",
		strings.Repeat("* ", 100_000),
	} {
		_, err := schedule.Parse(expr, nil)
		if err == nil || len(err.Error()) > 500 {
			t.Errorf("error of %d bytes: %.600v", len(err.Error()), err)
		}
	}
}

// A long list is as good as a short one.
func TestLongSchedule(t *testing.T) {
	s, err := schedule.Parse(strings.Repeat("0,30,", 10_000)+"15 0 * * *", nil)
	if err != nil || !s.Satisfiable() {
		t.Error(err)
	}
}
