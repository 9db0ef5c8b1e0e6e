// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package table writes tables that fit a terminal. output.TableWidth tells how wide it may be,
// and plan/duration.FromNow how far a time is from now.
//
//   - table.go  columns, rows and cells, and how they are written
//   - fit.go    which columns stay, and how wide they are
//   - text.go   how wide text is, and how it is made shorter
package table

import (
	"io"
	"strings"
)

// Color says what a cell means. It is an addition: the text must say the same, since not every terminal shows colours
// and not everybody sees them.
type Color string

// The colours.
const (
	Plain  Color = ""
	Green  Color = "32" // it is well, it succeeded
	Red    Color = "31" // it failed, it is broken
	Yellow Color = "33" // it waits, it was missed, somebody should look
	Dim    Color = "2"  // of less weight than the rest
	Bold   Color = "1"  // a title
)

// Paint gives text in a colour, and nothing but the text if on is false. The text must have gone through
// console.EscapeControls.
func (c Color) Paint(text string, on bool) string {
	if !on || c == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

// Cell is one text of a table, of whatever characters: those that a terminal would obey are written visibly, and
// several lines as one.
type Cell struct {
	Text  string
	Color Color
}

// Text is a cell without colour.
func Text(text string) Cell { return Cell{Text: text} }

// Column is one column of a table.
type Column struct {
	Header string
	// Right aligns it to the right, as numbers are.
	Right bool
	// Min is the width in columns of the terminal down to which it may be made narrower, its texts then ending in "…";
	// 0: it is shown whole or not at all.
	Min int
	// Priority above 0 lets it be left out where there is no room: the highest goes first, and of equal ones the one
	// further to the right. Those with 0 stay.
	Priority int
}

// Table is a table. A column in which no row has any text is left out. The zero value has nothing.
type Table struct {
	Columns []Column
	// Rows have a cell for each column; those that are not there are empty, and those beyond are not shown.
	Rows [][]Cell
	// NoHeader leaves the line of headers out.
	NoHeader bool
	// Indent is how many blanks begin each line.
	Indent int
	// Empty is the sentence that stands for a table without rows; "" for none.
	Empty string
}

// gap is how many blanks stand between columns.
const gap = 2

// Write writes the table with lines of at most width columns of the terminal (0: as wide as it is), and with colours if
// color says so. Errors are those of w.
func (t *Table) Write(w io.Writer, width int, color bool) error {
	lines := t.Lines(width, color)
	if len(lines) == 0 {
		return nil
	}
	_, err := io.WriteString(w, strings.Join(lines, "\n")+"\n")
	return err
}

// Lines are what Write writes, without line ends. None ends in a blank.
func (t *Table) Lines(width int, color bool) []string {
	indent := strings.Repeat(" ", t.indent(width))
	if len(t.Rows) == 0 {
		if t.Empty == "" {
			return nil
		}
		return []string{shorten(indent+clean(t.Empty), width)}
	}
	texts, natural := t.texts()
	shown := t.fit(natural, width)
	var lines []string
	if !t.NoHeader {
		var header []Cell
		for _, column := range t.Columns {
			header = append(header, Cell{Text: strings.TrimRight(clean(column.Header), " "), Color: Dim})
		}
		lines = append(lines, t.line(indent, header, shown, color))
	}
	for _, row := range texts {
		lines = append(lines, t.line(indent, row, shown, color))
	}
	return lines
}

// indent is how many blanks begin a line: no more than leave room for something.
func (t *Table) indent(width int) int {
	if width > 0 {
		return max(0, min(t.Indent, width-1))
	}
	return max(0, t.Indent)
}

// texts are the rows as they may be written, and how wide each column is by them; 0: it has no text.
func (t *Table) texts() (rows [][]Cell, natural []int) {
	natural = make([]int, len(t.Columns))
	for _, row := range t.Rows {
		cells := make([]Cell, len(t.Columns))
		for n := range min(len(row), len(cells)) {
			cells[n] = Cell{Text: strings.TrimRight(clean(row[n].Text), " "), Color: row[n].Color}
			natural[n] = max(natural[n], Width(cells[n].Text))
		}
		rows = append(rows, cells)
	}
	if !t.NoHeader {
		for n, column := range t.Columns {
			if natural[n] > 0 {
				natural[n] = max(natural[n], Width(clean(column.Header)))
			}
		}
	}
	return rows, natural
}

// line writes one row.
func (t *Table) line(indent string, cells []Cell, shown []shown, color bool) string {
	var b strings.Builder
	b.WriteString(indent)
	blanks := 0 // which are written only if something follows them
	for n, s := range shown {
		if n > 0 {
			blanks += gap
		}
		text := shorten(cells[s.column].Text, s.width)
		rest := s.width - Width(text)
		if t.Columns[s.column].Right {
			blanks, rest = blanks+rest, 0
		}
		if text != "" {
			b.WriteString(strings.Repeat(" ", blanks))
			b.WriteString(cells[s.column].Color.Paint(text, color))
			blanks = 0
		}
		blanks += rest
	}
	return strings.TrimRight(b.String(), " ")
}
