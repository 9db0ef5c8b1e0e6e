// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"cmp"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/simulation"
	"github.com/carillon-dev/carillon/internal/plan/words"
	"github.com/carillon-dev/carillon/schedule"
	"github.com/carillon-dev/carillon/schedule/timeset"
)

// What may be asked for, at most.
const (
	longestSchedule = 4000 // bytes
	mostLines       = 20
	longestField    = 200 // bytes
	longestSpan     = 366 * 24 * time.Hour
	// mostWork bounds several schedules together: looking at their times costs as many steps as they have in two years,
	// for each of them.
	mostWork  = 4_000_000
	usualSpan = 24 * time.Hour
)

// The languages of schedules. "" is whichever takes it.
const (
	asCronJob   = "cronjob"
	asTimetable = "timetable"
)

// form is what is asked, as it was written.
type form struct {
	// Schedule is an expression, or one in each line.
	Schedule, Zone string
	// Language is asCronJob, asTimetable, or "" for whichever takes it.
	Language string
	// From and For are what is simulated, Duration, Fail and Outage how it goes.
	From, For, Duration, Fail, Outage string
	Policy, Deadline                  string
	// Of is an existing object whose other settings count: "cronjob/shop/backup"; "" for none.
	Of string
	// Page is that of the list of what happens.
	Page int
	// Faults say what is wrong with a field, by its name.
	Faults map[string]string
}

// names are the fields as addresses have them.
func (f *form) names() map[string]*string {
	return map[string]*string{"schedule": &f.Schedule, "zone": &f.Zone, "as": &f.Language, "from": &f.From, "for": &f.For, "duration": &f.Duration,
		"fail": &f.Fail, "outage": &f.Outage, "policy": &f.Policy, "deadline": &f.Deadline, "of": &f.Of}
}

// formOf reads what an address asks.
func formOf(v url.Values) form {
	f := form{Faults: map[string]string{}, Page: 1}
	for name, value := range f.names() {
		most := longestField
		if name == "schedule" {
			most = longestSchedule
		}
		text := strings.TrimSpace(strings.ToValidUTF8(v.Get(name), "\uFFFD"))
		if len(text) > most {
			f.Faults[name] = fmt.Sprintf("It is too long: %d bytes at most.", most)
			text = strings.ToValidUTF8(text[:most], "")
		}
		*value = text
	}
	if n, err := strconv.Atoi(v.Get("page")); err == nil && n > 1 {
		f.Page = n
	}
	return f
}

// URL is the address that asks it.
func (f *form) URL() string {
	v := url.Values{}
	for name, value := range f.names() {
		if *value != "" {
			v.Set(name, *value)
		}
	}
	if f.Page > 1 {
		v.Set("page", strconv.Itoa(f.Page))
	}
	return "/simulate?" + v.Encode()
}

// Asked tells whether there is anything to answer.
func (f *form) Asked() bool { return f.Schedule != "" }

// Lines are the schedules, each in a line.
func (f *form) Lines() []string {
	var lines []string
	for line := range strings.Lines(f.Schedule) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// Rows is how high the field for the schedule is.
func (f *form) Rows() int { return min(max(2, len(f.Lines())+1), 8) }

// More tells whether a setting is made that lies folded away.
func (f *form) More() bool {
	return f.Policy+f.Deadline+f.Fail+f.Outage+f.Language+f.From != "" || len(f.Faults) > 0
}

// fault notes what is wrong with a field; nil notes nothing.
func (f *form) fault(name string, err error) {
	if err != nil && f.Faults[name] == "" {
		text := strings.TrimSuffix(err.Error(), ".")
		first, rest := text[:min(1, len(text))], text[min(1, len(text)):]
		f.Faults[name] = strings.ToUpper(first) + rest + "."
	}
}

// asked is what is asked, read.
type asked struct {
	timetable bool
	lines     []string
	zone      *time.Location // nil if none is named
	span      simulation.Span
	model     simulation.Model
	outages   []simulation.Span
	// deadline is nil if there is none.
	deadline *time.Duration
	policy   string
}

// read reads all fields, and notes what is wrong with each.
func (f *form) read(now time.Time, viewer *time.Location) asked {
	a := asked{policy: f.Policy}
	var err error
	a.lines, a.timetable, err = f.schedules()
	f.fault("schedule", err)
	if f.Zone != "" {
		if a.zone, err = schedule.LoadZone(f.Zone); err != nil || strings.EqualFold(f.Zone, "local") {
			f.fault("zone", fmt.Errorf("there is no time zone %q; names are those of the IANA database, such as Europe/Berlin or UTC", f.Zone))
		}
	}
	if f.Faults["schedule"] == "" && len(a.lines) > 1 && work(a.lines, now) > mostWork {
		f.fault("schedule", fmt.Errorf("that many schedules that come that often would take long to look at; leave out some lines, or let them come less often"))
	}
	zone := cmp.Or(a.zone, time.UTC)
	if f.From != "" && f.Zone == "" {
		zone = viewer // whoever writes no zone means his own clock
	}
	a.span.From = now.UTC().Truncate(time.Second)
	if f.From != "" {
		if a.span.From, err = simulation.ParseInstant(f.From, a.span.From, zone); err != nil {
			f.fault("from", err)
		} else if a.span.From.Before(time.Unix(0, 0)) || a.span.From.Year() > 9000 {
			f.fault("from", fmt.Errorf("%q lies outside of the years 1970 to 9000", f.From))
		}
	}
	lasts := usualSpan
	if f.For != "" {
		lasts, err = simulation.ParseDuration(f.For)
		f.fault("for", err)
	}
	if err == nil && (lasts < time.Minute || lasts > longestSpan) {
		f.fault("for", fmt.Errorf("%q: from a minute (1m) to a year (366d) can be simulated", f.For))
	}
	a.span.To = a.span.From.Add(min(max(lasts, time.Minute), longestSpan))
	a.model.Stopping = 5 * time.Second
	a.model.Durations, err = simulation.ParseDurations(cmp.Or(f.Duration, "5m"))
	f.fault("duration", err)
	a.model.Fail, err = simulation.ParseProbability(cmp.Or(f.Fail, "0%"))
	f.fault("fail", err)
	if f.Deadline != "" {
		d, err := readDeadline(f.Deadline)
		f.fault("deadline", err)
		a.deadline = &d
	}
	f.readOutage(&a, zone)
	f.readPolicy(&a)
	return a
}

// readDeadline reads a duration, or a number of seconds as a CronJob has it.
func readDeadline(text string) (time.Duration, error) {
	if n, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(n) * time.Second, nil
	}
	d, err := simulation.ParseDuration(text)
	if err == nil && (d < time.Second || d > longestSpan) {
		err = fmt.Errorf("%q: a deadline is from a second to a year", text)
	}
	return d.Truncate(time.Second), err
}

func (f *form) readOutage(a *asked, zone *time.Location) {
	if f.Outage == "" || f.Faults["from"] != "" || f.Faults["for"] != "" {
		return
	}
	from, to, found := strings.Cut(f.Outage, "..")
	if !found {
		f.fault("outage", fmt.Errorf("%q: write FROM..TO, such as +2h..+4h or 2027-03-01T02:00..2027-03-01T04:00", f.Outage))
		return
	}
	var o simulation.Span
	var err error
	o.From, err = simulation.ParseInstant(from, a.span.From, zone)
	f.fault("outage", err)
	o.To, err = simulation.ParseInstant(to, a.span.From, zone)
	f.fault("outage", err)
	switch {
	case f.Faults["outage"] != "":
	case !o.To.After(o.From):
		f.fault("outage", fmt.Errorf("%q ends before it begins", f.Outage))
	case !o.To.After(a.span.From) || !o.From.Before(a.span.To):
		f.fault("outage", fmt.Errorf("%q lies outside of what is simulated", f.Outage))
	default:
		a.outages = []simulation.Span{o}
	}
}

func (f *form) readPolicy(a *asked) {
	switch f.Policy {
	case "", "Allow", "Forbid", "Replace":
	case "Queue":
		if !a.timetable {
			f.fault("policy", fmt.Errorf("only a Timetable has the policy Queue; read it as one, or choose another policy"))
		}
	default:
		f.fault("policy", fmt.Errorf("there is no policy %q: it is Allow, Forbid, Replace or, of a Timetable, Queue", f.Policy))
	}
}

// schedules reads the lines, as a CronJob or as a Timetable.
func (f *form) schedules() (lines []string, timetable bool, err error) {
	lines = f.Lines()
	switch f.Language {
	case "", asCronJob, asTimetable:
	default:
		f.fault("as", fmt.Errorf("there is no kind %q: it is cronjob or timetable", f.Language))
	}
	if len(lines) > mostLines {
		return nil, false, fmt.Errorf("it has %d lines, and %d are the most", len(lines), mostLines)
	}
	if len(lines) == 1 && f.Language != asTimetable {
		_, ofCronJob := words.Read(lines[0], words.Options{})
		if ofCronJob == nil {
			return lines, false, nil
		}
		if f.Language == asCronJob {
			return nil, false, ofCronJob
		}
		ofTimetable := readLine(lines[0])
		if ofTimetable != nil {
			return nil, false, words.Refusal(lines[0], ofCronJob, ofTimetable)
		}
		return lines, true, nil
	}
	if f.Language == asCronJob && len(lines) > 1 {
		return nil, false, fmt.Errorf("a CronJob has one schedule, and these are %d; a Timetable may have several", len(lines))
	}
	for n, line := range lines {
		if err := readLine(line); err != nil {
			if len(lines) > 1 {
				err = fmt.Errorf("line %d: %w", n+1, err)
			}
			return nil, true, err
		}
	}
	return lines, true, nil
}

// readLine checks one schedule of a Timetable.
func readLine(line string) error {
	item := itemOf(line)
	if item.cron != "" {
		_, err := words.Read(line, words.Options{Language: words.Timetable, Name: "main"})
		return err
	}
	_, err := timeset.Compile(timeset.Spec{Items: []timeset.Item{{Name: "main", Every: item.every, At: item.at}}})
	return err
}

// work is about how many steps it takes to look at lines.
func work(lines []string, now time.Time) int {
	times := 0
	for _, line := range lines {
		i := itemOf(line)
		if set, err := timeset.Compile(timeset.Spec{Items: []timeset.Item{{Name: "main", Cron: i.cron, Every: i.every, At: i.at}}}); err == nil {
			times += set.Count(now, now.AddDate(2, 0, 0))
		}
	}
	return times * len(lines)
}

// item is a line as the schedule of a Timetable: a cron expression, "every 6h", or "at 2027-03-01T14:00, 2027-04-01".
type item struct {
	cron, every string
	at          []string
}

func itemOf(line string) item {
	if rest, ok := cutWord(line, "every"); ok {
		return item{every: rest}
	}
	if rest, ok := cutWord(line, "at"); ok {
		i := item{}
		for moment := range strings.SplitSeq(rest, ",") {
			i.at = append(i.at, strings.TrimSpace(moment))
		}
		return i
	}
	return item{cron: line}
}

func cutWord(line, word string) (rest string, ok bool) {
	first, rest, _ := strings.Cut(line, " ")
	return strings.TrimSpace(rest), strings.EqualFold(strings.TrimSuffix(first, ":"), word)
}

// choice is one of a field.
type choice struct{ Value, Text string }

// Policies are the choices of what happens if a run still goes on.
func (f *form) Policies() []choice {
	return []choice{{"", "the default"}, {"Allow", "Allow: run beside it"}, {"Forbid", "Forbid: do not start"}, {"Replace", "Replace: stop it"}, {"Queue", "Queue: wait (Timetable)"}}
}
