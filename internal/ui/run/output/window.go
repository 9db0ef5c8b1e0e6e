// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"context"
	"errors"
	"io"

	"github.com/carillon-dev/carillon/internal/journal/crilog"
)

// Span chooses lines that follow each other.
type Span struct {
	// First is the number of the first line; 0 chooses the last ones.
	First int
	// Skip is how many of the last ones are left out.
	Skip int
	// Count is how many lines there are at most.
	Count int
	// Mark, if it is not nil, takes how far the one log was read, for the end of it: a line that its writer has not
	// ended yet is left out then.
	Mark *crilog.Mark
}

// Window is lines that follow each other.
type Window struct {
	Lines []Line
	// Total is how many lines there are; 0 if that was not counted, as nothing behind the window was read.
	Total int
	// Before and After: there are lines before and after these.
	Before, After bool
}

// askEvery is after how many lines it is asked whether somebody still waits.
const askEvery = 4096

// Read reads the lines of a span from logs, which the caller closes. The error is that of ctx.
func Read(ctx context.Context, from *crilog.Merger, s Span) (Window, error) {
	if s.First > 0 {
		return readFrom(ctx, from, s)
	}
	return readEnd(ctx, from, s)
}

func readFrom(ctx context.Context, from *crilog.Merger, s Span) (Window, error) {
	lines, shown := reader{from: from}, screens{}
	w := Window{Before: s.First > 1}
	for number := 1; ; number++ {
		if number%askEvery == 0 && ctx.Err() != nil {
			return w, ctx.Err()
		}
		line, err := lines.next()
		if errors.Is(err, io.EOF) {
			w.Total = number - 1
			return w, ctx.Err()
		}
		if err != nil {
			return w, err
		}
		if number >= s.First+s.Count {
			w.After = true
			return w, nil
		}
		if number >= s.First {
			w.Lines = append(w.Lines, shown.show(&line, number))
		}
	}
}

func readEnd(ctx context.Context, from *crilog.Merger, s Span) (Window, error) {
	lines, shown := reader{from: from, mark: s.Mark}, screens{}
	ring := make([]Raw, 0, min(s.Count+s.Skip, 64))
	most, total := s.Count+s.Skip, 0
	for {
		if total%askEvery == 0 && ctx.Err() != nil {
			return Window{}, ctx.Err()
		}
		line, err := lines.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Window{}, err
		}
		if len(ring) < most {
			ring = append(ring, Raw{})
		}
		kept := &ring[total%most]
		text := append(kept.Text[:0], line.Text...)
		*kept = line
		kept.Text = text
		total++
	}
	w := Window{Total: total}
	begin := total - len(ring)
	for number := begin + 1; number <= total-s.Skip && number <= begin+s.Count; number++ {
		w.Lines = append(w.Lines, shown.show(&ring[(number-1)%most], number))
	}
	if n := len(w.Lines); n > 0 {
		w.Before, w.After = w.Lines[0].Number > 1, w.Lines[n-1].Number < total
	}
	return w, ctx.Err()
}
