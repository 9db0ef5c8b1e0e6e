// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"io"
	"strings"

	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/cli/table"
	"github.com/carillon-dev/carillon/internal/plan/paragraph"
)

// textPrinter writes lines until one cannot be written.
type textPrinter struct {
	w     io.Writer
	width int
	color bool
	err   error
}

func (p *textPrinter) line(text string) {
	if p.err == nil {
		_, p.err = io.WriteString(p.w, console.EscapeControls(text)+"\n")
	}
}

func (p *textPrinter) table(t *table.Table, width int) {
	if p.err == nil {
		p.err = t.Write(p.w, width, p.color)
	}
}

// item is a line of a summary: a word, and what is to be said about it.
type item struct{ word, text string }

// items writes a summary: words in a column of their own, and text that is broken beside them.
func (p *textPrinter) items(items []item) {
	wide := 0
	for _, i := range items {
		wide = max(wide, table.Width(i.word))
	}
	for _, i := range items {
		word := i.word + strings.Repeat(" ", wide-table.Width(i.word)+2)
		for n, line := range paragraph.Lines(word, strings.Repeat(" ", wide+2), console.EscapeControls(i.text), p.width) {
			if n == 0 && p.color && strings.HasPrefix(line, i.word) {
				p.raw(table.Bold.Paint(i.word, true) + console.EscapeControls(line[len(i.word):]))
				continue
			}
			p.line(line)
		}
	}
}

// raw writes a line that is safe as it is.
func (p *textPrinter) raw(text string) {
	if p.err == nil {
		_, p.err = io.WriteString(p.w, text+"\n")
	}
}

// title writes a sentence in bold.
func (p *textPrinter) title(text string) {
	for _, line := range paragraph.Lines("", "", console.EscapeControls(text), p.width) {
		p.raw(table.Bold.Paint(line, p.color))
	}
}

// paragraph writes a sentence.
func (p *textPrinter) paragraph(text string) {
	for _, line := range paragraph.Lines("", "", console.EscapeControls(text), p.width) {
		p.line(line)
	}
}
