// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package table_test

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/internal/cli/table"
)

// runs is a table as commands show it.
func runs() table.Table {
	return table.Table{
		Columns: []table.Column{
			{Header: "RUN", Min: 8},
			{Header: "TOOK", Right: true},
			{Header: "NODE", Priority: 2},
			{Header: "REASON", Min: 10, Priority: 1},
			{Header: "NOTE"},
		},
		Rows: [][]table.Cell{
			{table.Text("cronjob/backup"), {Text: "1h2m"}, table.Text("worker-1"), {Text: "BackoffLimitExceeded: three times", Color: table.Red}},
			{table.Text("cronjob/漢字漢字漢字"), table.Text("3s"), {}, table.Text("\x1b[31mforged\x1b[0m\nline")},
			{table.Text("cronjob/é́"), {}, table.Text("worker-2")},
		},
	}
}

func TestTable(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*table.Table)
		width  int
		color  bool
		want   string
	}{
		"as wide as it is": {width: 0, want: `
RUN                   TOOK  NODE      REASON
cronjob/backup        1h2m  worker-1  BackoffLimitExceeded: three times
cronjob/漢字漢字漢字    3s            ^[[31mforged^[[0m line
cronjob/é́                   worker-2
`},
		"what may shrink does, the widest first": {width: 60, want: `
RUN                   TOOK  NODE      REASON
cronjob/backup        1h2m  worker-1  BackoffLimitExceeded:…
cronjob/漢字漢字漢字    3s            ^[[31mforged^[[0m line
cronjob/é́                   worker-2
`},
		"down to its least width": {width: 38, want: `
RUN         TOOK  NODE      REASON
cronjob/b…  1h2m  worker-1  BackoffLi…
cronjob/…     3s            ^[[31mfor…
cronjob/é́         worker-2
`},
		"then the highest priority goes": {width: 30, want: `
RUN          TOOK  REASON
cronjob/ba…  1h2m  BackoffLim…
cronjob/漢…    3s  ^[[31mforg…
cronjob/é́
`},
		"and the next": {width: 20, want: `
RUN             TOOK
cronjob/backup  1h2m
cronjob/漢字…     3s
cronjob/é́
`},
		"all that stay become narrow where they must": {width: 9, want: `
RUN  TOOK
cr…  1h2m
cr…    3s
cr…
`},
		"without a header": {width: 40, change: func(t *table.Table) { t.NoHeader, t.Indent = true, 2 }, want: `
  cronjob/b…  1h2m  worker-1  BackoffLi…
  cronjob/…     3s            ^[[31mfor…
  cronjob/é́         worker-2
`},
		"no rows":          {width: 40, change: func(t *table.Table) { t.Rows, t.Indent, t.Empty = nil, 2, "nothing runs" }, want: "\n  nothing runs\n"},
		"no rows, no word": {width: 40, change: func(t *table.Table) { t.Rows = nil }, want: "\n"},
		"colours": {width: 60, color: true, want: "\n\x1b[2mRUN\x1b[0m                   \x1b[2mTOOK\x1b[0m  \x1b[2mNODE\x1b[0m      \x1b[2mREASON\x1b[0m\n" +
			"cronjob/backup        1h2m  worker-1  \x1b[31mBackoffLimitExceeded:…\x1b[0m\n" +
			"cronjob/漢字漢字漢字    3s            ^[[31mforged^[[0m line\ncronjob/é́                   worker-2\n"},
	} {
		t.Run(name, func(t *testing.T) {
			all := runs()
			if test.change != nil {
				test.change(&all)
			}
			var b bytes.Buffer
			if err := all.Write(&b, test.width, test.color); err != nil {
				t.Fatal(err)
			}
			if got := "\n" + b.String(); got != test.want {
				t.Errorf("got:%s\nquoted: %q", got, got)
			}
		})
	}
}

var colors = regexp.MustCompile("\x1b\\[[0-9]+m")

// No line is wider than asked for or ends in a blank, and colours change nothing else.
func TestTableFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all table.Table
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-z ]{0,40}`), rapid.StringMatching("[漢字\u0301\x1b\n🙂]{0,8}"))
		for range rapid.IntRange(1, 6).Draw(t, "columns") {
			all.Columns = append(all.Columns, table.Column{
				Header:   text.Draw(t, "header"),
				Right:    rapid.Bool().Draw(t, "right"),
				Min:      rapid.IntRange(0, 12).Draw(t, "min"),
				Priority: rapid.IntRange(0, 3).Draw(t, "priority"),
			})
		}
		for range rapid.IntRange(0, 4).Draw(t, "rows") {
			var row []table.Cell
			for range rapid.IntRange(0, 7).Draw(t, "cells") {
				row = append(row, table.Cell{Text: text.Draw(t, "text"), Color: rapid.SampledFrom([]table.Color{table.Plain, table.Red}).Draw(t, "color")})
			}
			all.Rows = append(all.Rows, row)
		}
		all.NoHeader, all.Indent, all.Empty = rapid.Bool().Draw(t, "no header"), rapid.IntRange(-1, 5).Draw(t, "indent"), "none"
		width := rapid.IntRange(1, 100).Draw(t, "width")
		plain, painted := all.Lines(width, false), all.Lines(width, true)
		for n, line := range plain {
			if got := table.Width(line); got > width {
				t.Errorf("%q is %d wide, more than %d", line, got, width)
			}
			if strings.HasSuffix(line, " ") || strings.ContainsAny(line, "\n\x1b") {
				t.Errorf("%q ends in a blank, or has what a terminal obeys", line)
			}
			if without := colors.ReplaceAllString(painted[n], ""); without != line {
				t.Errorf("painted %q is %q without colours, want %q", painted[n], without, line)
			}
		}
	})
}

func TestShorten(t *testing.T) {
	for _, test := range []struct {
		text  string
		width int
		want  string
	}{
		{"backup", 6, "backup"},
		{"backup", 5, "back…"},
		{"a b c", 3, "a…"},
		{"漢字漢字", 8, "漢字漢字"},
		{"漢字漢字", 7, "漢字漢…"},
		{"漢字漢字", 6, "漢字…"},
		{"漢", 1, "…"},
		{"e\u0301e\u0301e\u0301", 2, "e\u0301…"},
		{"a\x1b[2Jb", 10, "a^[[2Jb"},
		{"", 0, ""},
		{"ab", 0, "…"},
	} {
		if got := table.Shorten(test.text, test.width); got != test.want {
			t.Errorf("%q in %d columns is %q, want %q", test.text, test.width, got, test.want)
		}
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestWriteFails(t *testing.T) {
	all := runs()
	if err := all.Write(broken{}, 80, false); err == nil || err.Error() != "broken pipe" {
		t.Errorf("got %v", err)
	}
}
