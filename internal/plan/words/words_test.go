// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package words_test

import (
	"testing"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/words"
	"github.com/carillon-dev/carillon/schedule"
	"github.com/carillon-dev/carillon/schedule/timeset"
)

func TestWordsOfCronJobs(t *testing.T) {
	for text, want := range map[string]string{
		"* * * * *":               "every minute",
		"*/15 * * * *":            "every 15 minutes",
		"5/20 * * * *":            "every 20 minutes, beginning at minute 5 of each hour",
		"*/40 * * * *":            "at minutes 0 and 40 of every hour (40 minutes and then 20 minutes apart)",
		"0 */7 * * *":             "at 00:00, 07:00, 14:00 and 21:00 every day",
		"0 */2 * * *":             "every 2 hours from 00:00 to 22:00 every day",
		"30 2 * * 1-5":            "at 02:30 on weekdays (Monday to Friday)",
		"0 0 13 * 5":              "at 00:00 on day 13 of the month OR on Fridays",
		"0 0 */2 * 1":             "at 00:00 on every 2nd day from day 1 to day 31 of the month OR on Mondays",
		"0 0 * * */2":             "at 00:00 on Tuesdays, Thursdays, Saturdays and Sundays",
		"*/5 9-17 * * 1-5":        "every 5 minutes from 09:00 to 17:55 on weekdays (Monday to Friday)",
		"15,45 8-11,13-17 * * *":  "every 30 minutes from 08:15 to 11:45 and from 13:15 to 17:45 every day",
		"3-50/7 1,5,9 * * *":      "at minutes 3, 10, 17, 24, 31, 38 and 45 of the hours 1, 5 and 9 every day",
		"0 22 * 11-12,1-2 0,6":    "at 22:00 on Saturdays and Sundays, in January, February, November and December",
		"@yearly":                 "at 00:00 on 1 January",
		"0 0 30 2 *":              "at 00:00 on 30 February",
		"0 6 1 1,4,7,10 ?":        "at 06:00 on 1 January, 1 April, 1 July and 1 October",
		"0 6 29-31 * 2-4":         "at 06:00 on days 29 to 31 of the month OR on Tuesdays to Thursdays",
		"@hourly":                 "at minute 0 of every hour",
		"@every 90m":              "every 90 minutes, counted from the run before",
		"@every 1ms":              "every second, counted from the run before",
		"TZ=Asia/Tokyo 0 6 * * *": "at 06:00 every day",
		"0 0 , * 1":               "at 00:00 on Mondays",
		"*-5 2 * * *":             "every minute from 02:00 to 02:59 every day",
		", * * * *":               "never: the field for the minute names no value",
		"0 0 , * *":               "never: the field for the day of month names no value",
	} {
		read, err := words.Read(text, words.Options{})
		if err != nil {
			t.Errorf("%q: %v", text, err)
		} else if got := read.Words(); got != want {
			t.Errorf("%q:\n got %s\nwant %s", text, got, want)
		}
	}
}

func TestWordsOfTimetables(t *testing.T) {
	for _, c := range []struct {
		item timeset.Item
		want string
	}{
		{timeset.Item{Cron: "*/10 * * * * *"}, "every 10 seconds"},
		{timeset.Item{Cron: "0,30 0 2 * * *"}, "at 02:00:00 and 02:00:30 every day"},
		{timeset.Item{Cron: "* 0 2 * * *"}, "at 02:00 every day, at every second of each such minute"},
		{timeset.Item{Cron: "30 0 12 * * * 2027"}, "at 12:00:30 every day, in the year 2027"},
		{timeset.Item{Cron: "0 0 22-2/2 * * FRI-MON"}, "at 00:00, 02:00 and 22:00 on Mondays and Fridays to Sundays"},
		{timeset.Item{Cron: "0 7 L 3,6,9,12 *"}, "at 07:00 on the last day of the month, in March, June, September and December"},
		{timeset.Item{Cron: "0 18 LW * *"}, "at 18:00 on the last weekday (Monday to Friday) of the month"},
		{timeset.Item{Cron: "0 9 15w,L-1,L-4 * *"}, "at 09:00 on the weekday (Monday to Friday) nearest to day 15, the day before the last day and the day 4 days before the last day of the month"},
		{timeset.Item{Cron: "0 9 * * 2#1,5L"}, "at 09:00 on the 1st Tuesday of the month and the last Friday of the month"},
		{timeset.Item{Cron: "0 0 1-7 * 1", DayRule: schedule.DayRuleBoth}, "at 00:00 on days 1 to 7 of the month, only where that is a Monday"},
		{timeset.Item{Cron: "H H(1-5) * * *"}, "at 05:02 every day"},
		{timeset.Item{Cron: "0 9 * * 1", EveryWeeks: 2, Anchor: "2026-01-05"}, "at 09:00 on Mondays; only in every 2nd week (Monday to Sunday), counted from that of 2026-01-05"},
		{timeset.Item{Every: "36h"}, "every 36 hours of real time, counted from 1970-01-01 00:00:00Z"},
		{timeset.Item{Every: "90m", Anchor: "2026-01-01T06:00"}, "every 90 minutes of real time, counted from 2026-01-01 06:00"},
		{timeset.Item{At: []string{"2027-03-01T09:00"}}, "once, at 2027-03-01 09:00"},
		{timeset.Item{At: []string{"2027-03-01T09:00", "2027-03-02T09:00Z"}}, "2 times: at 2027-03-01 09:00 and 2027-03-02 09:00Z"},
	} {
		var read *words.Expression
		if c.item.Cron != "" {
			var err error
			read, err = words.Read(c.item.Cron, words.Options{Language: words.Timetable, DayRule: c.item.DayRule, Hash: schedule.Hash{Namespace: "a", Name: "b"}, Name: "main"})
			if err != nil {
				t.Errorf("%+v: %v", c.item, err)
				continue
			}
		}
		if got := words.Item(c.item, read); got != c.want {
			t.Errorf("%+v:\n got %s\nwant %s", c.item, got, c.want)
		}
	}
}

func TestReadGivesTheEnginesError(t *testing.T) {
	for text, language := range map[string]words.Language{"61 * * * *": words.CronJob, "": words.CronJob, "0 0 L * *": words.CronJob, "@every 1h": words.Timetable, "0 , * * *": words.Timetable} {
		got, err := words.Read(text, words.Options{Language: language})
		_, want := schedule.Parse(text, nil)
		if language == words.Timetable {
			_, want = schedule.Compile(schedule.Item{Cron: text}, schedule.Options{})
		}
		if got != nil || err == nil || err.Error() != want.Error() {
			t.Errorf("%q: got %v, %v; want %v", text, got, err, want)
		}
	}
}

// What surprises are told by.
func TestFields(t *testing.T) {
	read, err := words.Read("*/40 2,+3 *-x,, * 1", words.Options{})
	if err != nil {
		t.Fatal(err)
	}
	step := read.Minute.Steps[0]
	if step.Item != "*/40" || step.Step != 40 || !step.Star || len(step.Values) != 2 {
		t.Errorf("got the step %+v", step)
	}
	if !read.DayOfMonth.Starred || !read.DayOfMonth.All || read.EitherDay {
		t.Errorf("the day of month is %+v, either day %t", read.DayOfMonth, read.EitherDay)
	}
	if len(read.DayOfMonth.Accidents) != 3 || len(read.Hour.Accidents) != 1 {
		t.Errorf("got the accidents %q and %q", read.DayOfMonth.Accidents, read.Hour.Accidents)
	}
	for text, names := range map[string]bool{"0 2 * * *": true, "0 */2 * * *": false, "0 2,* * * *": false, "0 0/2 * * *": true} {
		if read, err := words.Read(text, words.Options{}); err != nil || read.NamesHours() != names {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 seconds", -time.Hour: "0 seconds", time.Second: "1 second", 90 * time.Second: "1 minute and 30 seconds",
		26*time.Hour + time.Minute + 500*time.Millisecond: "1 day, 2 hours and 1 minute", 48 * time.Hour: "2 days",
	} {
		if got := words.Duration(d); got != want {
			t.Errorf("%s: got %q, want %q", d, got, want)
		}
	}
}

func TestPeriod(t *testing.T) {
	for d, want := range map[time.Duration]string{
		time.Second: "second", time.Minute: "minute", time.Hour: "hour", 24 * time.Hour: "24 hours", 90 * time.Minute: "90 minutes",
		45 * time.Second: "45 seconds", 90 * time.Second: "1 minute and 30 seconds", 200 * time.Minute: "3 hours and 20 minutes",
	} {
		if got := words.Period(d); got != want {
			t.Errorf("%s: got %q, want %q", d, got, want)
		}
	}
}

// No text does harm, and whatever parses has words that can be read back.
func FuzzWords(f *testing.F) {
	for _, text := range []string{"*/5 * * * *", "@every 1.5h", "CRON_TZ=America/Havana 30 0 29 2 ?", "TZ=", "0 0 L-3,15W * FRI#2", "H(5-2)/3 * * * * * 2030", "0 0 28-3/2 * 5-7", "*-,+1 , * * *"} {
		f.Add(text, true)
		f.Add(text, false)
	}
	f.Fuzz(func(t *testing.T, text string, both bool) {
		for _, language := range []words.Language{words.CronJob, words.Timetable} {
			o := words.Options{Language: language}
			if both {
				o.DayRule = schedule.DayRuleBoth
			}
			read, err := words.Read(text, o)
			if err != nil {
				continue
			}
			if _, err := readBack(read.Words()); err != nil && read.Every == 0 {
				t.Errorf("%q: %q: %v", text, read.Words(), err)
			}
		}
	})
}
