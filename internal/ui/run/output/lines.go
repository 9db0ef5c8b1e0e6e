// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"bytes"
	"time"
	"unicode/utf8"

	"github.com/carillon-dev/carillon/internal/journal/crilog"
)

// Longest is how many bytes of a line are shown.
const Longest = 8 << 10

// Raw is a line as it was written, as far as it is shown.
type Raw struct {
	Writer int
	Time   time.Time
	Stderr bool
	// Text is without the line's end. It is valid until the next line is asked for.
	Text []byte
	// Cut is how many bytes are left out.
	Cut int64
}

// Joiner makes lines out of pieces. The zero value has none. It is for one goroutine.
type Joiner struct{ open map[stream]*Raw }

// Add takes a piece of a log. There is a line when it ends with the piece.
func (j *Joiner) Add(writer int, p crilog.Piece) (Raw, bool) {
	key := stream{writer, p.Stderr}
	line := j.open[key]
	if line == nil {
		whole := Raw{Writer: writer, Time: p.Time, Stderr: p.Stderr, Text: p.Text}
		if p.Ending != crilog.Continues {
			whole.bound()
			return whole, true
		}
		whole.Text = bytes.Clone(p.Text)
		whole.bound()
		if j.open == nil {
			j.open = map[stream]*Raw{}
		}
		j.open[key] = &whole
		return Raw{}, false
	}
	if line.Cut > 0 && bytes.IndexByte(p.Text, '\r') < 0 {
		line.Cut += int64(len(p.Text))
	} else {
		line.Text = append(line.Text, p.Text...)
		line.bound()
	}
	if p.Ending == crilog.Continues {
		return Raw{}, false
	}
	delete(j.open, key)
	return *line, true
}

// bound cuts a line that is too long. Of one that a program wrote over, as progress bars do, the last state is left.
func (r *Raw) bound() {
	if len(r.Text) <= Longest {
		return
	}
	if over := bytes.LastIndexByte(bytes.TrimRight(r.Text, "\r"), '\r'); over >= 0 {
		r.Text, r.Cut = r.Text[over+1:], 0
	}
	if len(r.Text) <= Longest {
		return
	}
	end := Longest
	for back := 0; back < utf8.UTFMax && !utf8.RuneStart(r.Text[end]); back++ {
		end--
	}
	r.Cut += int64(len(r.Text) - end)
	r.Text = r.Text[:end]
}

// reader gives the lines of logs.
type reader struct {
	from   *crilog.Merger
	joiner Joiner
	mark   *crilog.Mark // behind the last line that has ended; nil where nobody asks
	read   crilog.Mark
}

// next gives the next line; io.EOF when there is none.
func (r *reader) next() (Raw, error) {
	for {
		writer, piece, err := r.from.Next()
		if err != nil {
			return Raw{}, err
		}
		if r.mark != nil {
			if piece.Ending == crilog.Unended {
				continue
			}
			if r.read = r.read.After(piece); piece.Ending == crilog.Newline {
				*r.mark = r.read
			}
		}
		if line, whole := r.joiner.Add(writer, piece); whole {
			return line, nil
		}
	}
}
