// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package entry_test

import (
	"strings"
	"testing"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/paragraph"
	"github.com/carillon-dev/carillon/internal/ui/entry"
)

// Each error says what was written and what to write instead; "" is that there is none.
func TestErrors(t *testing.T) {
	zone := func(text string) error { _, err := entry.Zone(text); return err }
	deadline := func(text string) error { _, err := entry.Deadline(text); return err }
	line := func(text string) error { return entry.Line(text).Check() }
	number := func(text string) error { _, err := entry.Number(text, 1, 100); return err }
	length := func(text string) error { return entry.Duration(text, time.Second, 24*time.Hour) }
	word := func(text string) error { return entry.Word(text, []string{"Allow", "Forbid"}) }
	for name, test := range map[string]struct {
		check      func(string) error
		text, want string
	}{
		"an expression":                 {entry.CronJob, "0 9 * * 1-5", ""},
		"an hour that is none":          {entry.CronJob, "0 25 * * *", `Schedule "0 25 * * *": hour 25 is out of range 0-23.`},
		"too few fields":                {entry.CronJob, "0 25 * *", "want five fields"},
		"no zone inside":                {entry.NoZone, "0 9 * * *", ""},
		"a zone inside":                 {entry.NoZone, "CRON_TZ=Europe/Rome 0 9 * * *", "write 0 9 * * * here, and Europe/Rome into the field for the time zone."},
		"a zone inside, and a fault":    {entry.NoZone, "TZ=Europe/Rome 0 99 * * *", "write it into the field for the time zone."},
		"a zone":                        {zone, "America/Argentina/ComodRivadavia", ""},
		"no zone":                       {zone, "Mars/Base", `There is no time zone "Mars/Base"; names are those of the IANA database, such as Europe/Berlin or UTC.`},
		"the zone of each machine":      {zone, "Local", "There is no time zone"},
		"a file elsewhere":              {zone, "../etc/passwd", "There is no time zone"},
		"control bytes as a zone":       {zone, "\x1b[31m\x00", `"\x1b[31m\x00"`},
		"a deadline":                    {deadline, "90m", ""},
		"a deadline in seconds":         {deadline, "0", ""},
		"a deadline of years":           {deadline, "900d", "from a second to a year."},
		"a line of a Timetable":         {line, "0 0 9 L * *", ""},
		"a line of minutes":             {line, "0 99 * * *", `Schedule "0 99 * * *": hour 99 is out of range`},
		"a period":                      {line, "Every: 6h", ""},
		"a period of days":              {line, "every 6d", `"6d"`},
		"moments":                       {line, "at 2027-03-01T14:00, 2027-04-01T09:00", ""},
		"a moment that is none":         {line, "at 2027-13-01T14:00", `At[0]: "2027-13-01T14:00" is no moment`},
		"no schedule":                   {line, "", "must be set"},
		"a number":                      {number, "100", ""},
		"a word for a number":           {number, "many", `"many" is no whole number.`},
		"a sign alone":                  {number, "-", `"-" is no whole number.`},
		"a number with a plus":          {number, "+5", `"+5" is no whole number.`},
		"too small a number":            {number, "-5", "-5 is not allowed here: it is a whole number from 1 to 100."},
		"a number that nobody counts":   {number, "99999999999999999999", "99999999999999999999 is not allowed here: it is a whole number from 1 to 100."},
		"a length":                      {length, "24h", ""},
		"a length of days":              {length, "1d", `"1d" is no duration; write hours, minutes and seconds, such as 1h30m.`},
		"too short a length":            {length, "0s", `"0s" is too short: it is 1s at least.`},
		"too long a length":             {length, "24h1s", `"24h1s" is too long: it is 24h at most.`},
		"an instant":                    {entry.Instant, "2027-03-01T14:00:00+01:00", ""},
		"an instant without an offset":  {entry.Instant, "2027-03-01T14:00:00", `"2027-03-01T14:00:00" is no instant: write 2027-03-01T14:00:00Z`},
		"a day that is none":            {entry.Instant, "2027-02-30T14:00:00Z", "is no instant"},
		"a fraction as others write it": {entry.Instant, "2027-03-01T14:00:00,5Z", "is no instant"},
		"a word":                        {word, "Allow", ""},
		"a word in small letters":       {word, "allow", `"allow" is not allowed: write Allow, with these capitals.`},
		"another word":                  {word, "Queue", `There is no "Queue": it is one of Allow, Forbid.`},
	} {
		t.Run(name, func(t *testing.T) {
			err := test.check(test.text)
			switch {
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want != "" && err == nil:
				t.Errorf("%q is taken", test.text)
			case test.want != "" && !strings.Contains(paragraph.Sentence(err.Error()), test.want):
				t.Errorf("got %q, want %q", paragraph.Sentence(err.Error()), test.want)
			}
		})
	}
}

func TestLine(t *testing.T) {
	for line, want := range map[string]entry.Schedule{
		"0 9 * * *":                          {Cron: "0 9 * * *"},
		"@every 5m":                          {Cron: "@every 5m"},
		"every 6h":                           {Every: "6h"},
		"every: 90m":                         {Every: "90m"},
		"At 2027-03-01T14:00,  2027-04-01T1": {At: []string{"2027-03-01T14:00", "2027-04-01T1"}},
	} {
		if got := entry.Line(line); got.Cron != want.Cron || got.Every != want.Every || strings.Join(got.At, "|") != strings.Join(want.At, "|") {
			t.Errorf("%q: %+v", line, got)
		}
	}
}

func TestCount(t *testing.T) {
	from := time.Date(2026, 11, 2, 11, 0, 0, 0, time.UTC)
	for line, want := range map[string]int{"0 9 * * *": 7, "every 6h": 28, "at 2026-11-03T09:00": 1, "99 * * * *": 0} {
		if got := entry.Line(line).Count(from, from.AddDate(0, 0, 7)); got != want {
			t.Errorf("%q comes %d times in a week, want %d", line, got, want)
		}
	}
}
