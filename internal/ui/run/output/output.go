// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package output reads what containers wrote as a page shows it: some of the lines, or those that match a search. It
// reads as a stream, however much there is; memory is bounded by what is shown.
//
//   - output.go  Line, one that is shown
//   - lines.go   whole lines of the logs of containers, with bounds
//   - window.go  some lines that follow each other
//   - search.go  the lines that match
//   - pattern.go what is searched for
package output

import (
	"time"

	"github.com/carillon-dev/carillon/internal/ui/terminal"
)

// Line is a line that a container wrote.
type Line struct {
	// Number counts the lines of the log from 1; 0 if it is not known.
	Number int
	// Writer is the index of the log that it is of.
	Writer int
	// Time is when it was written, zero if nothing tells.
	Time time.Time
	// Stderr: it was written to the error stream.
	Stderr bool
	Parts  []Part
	// Cut is how many bytes of it are not shown, because it is too long.
	Cut int64
	// Hit: it matches the search. Gap: lines before it are left out.
	Hit, Gap bool
}

// Part is text of one style.
type Part struct {
	terminal.Segment
	// Hit: it is what was searched for.
	Hit bool
}

// Text is the text of a line as it is shown.
func (l *Line) Text() string {
	var all []byte
	for i := range l.Parts {
		all = append(all, l.Parts[i].Text...)
	}
	return string(all)
}

// screens are the terminals of the writers, by their streams.
type screens map[stream]*terminal.Program

type stream struct {
	writer int
	stderr bool
}

// show gives a line as it is shown.
func (s screens) show(r *Raw, number int) Line {
	key := stream{r.Writer, r.Stderr}
	program := s[key]
	if program == nil {
		program = &terminal.Program{}
		s[key] = program
	}
	l := Line{Number: number, Writer: r.Writer, Time: r.Time, Stderr: r.Stderr, Cut: r.Cut}
	for _, segment := range program.Line(r.Text) {
		l.Parts = append(l.Parts, Part{Segment: segment})
	}
	return l
}

// Screens shows lines one by one as they come. It is for one goroutine.
type Screens struct{ of screens }

// Show gives a line as it is shown.
func (s *Screens) Show(r *Raw, number int) Line {
	if s.of == nil {
		s.of = screens{}
	}
	return s.of.show(r, number)
}
