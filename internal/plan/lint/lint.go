// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lint finds what is wrong with CronJobs, Timetables and Jobs before they run: what cannot work, what will
// hurt, and what is worth knowing.
//
//	lint.go       Check: all rules over all objects
//	rule.go       Rule, Level, Finding: what a rule is, and what it finds
//	rules.go      the table of rules; each is in a file of its own, rule_NAME.go
//	subject.go    the object that a rule looks at
//	jobspec.go    its Jobs and Pod templates, whichever kind holds them
//	obstacle.go   what keeps it from having times, as whoever reads it says
//	policy.go     its overlaps, deadlines and history
//	image.go      names of images
//	crontext.go   its cron expressions, field by field
//	times.go      when it starts, and how far apart
//	wallclock.go  the days on which a zone changes its clocks
//	path.go       the path of a field
//	document.go   where a field stands in the text of a file
//	suppress.go   findings that somebody has decided to live with
//	fix.go        cures that a program can apply; edit.go applies them to text
//	diff.go       two texts as a unified diff
//	sarif.go, junit.go  a report in the forms that CI systems read
//
// To add a rule, write a file with a Rule and add it to the table. Nothing here reads a file, a clock or an API server.
package lint

import (
	"cmp"
	"slices"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// Options say how objects are looked at.
type Options struct {
	// Now is the time from which on schedules are looked at.
	Now time.Time
	// Texts are the texts of the files that objects come from, by File of the object. Without that of its file a finding
	// has the line of its object, and comments suppress nothing.
	Texts map[string]string
	// Only, if not empty, are the ids of the rules that are asked; Without those that are not.
	Only, Without []string
	// Zone is what a fix writes where no time zone stands; "" leaves such findings without a fix.
	Zone string
	// Refusals tell why an API server would not take an object; nil if nobody knows.
	Refusals Refusals
}

// A Report is what was found.
type Report struct {
	// Findings are in the order of files, lines and rules.
	Findings []Finding
	// Suppressed are those that somebody has decided to live with.
	Suppressed []Finding
	// Objects is how many objects were looked at, and Others how many have a kind that no rule knows: of those it is only
	// told when one is there twice.
	Objects, Others int
}

// Count is how many findings have a level.
func (r *Report) Count(level Level) int {
	n := 0
	for _, f := range r.Findings {
		if f.Rule.Level == level {
			n++
		}
	}
	return n
}

// Worst is the highest level of all findings, 0 if there is none.
func (r *Report) Worst() Level {
	worst := Level(0)
	for _, f := range r.Findings {
		worst = max(worst, f.Rule.Level)
	}
	return worst
}

// Check asks the rules about all objects.
func Check(objects *workload.Objects, options Options) *Report {
	all := subjectsOf(objects, options)
	var found []Finding
	for _, rule := range Rules {
		if !asked(rule.ID, options) {
			continue
		}
		if rule.check != nil {
			for _, s := range all.subjects {
				for _, p := range rule.check(s) {
					found = append(found, s.finding(rule, p))
				}
			}
		}
		if rule.checkAll != nil {
			for _, p := range rule.checkAll(all) {
				found = append(found, p.subject.finding(rule, p.problem))
			}
		}
	}
	report := &Report{}
	for _, s := range all.subjects {
		if s.known() {
			report.Objects++
		} else {
			report.Others++
		}
	}
	for _, f := range alone(found) {
		if reason, suppressed := f.subject.suppressions.use(f.Rule.ID, f.Line); suppressed {
			f.Suppressed = reason
			report.Suppressed = append(report.Suppressed, f)
			continue
		}
		report.Findings = append(report.Findings, f)
	}
	report.Findings = append(report.Findings, suppressionFindings(all, options)...)
	sortFindings(report.Findings)
	sortFindings(report.Suppressed)
	return report
}

func asked(id string, options Options) bool {
	return (len(options.Only) == 0 || slices.Contains(options.Only, id)) && !slices.Contains(options.Without, id)
}

func sortFindings(findings []Finding) {
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(a.subject.fileOrder, b.subject.fileOrder),
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.subject.order, b.subject.order),
			cmp.Compare(b.Rule.Level, a.Rule.Level),
			cmp.Compare(a.Rule.ID, b.Rule.ID),
		)
	})
}

// AtLeast is the report without findings below a level, and how many there were.
func (r *Report) AtLeast(least Level) (shown *Report, hidden int) {
	shown = &Report{Objects: r.Objects, Others: r.Others}
	for _, f := range r.Findings {
		if f.Rule.Level < least {
			hidden++
			continue
		}
		shown.Findings = append(shown.Findings, f)
	}
	for _, f := range r.Suppressed {
		if f.Rule.Level >= least {
			shown.Suppressed = append(shown.Suppressed, f)
		}
	}
	return shown, hidden
}
