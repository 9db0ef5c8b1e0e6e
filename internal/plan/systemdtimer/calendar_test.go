// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package systemdtimer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/schedule"
	"github.com/carillon-dev/carillon/schedule/timeset"
)

// The forms of OnCalendar= become expressions of the same times.
func TestReadCalendar(t *testing.T) {
	tests := map[string]string{
		"minutely":                           "* * * * *",
		"hourly":                             "0 * * * *",
		"daily":                              "0 0 * * *",
		"weekly":                             "0 0 * * MON",
		"monthly":                            "0 0 1 * *",
		"quarterly":                          "0 0 1 1,4,7,10 *",
		"semi-annually":                      "0 0 1 1,7 *",
		"Yearly":                             "0 0 1 1 *",
		"daily UTC":                          "0 0 * * * in UTC",
		"*-*-* 02:30:00":                     "30 2 * * *",
		"02:30":                              "30 2 * * *",
		"02:30 Europe/Rome":                  "30 2 * * * in Europe/Rome",
		"Mon..Fri 22:30":                     "30 22 * * MON-FRI",
		"Mon-Fri 22:30":                      "30 22 * * MON-FRI",
		"Sat,Sun 20:00":                      "0 20 * * SAT,SUN",
		"Monday,wed 08:05:40":                "40 5 8 * * MON,WED",
		"Mon..Sun 00:00":                     "0 0 * * *",
		"Sat *-*-1..7 18:00:00":              "0 18 1-7 * SAT both",
		"*:0/15":                             "0-59/15 * * * *",
		"*-*-* 00/6:00":                      "0 0-23/6 * * *",
		"*-*-* *:00,30":                      "0,30 * * * *",
		"*-*-* 8..17/2:15":                   "15 8-17/2 * * *",
		"*:*:0/10":                           "0-59/10 * * * * *",
		"*-02~01":                            "0 0 L 2 *",
		"*-*~03 12:00":                       "0 12 L-2 * *",
		"Mon *-05~07/1":                      "0 0 L-6,L-5,L-4,L-3,L-2,L-1,L 5 MON both",
		"*-*~07/3":                           "0 0 L-6,L-3,L * *",
		"*-*~3..5":                           "0 0 L-4,L-3,L-2 * *",
		"*-*~3..7/2":                         "0 0 L-6,L-4,L-2 * *",
		"Wed, 17:48":                         "48 17 * * WED",
		"2027-*-01 06:00":                    "0 0 6 1 * * 2027",
		"2026/2-01-01":                       "0 0 0 1 1 * 2026-2199/2",
		"2027-03-01 14:00:00":                "at 2027-03-01T14:00:00",
		"2027-3-1":                           "at 2027-03-01T00:00:00",
		"27-03-01 14:00 Asia/Tokyo":          "at 2027-03-01T14:00:00 in Asia/Tokyo",
		"2027-03-01T14:00":                   "at 2027-03-01T14:00:00",
		"@1800000000":                        "at 2027-01-15T08:00:00Z",
		"03-01":                              "0 0 1 3 *",
		"*-*-* 05:00:00.000":                 "0 5 * * *",
		"*-01,04..06-01/10 1..3,5:00,10..12": "0,10-12 1-3,5 1-31/10 1,4-6 *",
	}
	for text, want := range tests {
		event, err := readCalendar(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got := event.cron
		if event.at != "" {
			got = "at " + event.at
		}
		if event.both {
			got += " both"
		}
		if event.zone != "" {
			got += " in " + event.zone
		}
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// What is no event is refused, with the part at fault.
func TestReadCalendarFaults(t *testing.T) {
	for text, want := range map[string]string{
		"":                    "nothing",
		"fortnightly":         "no day of the week",
		"Fri..Mon 10:00":      "write Fri..Sun,Mon..Mon",
		"*:*/5":               "write 0/5",
		"25:00":               "out of range",
		"*-13-01":             "month: 13",
		"*-02-30":             "never comes",
		"10:00 11:00":         "neither",
		"*-*-* 10:00 Rome":    "neither",
		"*-*-* 10:00:00.5":    "whole seconds",
		"*-*~03..01":          "write ~1..3",
		"*-*-5..1":            "backwards",
		"*:0/0":               "distance",
		"1:2:3:4":             "no time of day",
		"@soon":               "seconds since 1970",
		"*-*-* 1,:00":         "no number",
		"2300-01-01":          "out of range",
		"*-*-* +1:00":         "no number",
		"Mon Tue 10:00":       "neither",
		"*-*-* 10:00 Local":   "neither",
		"*-x-1":               "no number",
		"*-*-1/99999999 1:00": "distance",
	} {
		if event, err := readCalendar(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v, want %q", text, event, err, want)
		}
	}
}

// component draws a part of an event, and which values it names.
func component(low, high int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		if rapid.Bool().Draw(t, "any") {
			return "*"
		}
		var items []string
		for range rapid.IntRange(1, 2).Draw(t, "items") {
			from := rapid.IntRange(low, high).Draw(t, "from")
			item := strconv.Itoa(from)
			if rapid.Bool().Draw(t, "ranged") {
				item += fmt.Sprintf("..%d", rapid.IntRange(from, high).Draw(t, "to"))
			}
			if rapid.Bool().Draw(t, "repeated") {
				item += fmt.Sprintf("/%d", rapid.IntRange(1, high).Draw(t, "by"))
			}
			items = append(items, item)
		}
		return strings.Join(items, ",")
	})
}

// names tells whether a part of an event names a value.
func names(text string, value, high int) bool {
	if text == "*" {
		return true
	}
	for item := range strings.SplitSeq(text, ",") {
		span, by, repeated := strings.Cut(item, "/")
		low, top, ranged := strings.Cut(span, "..")
		from, _ := strconv.Atoi(low)
		to := from
		if ranged {
			to, _ = strconv.Atoi(top)
		} else if repeated {
			to = high
		}
		step := 1
		if repeated {
			step, _ = strconv.Atoi(by)
		}
		if value >= from && value <= to && (value-from)%step == 0 {
			return true
		}
	}
	return false
}

// An event has the times at which each part of it matches what calendar and clock show, on all days on which the clock
// does not change.
func TestTimesAreSystemds(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	days := []string{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"}
	rapid.Check(t, func(t *rapid.T) {
		month, day := component(1, 12).Draw(t, "month"), component(1, 28).Draw(t, "day")
		hour, minute := component(0, 23).Draw(t, "hour"), component(0, 59).Draw(t, "minute")
		var weekdays []string
		for _, name := range days {
			if rapid.IntRange(0, 2).Draw(t, name) == 0 {
				weekdays = append(weekdays, name)
			}
		}
		fromEnd := rapid.SampledFrom([]string{"", "", "1", "7/1", "5/2", "3,1"}).Draw(t, "from the end")
		text := fmt.Sprintf("%s-%s %s:%s", month, day, hour, minute)
		if fromEnd != "" {
			text = fmt.Sprintf("%s~%s %s:%s", month, fromEnd, hour, minute)
		}
		if weekdays != nil {
			text = strings.Join(weekdays, ",") + " " + text
		}
		event, err := readCalendar(text)
		from := time.Date(2026, time.Month(rapid.SampledFrom([]int{1, 2, 5, 7, 12}).Draw(t, "from")), rapid.IntRange(1, 22).Draw(t, "on"), 0, 0, 0, 0, zone)
		until := from.AddDate(0, 0, 10)
		var want, got []string
		for at := from; at.Before(until); at = at.Add(time.Minute) {
			at := at.In(zone)
			left := time.Date(at.Year(), at.Month()+1, 0, 0, 0, 0, 0, zone).Day() - at.Day() + 1
			right := names(day, at.Day(), 31)
			switch fromEnd {
			case "1":
				right = left == 1
			case "7/1":
				right = left <= 7
			case "5/2":
				right = left == 5 || left == 3 || left == 1
			case "3,1":
				right = left == 3 || left == 1
			}
			if right && names(month, int(at.Month()), 12) && names(hour, at.Hour(), 23) && names(minute, at.Minute(), 59) &&
				(weekdays == nil || slices.Contains(weekdays, days[at.Weekday()])) {
				want = append(want, at.Format("2006-01-02T15:04"))
			}
		}
		if err != nil {
			if len(want) > 0 {
				t.Fatalf("%s: %v, and it has %v", text, err, want)
			}
			return
		}
		set, err := timeset.Compile(timeset.Spec{Items: []timeset.Item{{Cron: event.cron, DayRule: event.dayRule()}}, TimeZone: "Europe/Berlin", Hash: schedule.Hash{Name: "x"}})
		if err != nil {
			t.Fatalf("%s is %+v: %v", text, event, err)
		}
		for at := range set.Between(from.Add(-time.Second), until.Add(-time.Second)) {
			got = append(got, at.In(zone).Format("2006-01-02T15:04"))
		}
		if !slices.Equal(want, got) {
			t.Fatalf("%s is %+v: it has %v, want %v", text, event, got, want)
		}
	})
}

func TestReadSpan(t *testing.T) {
	for text, want := range map[string]string{
		"90": "1m30s", "1h 30min": "1h30m0s", "2h30m": "2h30m0s", "1d": "24h0m0s", "1w": "168h0m0s", "500ms": "500ms", "1.5h": "1h30m0s", "5 min": "5m0s",
	} {
		if got, infinite, err := readSpan(text); err != nil || infinite || got.String() != want {
			t.Errorf("%s: %v %v %v", text, got, infinite, err)
		}
	}
	if _, infinite, err := readSpan("infinity"); err != nil || !infinite {
		t.Error("infinity")
	}
	for _, text := range []string{"", "soon", "5 lightyears", "-5s", "1h 30", "1..2s", "99999999999y"} {
		if got, _, err := readSpan(text); err == nil && text != "1h 30" {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestReadExecution(t *testing.T) {
	tests := map[string]struct {
		want string // words in brackets, then the line for a shell
		err  string
	}{
		`/bin/echo a  "b c" 'd e'`:     {"[/bin/echo|a|b c|d e] /bin/echo a 'b c' 'd e'", ""},
		`-/bin/false`:                  {"[/bin/false] /bin/false || true", ""},
		`@/bin/sh mysh -c x`:           {"[/bin/sh|-c|x] /bin/sh -c x", ""},
		`:/bin/echo $HOME`:             {"[/bin/echo|$HOME] /bin/echo '$HOME'", ""},
		`/bin/echo $A ${B} x${C}y a$D`: {"[/bin/echo|$A|${B}|x${C}y|a$D] /bin/echo $A \"${B}\" x\"${C}\"y 'a$D'", ""},
		`/bin/echo $$5`:                {"[/bin/echo|$$5] /bin/echo '$'5", ""},
		`/bin/echo a\x20b\tc\"\\`:      {"[/bin/echo|a b\tc\"\\] /bin/echo 'a b\tc\"\\'", ""},
		`/bin/echo ''`:                 {"[/bin/echo|] /bin/echo ''", ""},
		`/bin/echo "it's"`:             {"[/bin/echo|it's] /bin/echo 'it'\\''s'", ""},
		`/bin/echo it's`:               {"", "closing '"},
		`/bin/a ; /bin/b`:              {"", "a line for each"},
		`"/bin/a`:                      {"", "closing"},
		`/bin/a \q`:                    {`[/bin/a|\q] /bin/a '\q'`, ""},
		`/bin/a \`:                     {`[/bin/a|\] /bin/a '\'`, ""},
		`/bin/a \xff`:                  {"", "not UTF-8"},
		`-`:                            {"", "no command"},
	}
	for text, test := range tests {
		e, err := readExecution(text, "x.service")
		if test.err != "" {
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("%s: %v, want %q", text, err, test.err)
			}
			continue
		}
		if got := "[" + strings.Join(e.words, "|") + "] " + e.shellLine(); err != nil || got != test.want {
			t.Errorf("%s: %v\n%s, want\n%s", text, err, got, test.want)
		}
	}
}
