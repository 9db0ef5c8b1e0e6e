// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package words_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/internal/plan/words"
	"github.com/carillon-dev/carillon/schedule"
	"github.com/carillon-dev/carillon/schedule/timeset"
)

// The words of an expression name the times of the engine, and no others.
func TestWordsNameTheTimes(t *testing.T) {
	t.Run("CronJob", rapid.MakeCheck(func(t *rapid.T) {
		text := drawCronJob(t)
		engine, err := schedule.Parse(text, nil)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		read, err := words.Read(text, words.Options{})
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		compare(t, text, read.Words(), engine)
	}))
	t.Run("Timetable", rapid.MakeCheck(func(t *rapid.T) {
		text := drawTimetable(t)
		rule := rapid.SampledFrom([]schedule.DayRule{"", schedule.DayRuleEither, schedule.DayRuleBoth}).Draw(t, "dayRule")
		hash := schedule.Hash{Namespace: "team", Name: rapid.StringMatching(`[a-z]{1,5}`).Draw(t, "name")}
		engine, err := schedule.Compile(schedule.Item{Name: "main", Cron: text}, schedule.Options{DayRule: rule, Hash: hash})
		if err != nil {
			t.Skip(err) // what the engine refuses has no words: a step that is too large for H, or L alone
		}
		read, err := words.Read(text, words.Options{Language: words.Timetable, DayRule: rule, Hash: hash, Name: "main"})
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		compare(t, text, read.Words(), engine)
	}))
	t.Run("everyWeeks", rapid.MakeCheck(func(t *rapid.T) {
		item := timeset.Item{
			Cron: drawTimetable(t), EveryWeeks: rapid.IntRange(2, 7).Draw(t, "weeks"),
			Anchor: time.Unix(rapid.Int64Range(1577836800, 2208988800).Draw(t, "anchor"), 0).UTC().Format(time.DateOnly),
		}
		engine, err := timeset.Compile(timeset.Spec{Items: []timeset.Item{item}})
		if err != nil {
			t.Skip(err) // as above
		}
		read, err := words.Read(item.Cron, words.Options{Language: words.Timetable, Name: "main"})
		if err != nil {
			t.Fatalf("%q: %v", item.Cron, err)
		}
		compare(t, item.Cron, words.Item(item, read), engine)
	}))
}

var everyPart = regexp.MustCompile(`^every (.+), counted from the run before$`)

// So do the words of what has no fields.
func TestWordsNameThePeriods(t *testing.T) {
	t.Run("@every", rapid.MakeCheck(func(t *rapid.T) {
		text := "@every " + (time.Duration(rapid.Int64Range(-1e9, 1e15).Draw(t, "period"))).String()
		read, err := words.Read(text, words.Options{})
		if err != nil {
			t.Fatal(err)
		}
		engine, err := schedule.Parse(text, nil)
		if err != nil {
			t.Fatal(err)
		}
		want, _ := engine.Every()
		if m := everyPart.FindStringSubmatch(read.Words()); m == nil || readPeriod(m[1]) != want {
			t.Fatalf("%q: %q; want %s", text, read.Words(), want)
		}
	}))
	t.Run("every", rapid.MakeCheck(func(t *rapid.T) {
		item := timeset.Item{Every: fmt.Sprintf("%dh%dm%ds", rapid.IntRange(0, 400).Draw(t, "h"), rapid.IntRange(0, 99).Draw(t, "m"), rapid.IntRange(1, 99).Draw(t, "s"))}
		if rapid.Bool().Draw(t, "anchored") {
			item.Anchor = time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "anchor"), 0).UTC().Format("2006-01-02T15:04:05Z")
		}
		engine, err := timeset.Compile(timeset.Spec{Items: []timeset.Item{item}})
		if err != nil {
			t.Fatal(err)
		}
		said := words.Item(item, nil)
		period, anchor, found := strings.Cut(strings.TrimPrefix(said, "every "), " of real time, counted from ")
		from, err := time.Parse("2006-01-02 15:04:05Z", anchor)
		if !found || err != nil || !engine.Has(from) || !engine.Next(from).Equal(from.Add(readPeriod(period))) {
			t.Fatalf("%+v: %q", item, said)
		}
	}))
	t.Run("at", rapid.MakeCheck(func(t *rapid.T) {
		var item timeset.Item
		for range rapid.IntRange(1, 7).Draw(t, "moments") {
			item.At = append(item.At, time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "at"), 0).UTC().Format("2006-01-02T15:04:05Z"))
		}
		engine, err := timeset.Compile(timeset.Spec{Items: []timeset.Item{item}})
		if err != nil {
			t.Fatal(err)
		}
		said := words.Item(item, nil)
		_, list, _ := strings.Cut(said, "at ")
		named := map[time.Time]bool{}
		for _, moment := range splitList(list, "and") {
			at, err := time.Parse("2006-01-02 15:04:05Z", moment)
			if err != nil || !engine.Has(at) {
				t.Fatalf("%q: %s: %v", said, moment, err)
			}
			named[at] = true
		}
		if n := engine.Count(time.Unix(-1, 0), time.Unix(5e9, 0)); n != len(named) {
			t.Fatalf("%q: %d moments instead of %d", said, len(named), n)
		}
	}))
}

// readPeriod reads "24 hours", "second", "1 minute and 30 seconds"; 0 if it cannot.
func readPeriod(text string) time.Duration {
	units := map[string]time.Duration{"day": 24 * time.Hour, "hour": time.Hour, "minute": time.Minute, "second": time.Second}
	if d, alone := units[text]; alone {
		return d
	}
	var sum time.Duration
	for _, part := range splitList(text, "and") {
		number, unit, _ := strings.Cut(part, " ")
		n, err := strconv.Atoi(number)
		if err != nil || units[strings.TrimSuffix(unit, "s")] == 0 {
			return 0
		}
		sum += time.Duration(n) * units[strings.TrimSuffix(unit, "s")]
	}
	return sum
}

// times are those of an engine.
type times interface {
	Next(t time.Time) time.Time
}

// compare walks some days and compares the times of the engine with those of the words.
func compare(t *rapid.T, text, said string, engine times) {
	meant, err := readBack(said)
	if err != nil {
		t.Fatalf("%q: %q cannot be read back: %v", text, said, err)
	}
	span := 40
	if len(meant.seconds) > 1440 {
		span = 1
	}
	// A random year with its turn and 29 February among the days, or a day that has a time, so that rare schedules are
	// compared, too.
	start := time.Date(rapid.IntRange(2020, 2036).Draw(t, "year"), time.January, rapid.IntRange(1, 366).Draw(t, "day"), 0, 0, 0, 0, time.UTC)
	if next := engine.Next(start); rapid.Bool().Draw(t, "at a time") && !next.IsZero() {
		start = next.UTC().Truncate(24*time.Hour).AddDate(0, 0, -rapid.IntRange(0, span-1).Draw(t, "before"))
	}
	next := engine.Next(start.Add(-time.Second))
	for day := range span {
		date := start.AddDate(0, 0, day)
		on := meant.on(date)
		for second := range 86400 {
			at := date.Add(time.Duration(second) * time.Second)
			if !on && next.IsZero() || next.After(date.Add(24*time.Hour)) && !on {
				break
			}
			fires := next.Equal(at)
			if says := on && meant.seconds[second]; says != fires {
				t.Fatalf("%q: %q\nat %s (%s) the words say %t, the engine %t", text, said, at.Format(time.DateTime), at.Weekday(), says, fires)
			}
			if fires {
				next = engine.Next(next)
			}
		}
	}
}

func drawField(t *rapid.T, name, low, high string) string {
	value := rapid.Custom(func(t *rapid.T) string { return number(t, low, high) })
	return rapid.Custom(func(t *rapid.T) string {
		var items []string
		for range rapid.IntRange(1, 3).Draw(t, "items") {
			item := rapid.SampledFrom([]string{"*", "?", "N", "N", "N", "A-B", "A-B", "*/S", "*/S", "A-B/S", "N/S", "", "*-x"}).Draw(t, "form")
			a, b := value.Draw(t, "a"), value.Draw(t, "b")
			if less(b, a) {
				a, b = b, a
			}
			step := rapid.SampledFrom([]string{"1", "2", "3", "4", "5", "7", "10", "15", "20", "30", "40", "+6", "100", "9223372036854775807"}).Draw(t, "step")
			item = strings.NewReplacer("N", a, "A", a, "B", b, "S", step).Replace(item)
			items = append(items, item)
		}
		text := strings.Join(items, ",")
		if text == "" {
			return ","
		}
		return text
	}).Draw(t, name)
}

// field is one of a CronJob: often simple, as people write it.
func field(t *rapid.T, name, low, high string, usual ...string) string {
	if rapid.IntRange(0, 9).Draw(t, name+" usual") < 6 {
		return rapid.SampledFrom(usual).Draw(t, name)
	}
	return drawField(t, name, low, high)
}

func drawCronJob(t *rapid.T) string {
	switch rapid.IntRange(0, 19).Draw(t, "whole") {
	case 0:
		return rapid.SampledFrom([]string{"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly", "TZ=UTC @daily", "CRON_TZ=  0 2 * * *"}).Draw(t, "descriptor")
	case 1:
		return "TZ=Etc/UTC " + fiveFields(t)
	}
	return fiveFields(t)
}

func fiveFields(t *rapid.T) string {
	return strings.Join([]string{
		field(t, "minute", "0", "59", "*", "0", "30", "*/5", "*/15", "5/20", "*/40", "0,30", "17"),
		field(t, "hour", "0", "23", "*", "2", "9-17", "*/2", "*/6", "*/7", "0,12", "8-11,13-17", "22"),
		field(t, "day of month", "1", "31", "*", "*", "?", "1", "13", "1,15", "*/2", "29", "31", "1-7"),
		field(t, "month", "1", "12", "*", "*", "1", "*/3", "JAN,jul", "nov", "1-6"),
		field(t, "day of week", "0", "6", "*", "*", "?", "1-5", "MON-FRI", "0", "FRI", "0,6", "2-4"),
	}, rapid.SampledFrom([]string{" ", "\t", "  "}).Draw(t, "blank"))
}

func drawTimetable(t *rapid.T) string {
	fields := []string{
		timetableField(t, "minute", "0", "59", "*", "0", "30", "*/5", "*/15", "H", "H/15", "H(10-20)", "55-5", "55-20/5", "H(0-29)/10"),
		timetableField(t, "hour", "0", "23", "*", "2", "9-17", "22-2", "22-4/2", "H", "H(1-5)", "*/3", "0 "),
		timetableField(t, "day of month", "1", "31", "*", "*", "?", "1", "L", "L-3", "l-1,15", "15W", "1w,31W", "LW", "H", "28-3", "1,15W,L", "L-30", "H/7"),
		timetableField(t, "month", "1", "12", "*", "*", "NOV-FEB", "3,6,9,12", "H", "2", "H(3-5)"),
		timetableField(t, "day of week", "0", "7", "*", "*", "?", "7", "5-7", "FRI-MON", "FRI#2", "5L", "MON#L", "1#5,3", "0#1", "7#2", "H", "0-7", "7-2", "sun-7", "MON-FRI", "1-5,6#1"),
	}
	switch rapid.IntRange(0, 9).Draw(t, "fields") {
	case 0:
		return rapid.SampledFrom([]string{"@yearly", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"}).Draw(t, "descriptor")
	case 1, 2:
		fields = append([]string{timetableField(t, "second", "0", "59", "0", "*", "*/10", "30", "0,20,40", "H", "50-10")}, fields...)
	case 3:
		fields = append([]string{timetableField(t, "second", "0", "59", "0", "15", "*/30")}, fields...)
		fields = append(fields, rapid.SampledFrom([]string{"*", "2028", "2026-2030", "2026,2029", "2024/4", "2020-2040/3"}).Draw(t, "year"))
	}
	return strings.Join(fields, " ")
}

func timetableField(t *rapid.T, name, low, high string, usual ...string) string {
	if rapid.IntRange(0, 9).Draw(t, name+" usual") < 7 {
		return strings.TrimSpace(rapid.SampledFrom(usual).Draw(t, name))
	}
	var items []string
	for range rapid.IntRange(1, 3).Draw(t, name+" items") {
		form := rapid.SampledFrom([]string{"*", "N", "N", "A-B", "A-B/S", "*/S", "N/S"}).Draw(t, "form")
		items = append(items, strings.NewReplacer("N", number(t, low, high), "A", number(t, low, high), "B", number(t, low, high),
			"S", rapid.SampledFrom([]string{"1", "2", "3", "5", "7", "20"}).Draw(t, "step")).Replace(form))
	}
	return strings.Join(items, ",")
}

// number draws a value; a few are written with a zero in front.
func number(t *rapid.T, low, high string) string {
	from, _ := strconv.Atoi(low)
	to, _ := strconv.Atoi(high)
	text := strconv.Itoa(rapid.IntRange(from, to).Draw(t, "value"))
	if rapid.IntRange(0, 9).Draw(t, "zero") == 0 {
		return "0" + text
	}
	return text
}

func less(a, b string) bool {
	x, _ := strconv.Atoi(a)
	y, _ := strconv.Atoi(b)
	return x < y
}
