// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package explanation

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/plan/words"
	"github.com/carillon-dev/carillon/internal/plan/workload"
	"github.com/carillon-dev/carillon/schedule"
	"github.com/carillon-dev/carillon/schedule/timeset"
)

// schedules say each schedule in words.
func (s *subject) schedules() []Schedule {
	all := []Schedule{}
	for _, i := range s.items {
		said := Schedule{Name: i.name, Text: i.text, Notes: []string{}}
		switch {
		case !i.readable:
		case s.asTimetable:
			said.Words = words.Item(i.spec, i.expression)
		default:
			said.Words = i.expression.Words()
		}
		said.Notes = append(said.Notes, s.hashed(i)...)
		all = append(all, said)
	}
	return all
}

// hashed say which values were chosen for H.
func (s *subject) hashed(i item) []string {
	if i.expression == nil {
		return nil
	}
	var chosen []string
	for _, f := range i.expression.Fields() {
		for _, h := range f.Hashed {
			var values []string
			for _, v := range h.Values {
				values = append(values, strconv.Itoa(v))
			}
			chosen = append(chosen, fmt.Sprintf("%s for the %s is %s", h.Item, f.Name, strings.Join(values, ", ")))
		}
	}
	switch {
	case len(chosen) == 0:
		return nil
	case s.object == nil:
		return []string{strings.Join(chosen, "; ") + ". This follows from the namespace and name of a Timetable; here it has neither, so yours gets other values."}
	}
	return []string{strings.Join(chosen, "; ") + ". This follows from namespace and name, and stays."}
}

// limits say what else tells which times count.
func (s *subject) limits() []string {
	limits := []string{}
	if s.timetable == nil {
		return limits
	}
	spec := &s.timetable.Spec
	if w := spec.Window; w != nil {
		if w.NotBefore != nil {
			limits = append(limits, "Times before "+s.at(w.NotBefore.Time)+" do not count.")
		}
		if w.NotAfter != nil {
			limits = append(limits, "Times after "+s.at(w.NotAfter.Time)+" do not count.")
		}
	}
	for _, e := range spec.Exclude {
		switch {
		case e.Calendar != nil:
			limits = append(limits, fmt.Sprintf("Times in the periods of the Calendar %s are left out.", *e.Calendar))
		case e.Period != nil:
			limits = append(limits, "Times "+period(string(*e.Period))+" are left out.")
		}
	}
	if spec.Jitter != nil {
		limits = append(limits, s.jitter(*spec.Jitter))
	}
	if s.all != nil && len(s.changes()) > 0 {
		limits = append(limits, s.dst())
	}
	return limits
}

// period says a period of exclude.
func period(text string) string {
	p, err := timeset.ParsePeriod(text)
	if err != nil {
		return "in " + text
	}
	first, last, isRange := strings.Cut(text, "/")
	day := func(d string) string {
		at, err := time.Parse("2006-01-02", "2028-"+d) // a leap year
		if err != nil {
			return d
		}
		return at.Format("2 January")
	}
	switch {
	case p.Yearly && isRange:
		return "from " + day(first) + " to the end of " + day(last) + " of every year"
	case p.Yearly:
		return "on " + day(first) + " of every year"
	case strings.Contains(first, "T"):
		return "from " + strings.Replace(first, "T", " ", 1) + " until just before " + strings.Replace(last, "T", " ", 1)
	case isRange:
		return "from " + first + " to the end of " + last
	}
	return "on " + first
}

func (s *subject) jitter(jitter v1alpha1.Duration) string {
	d, err := timeset.ParseDuration(string(jitter))
	if err != nil {
		return "jitter: " + err.Error()
	}
	hash := schedule.Hash{Namespace: s.object.Namespace, Name: s.object.Name}
	offset := workload.JitterOffset(hash, d)
	return fmt.Sprintf("Each start is put off by %s: of at most %s (jitter) that much falls to this Timetable, always the same.",
		words.Duration(offset), words.Duration(d))
}

func (s *subject) dst() string {
	dst := s.timetable.Spec.DST
	var flow []string
	names := false
	for _, i := range s.items {
		switch {
		case i.onWall == nil:
		case i.expression != nil && !i.expression.NamesHours():
			flow = append(flow, i.name)
		default:
			names = true
		}
	}
	if !names {
		return "Its field for the hour has a *, so it flows with the clock when that changes: its times keep their distance."
	}
	gap := map[string]string{"Shift": "runs at the first instant after the gap", "Skip": "is left out"}[cmp.Or(string(dst.Gap), "Shift")]
	overlap := map[string]string{"First": "runs once, the first time", "Last": "runs once, the second time", "Both": "runs twice"}[cmp.Or(string(dst.Overlap), "First")]
	said := fmt.Sprintf("When the clocks go forward a time that does not exist %s; when they go back one that comes twice %s (dst).", gap, overlap)
	if len(flow) > 0 {
		said += fmt.Sprintf(" Not so of %s: with a * in the field for the hour it flows with the clock, and what does not exist is left out, what comes "+
			"twice runs twice.", strings.Join(flow, ", "))
	}
	return said
}

// at writes an instant in the zone of the subject.
func (s *subject) at(t time.Time) string {
	return t.In(s.zone).Format("Mon 2006-01-02 15:04:05 -07:00")
}
