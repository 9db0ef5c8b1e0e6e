// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"context"
	"errors"
	"io"

	"github.com/carillon-dev/carillon/internal/journal/crilog"
	"github.com/carillon-dev/carillon/internal/ui/terminal"
)

// Search says what is searched for, and how much of it is shown.
type Search struct {
	For *Pattern
	// First is the number of the first line that is looked at, from 1.
	First int
	// Most is how many lines that match are shown, Context how many beside each.
	Most, Context int
	// Enough, if it is not nil, is asked after some work; it ends a search that has taken too long.
	Enough func() bool
}

// Found is what a search gives.
type Found struct {
	Lines []Line
	// Matches is how many lines match, as far as they were looked at; Shown is how many of these are among Lines.
	Matches, Shown int
	// Next is the number of the first line that matches and is not shown; 0 if there is none.
	Next int
	// Stopped is the number of the line at which it had taken too long; 0 if all was looked at.
	Stopped int
}

// askWork is after how many bytes it is asked whether to go on; where an expression is sought, after each line.
const askWork = 64 << 10

// Find searches logs, which the caller closes. The error is that of ctx.
func Find(ctx context.Context, from *crilog.Merger, s Search) (Found, error) {
	lines, shown, looked := reader{from: from}, screens{}, terminal.Program{}
	var found Found
	var before kept // lines that may be context
	var scratch []byte
	after, last, work := 0, 0, 0
	for number := 1; ; number++ {
		if work >= askWork {
			work = 0
			if err := ctx.Err(); err != nil {
				return found, err
			}
			if s.Enough != nil && s.Enough() {
				found.Stopped = number
				return found, nil
			}
		}
		line, err := lines.next()
		if errors.Is(err, io.EOF) {
			return found, ctx.Err()
		}
		if err != nil {
			return found, err
		}
		if number < s.First {
			work += 1 + len(line.Text)
			continue
		}
		text := line.Text
		if !terminal.Plain(text) {
			text = append(scratch[:0], terminal.Text(looked.Line(text))...)
			scratch = text
		}
		if work += 1 + len(text); s.For.expr != nil {
			work = askWork // one line may take long
		}
		full, hit := found.Shown == s.Most, s.For.matches(text)
		if hit {
			found.Matches++
			if full && found.Next == 0 {
				found.Next = number
			}
		}
		switch {
		case hit && !full:
			for _, one := range before.take() {
				found.add(shown.show(&one.line, one.number), &last)
			}
			one := shown.show(&line, number)
			one.Hit, one.Parts = true, marked(one.Parts, s.For.find([]byte(one.Text())))
			found.add(one, &last)
			found.Shown++
			after = s.Context
		case after > 0:
			found.add(shown.show(&line, number), &last)
			after--
		case !full && s.Context > 0:
			before.add(&line, number, s.Context)
		}
	}
}

// kept are the last lines that were looked at and are not shown.
type kept struct{ lines []numbered }

type numbered struct {
	line   Raw
	number int
}

func (k *kept) add(l *Raw, number, most int) {
	next := numbered{*l, number}
	var text []byte
	if len(k.lines) == most {
		text = k.lines[0].line.Text
		copy(k.lines, k.lines[1:])
		k.lines = k.lines[:most-1]
	}
	next.line.Text = append(text[:0], l.Text...)
	k.lines = append(k.lines, next)
}

func (k *kept) take() []numbered {
	lines := k.lines
	k.lines = nil
	return lines
}

// add adds a line that is shown; last is the number of the one before it.
func (f *Found) add(l Line, last *int) {
	l.Gap = *last > 0 && l.Number > *last+1
	*last = l.Number
	f.Lines = append(f.Lines, l)
}
