// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/paragraph"
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
		f.Faults[name] = paragraph.Sentence(err.Error())
	}
}

// choice is one of a field.
type choice struct{ Value, Text string }

// Policies are the choices of what happens if a run still goes on.
func (f *form) Policies() []choice {
	return []choice{{"", "the default"}, {"Allow", "Allow: run beside it"}, {"Forbid", "Forbid: do not start"}, {"Replace", "Replace: stop it"}, {"Queue", "Queue: wait (Timetable)"}}
}
