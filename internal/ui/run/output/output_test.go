// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package output_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/internal/journal/crilog"
	"github.com/carillon-dev/carillon/internal/ui/run/output"
)

var begin = time.Date(2026, 5, 4, 2, 0, 0, 0, time.UTC)

// logs gives logs with these lines, a millisecond apart; "!" begins one of the error stream.
func logs(all ...[]string) *crilog.Merger {
	var opened []crilog.Log
	at := begin
	for _, lines := range all {
		var text []byte
		for _, line := range lines {
			at = at.Add(time.Millisecond)
			plain, stderr := strings.CutPrefix(line, "!")
			text = crilog.AppendRecord(text, at, stderr, false, []byte(plain))
		}
		opened = append(opened, crilog.Log{Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(string(text))), nil }})
	}
	return crilog.Merge(opened)
}

func numbers(n int) (lines []string) {
	for i := range n {
		lines = append(lines, fmt.Sprint("line ", i+1))
	}
	return lines
}

// told writes lines: their number, "!" for one of the error stream, and the text, with what was found in brackets.
func told(lines []output.Line) (all []string) {
	for _, l := range lines {
		text := fmt.Sprint(l.Number, " ")
		if l.Gap {
			text = "… " + text
		}
		if l.Stderr {
			text += "!"
		}
		for _, p := range l.Parts {
			if p.Hit {
				text += "[" + p.Text + "]"
			} else {
				text += p.Text
			}
		}
		if l.Cut > 0 {
			text += fmt.Sprint("… ", l.Cut)
		}
		all = append(all, text)
	}
	return all
}

func TestRead(t *testing.T) {
	for name, test := range map[string]struct {
		lines         []string
		span          output.Span
		want          []string
		total         int
		before, after bool
	}{
		"nothing":                     {nil, output.Span{Count: 3}, nil, 0, false, false},
		"all":                         {numbers(3), output.Span{Count: 3}, []string{"1 line 1", "2 line 2", "3 line 3"}, 3, false, false},
		"the end":                     {numbers(9), output.Span{Count: 2}, []string{"8 line 8", "9 line 9"}, 9, true, false},
		"before the end":              {numbers(9), output.Span{Count: 2, Skip: 2}, []string{"6 line 6", "7 line 7"}, 9, true, true},
		"before the end, and no more": {numbers(3), output.Span{Count: 2, Skip: 2}, []string{"1 line 1"}, 3, false, true},
		"more is left out":            {numbers(3), output.Span{Count: 2, Skip: 5}, nil, 3, false, false},
		"from a line":                 {numbers(9), output.Span{First: 4, Count: 2}, []string{"4 line 4", "5 line 5"}, 0, true, true},
		"from the first":              {numbers(2), output.Span{First: 1, Count: 2}, []string{"1 line 1", "2 line 2"}, 2, false, false},
		"from beyond the end":         {numbers(2), output.Span{First: 7, Count: 2}, nil, 2, true, false},
		"two streams and colours":     {[]string{"\x1b[31ma", "!b", "c\rd"}, output.Span{Count: 9}, []string{"1 a", "2 !b", "3 d"}, 3, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := logs(test.lines)
			defer m.Close()
			w, err := output.Read(t.Context(), m, test.span)
			if diff := cmp.Diff(test.want, told(w.Lines)); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
			if w.Total != test.total || w.Before != test.before || w.After != test.after {
				t.Errorf("total %d, before %t, after %t", w.Total, w.Before, w.After)
			}
		})
	}
}

// Whatever part is asked for, it is that part.
func TestReadGivesWhatIsThere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 40).Draw(t, "lines")
		span := output.Span{First: rapid.IntRange(0, 45).Draw(t, "first"), Skip: rapid.IntRange(0, 20).Draw(t, "skip"), Count: rapid.IntRange(1, 15).Draw(t, "count")}
		first, last := span.First, min(n, span.First+span.Count-1)
		if first == 0 {
			last = n - span.Skip
			first = max(1, n-span.Skip-span.Count+1)
		}
		var want []string
		for i := first; i <= last; i++ {
			want = append(want, fmt.Sprintf("%d line %d", i, i))
		}
		m := logs(numbers(n))
		defer m.Close()
		w, err := output.Read(context.Background(), m, span)
		if diff := cmp.Diff(want, told(w.Lines)); diff != "" || err != nil {
			t.Fatalf("%v (-want +got):\n%s", err, diff)
		}
	})
}

// A long line is cut, with what is left out told; of a progress bar the last state is left.
func TestLongLines(t *testing.T) {
	long, bar := strings.Repeat("é", 100_000), strings.Repeat("working 10%\r", 20_000)+"done       "
	m := logs([]string{long, bar, "end"})
	defer m.Close()
	w, err := output.Read(t.Context(), m, output.Span{Count: 9})
	if err != nil || len(w.Lines) != 3 {
		t.Fatalf("%d lines, %v", len(w.Lines), err)
	}
	if l := &w.Lines[0]; int64(len(l.Text()))+l.Cut != int64(len(long)) || len(l.Text()) > output.Longest || !strings.HasPrefix(long, l.Text()) {
		t.Errorf("%d bytes are shown and %d cut, of %d", len(l.Text()), l.Cut, len(long))
	}
	if l := &w.Lines[1]; l.Text() != "done       " || l.Cut != 0 {
		t.Errorf("%q, %d cut", l.Text(), l.Cut)
	}
}

// Several logs are one, in the order of time.
func TestReadSeveral(t *testing.T) {
	m := logs([]string{"a", "b"}, []string{"c"})
	defer m.Close()
	w, err := output.Read(t.Context(), m, output.Span{Count: 9})
	if diff := cmp.Diff([]string{"1 a", "2 b", "3 c"}, told(w.Lines)); diff != "" || err != nil || w.Lines[2].Writer != 1 {
		t.Errorf("%v %s", err, diff)
	}
}

func TestReadEndsWithItsViewer(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	for _, span := range []output.Span{{Count: 2}, {First: 1, Count: 100_000}} {
		if _, err := output.Read(ctx, logs(numbers(9000)), span); !errors.Is(err, context.Canceled) {
			t.Errorf("%+v: %v", span, err)
		}
	}
}

func TestFind(t *testing.T) {
	text := []string{"start", "one", "two", "ERROR: disk", "three", "four", "five", "six", "error again, error", "end"}
	for name, test := range map[string]struct {
		lines      []string
		text       string
		expression bool
		search     output.Search
		want       []string
		matches    int
		next       int
	}{
		"with what is beside it": {text, "error", false, output.Search{Most: 9, Context: 1},
			[]string{"3 two", "4 [ERROR]: disk", "5 three", "… 8 six", "9 [error] again, [error]", "10 end"}, 2, 0},
		"capitals count if there are some": {text, "ERROR", false, output.Search{Most: 9}, []string{"4 [ERROR]: disk"}, 1, 0},
		"some are shown, all are counted":  {text, "error", false, output.Search{Most: 1}, []string{"4 [ERROR]: disk"}, 2, 9},
		"from a line on":                   {text, "error", false, output.Search{Most: 1, First: 9}, []string{"9 [error] again, [error]"}, 1, 0},
		"what is beside two comes once": {[]string{"a", "x", "b", "x", "c"}, "x", false, output.Search{Most: 9, Context: 2},
			[]string{"1 a", "2 [x]", "3 b", "4 [x]", "5 c"}, 2, 0},
		"a regular expression":   {text, "^(one|two)$", true, output.Search{Most: 9}, []string{"2 [one]", "3 [two]"}, 2, 0},
		"its syntax is text":     {[]string{"a.b", "axb"}, "a.b", false, output.Search{Most: 9}, []string{"1 [a.b]"}, 1, 0},
		"what has no length":     {text, "q*", true, output.Search{Most: 9}, nil, 0, 0},
		"colours do not hide it": {[]string{"er\x1b[31mr\x1b[0mor"}, "error", false, output.Search{Most: 9}, []string{"1 [er][r][or]"}, 1, 0},
		"what was written over":  {[]string{"error\rclean"}, "error", false, output.Search{Most: 9}, nil, 0, 0},
		"other letters":          {[]string{"GRÜSSE, Ü"}, "ü", false, output.Search{Most: 9}, []string{"1 GR[Ü]SSE, [Ü]"}, 1, 0},
		"markup":                 {[]string{"<b>x</b>"}, "<b>", false, output.Search{Most: 9}, []string{"1 [<b>]x</b>"}, 1, 0},
		"nothing":                {text, "absent", false, output.Search{Most: 9}, nil, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			if test.search.For, err = output.Compile(test.text, test.expression); err != nil {
				t.Fatal(err)
			}
			found, err := output.Find(t.Context(), logs(test.lines), test.search)
			if diff := cmp.Diff(test.want, told(found.Lines)); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
			if found.Matches != test.matches || found.Next != test.next || found.Stopped != 0 {
				t.Errorf("%d matches, next %d, stopped %d", found.Matches, found.Next, found.Stopped)
			}
		})
	}
}

// A search that takes too long says how far it came.
func TestFindStops(t *testing.T) {
	p, err := output.Compile("line", false)
	if err != nil {
		t.Fatal(err)
	}
	found, err := output.Find(t.Context(), logs(numbers(9000)), output.Search{For: p, Most: 1, Enough: func() bool { return true }})
	if err != nil || found.Stopped != 6666 || found.Matches != 6665 { // 64 KiB in
		t.Errorf("stopped at %d with %d matches, %v", found.Stopped, found.Matches, err)
	}
}

func TestCompileRefuses(t *testing.T) {
	for name, text := range map[string]string{"no expression": "(", "too long": strings.Repeat("a", 501), "too much": "((a{1000}){1000})"} {
		if _, err := output.Compile(text, true); err == nil {
			t.Errorf("%s: nothing is wrong", name)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	lines := numbers(100_000)
	var text []byte
	for _, l := range lines {
		text = crilog.AppendRecord(text, begin, false, false, []byte(l+" of an ordinary program, which is about as long as lines are in logs, with a word more"))
	}
	open := func() *crilog.Merger {
		return crilog.Merge([]crilog.Log{{Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(string(text))), nil }}})
	}
	b.Run("end", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := output.Read(b.Context(), open(), output.Span{Count: 500}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("search", func(b *testing.B) {
		p, err := output.Compile("absent", false)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := output.Find(b.Context(), open(), output.Search{For: p, Most: 200, Context: 2}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// An expression is asked about after each line, and one that takes long for each byte is none.
func TestExpressionIsBounded(t *testing.T) {
	p, err := output.Compile("x.*y", true)
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	found, err := output.Find(t.Context(), logs(numbers(100)), output.Search{For: p, Most: 1, Enough: func() bool { asked++; return asked == 3 }})
	if err != nil || found.Stopped != 4 {
		t.Errorf("%+v, %v", found, err)
	}
	for text, refused := range map[string]bool{`([a-z ]{0,1000}X)`: true, `(a{30}){30}`: true, `\w{1,50}@\w{1,50}`: false, `^\d+ error`: false} {
		if _, err := output.Compile(text, true); (err != nil) != refused {
			t.Errorf("%s: %v", text, err)
		}
	}
	// All marks of a line are bounded: each may take as long as the line.
	if p, err = output.Compile("(?:[a-z]*!)|a", true); err != nil {
		t.Fatal(err)
	}
	found, err = output.Find(t.Context(), logs([]string{strings.Repeat("a", 8000)}), output.Search{For: p, Most: 1})
	if err != nil || found.Matches != 1 || len(found.Lines[0].Parts) > 65 {
		t.Errorf("%d parts, %v", len(found.Lines[0].Parts), err)
	}
}
