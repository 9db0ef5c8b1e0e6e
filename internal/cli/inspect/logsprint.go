// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"bufio"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/journal/crilog"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// printer writes lines of containers. It is for one goroutine.
type printer struct {
	w        *bufio.Writer
	prefix   prefixMode
	stamps   bool
	filter   bool // what a terminal would obey
	colors   bool
	speakers map[string]*speaker // by the ID of the container
	writers  map[writer]bool
	names    map[string]bool // of containers
	open     *speaker        // that whose line has not ended
	scratch  []byte
}

// writer is a container of a Pod, restarted or not.
type writer struct {
	pod       types.UID
	container string
}

// speaker is what is remembered of a container that writes: what its streams have left on a terminal.
type speaker struct {
	streams [2]console.ProgramOutput
	stderr  bool // its open line is of that stream
}

// timestampFormat is RFC 3339 with as many digits in all lines.
const timestampFormat = "2006-01-02T15:04:05.000000000Z07:00"

func (l *logs) newPrinter() *printer {
	return &printer{
		w: bufio.NewWriterSize(l.streams.Out, 32<<10), prefix: l.prefix, stamps: l.stamps,
		filter: l.terminal && !l.raw, colors: l.colors,
		speakers: map[string]*speaker{}, writers: map[writer]bool{}, names: map[string]bool{},
	}
}

// expect says whose lines are to come. With prefixes as need be, several make them.
func (p *printer) expect(attempts []run.Attempt) {
	for i := range attempts {
		p.writers[writer{attempts[i].PodUID, attempts[i].Container}] = true
		p.names[attempts[i].Container] = true
	}
}

// print writes a piece of the output of an attempt.
func (p *printer) print(a *run.Attempt, piece crilog.Piece) error {
	s := p.speakers[a.ContainerID]
	if s == nil {
		s = &speaker{}
		s.streams[0].Colors, s.streams[1].Colors = p.colors, p.colors
		p.speakers[a.ContainerID] = s
	}
	if p.open != nil && (p.open != s || s.stderr != piece.Stderr) {
		p.endLine()
	}
	if p.open == nil {
		p.begin(a, piece.Time)
	}
	p.open, s.stderr = s, piece.Stderr
	text := piece.Text
	if p.filter {
		p.scratch = s.stream().Append(p.scratch[:0], text, piece.Ending == crilog.Newline)
		text = p.scratch
	}
	_, err := p.w.Write(text)
	if piece.Ending == crilog.Newline {
		p.open = nil
		err = p.w.WriteByte('\n') // a writer that has failed fails again
	}
	return err
}

func (s *speaker) stream() *console.ProgramOutput {
	if s.stderr {
		return &s.streams[1]
	}
	return &s.streams[0]
}

// begin writes what stands before a line.
func (p *printer) begin(a *run.Attempt, at time.Time) {
	if p.prefix == prefixAlways || p.prefix != prefixNever && len(p.writers) > 1 {
		label := console.EscapeControls(a.Pod)
		if p.prefix == prefixAlways || len(p.names) > 1 {
			label += "/" + console.EscapeControls(a.Container)
		}
		label += " │"
		if p.filter && p.colors {
			label = console.PaintSource(label)
		}
		_, _ = p.w.WriteString(label + " ") // an error comes again when the line is written
	}
	if p.stamps && !at.IsZero() {
		_, _ = p.w.Write(append(at.UTC().AppendFormat(p.scratch[:0], timestampFormat), ' ')) // as above
	}
}

// endLine ends a line that its writer has not ended, for that of another one.
func (p *printer) endLine() {
	if p.filter {
		_, _ = p.w.Write(p.open.stream().Append(p.scratch[:0], nil, true)) // an error comes again
	}
	_ = p.w.WriteByte('\n') // as above
	p.open = nil
}

// finish writes what is left. A line without an end is ended where somebody looks at it.
func (p *printer) finish() error {
	if p.open != nil && (p.filter || p.prefix == prefixAlways || len(p.writers) > 1) {
		p.endLine()
	}
	return p.w.Flush()
}
