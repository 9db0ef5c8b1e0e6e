// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package crilog_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/internal/journal/crilog"
)

var begin = time.Date(2026, 5, 4, 2, 0, 0, 0, time.UTC)

// told is a piece in a form that is easily compared.
func told(p crilog.Piece) string {
	stream := "out"
	if p.Stderr {
		stream = "err"
	}
	clock := "-"
	if !p.Time.IsZero() {
		clock = fmt.Sprint(p.Time.Sub(begin))
	}
	return fmt.Sprintf("%s %s %q%s", clock, stream, p.Text, []string{"", " …", " no end"}[p.Ending])
}

func all(t *testing.T, r io.Reader) ([]string, error) {
	t.Helper()
	var got []string
	open := map[bool]int{} // the place of a line of which there is more
	for reader := crilog.NewReader(r); ; {
		p, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return got, nil
		}
		if err != nil {
			return got, err
		}
		line := told(p)
		if i, ok := open[p.Stderr]; ok {
			got[i] = strings.TrimSuffix(got[i], `" …`) + line[strings.IndexByte(line, '"')+1:]
		} else {
			got = append(got, line)
		}
		if delete(open, p.Stderr); p.Ending == crilog.Continues {
			open[p.Stderr] = len(got) - 1
		}
	}
}

func TestReader(t *testing.T) {
	const at, later = "2026-05-04T02:00:01Z ", "2026-05-04T02:00:02.5Z "
	long := strings.Repeat("x", 40<<10)
	for name, test := range map[string]struct {
		log  string
		want []string
	}{
		"nothing":                              {"", nil},
		"lines of both streams":                {at + "stdout F a\n" + later + "stderr F b\n", []string{`1s out "a"`, `2.5s err "b"`}},
		"an empty line":                        {at + "stdout F \n", []string{`1s out ""`}},
		"an empty line without its last blank": {at + "stdout F\n", []string{`1s out ""`}},
		"a line in parts":                      {at + "stdout P a\n" + later + "stdout F b\n", []string{`1s out "ab"`}},
		"parts of two streams in between": {at + "stdout P a\n" + later + "stderr P x\n" + later + "stdout F b\n" + later + "stderr F y\n",
			[]string{`1s out "ab"`, `2.5s err "xy"`}},
		"a line without end":       {at + "stdout F a\n" + later + "stdout P b\n", []string{`1s out "a"`, `2.5s out "b" no end`}},
		"a record without end":     {at + "stdout F a\n" + later + "stderr F b", []string{`1s out "a"`, `2.5s err "b" no end`}},
		"more tags":                {at + "stdout F:later:more a\n", []string{`1s out "a"`}},
		"a zone":                   {"2026-05-04T04:00:01+02:00 stdout F a\n", []string{`1s out "a"`}},
		"what is no record":        {at + "stdout F a\nno record\n", []string{`1s out "a"`, `1s out "no record"`}},
		"no record at all":         {"no record\n\n", []string{`- out "no record"`, `- out ""`}},
		"no stream of a program":   {at + "stdlog F a\n", []string{`- out "` + at + `stdlog F a"`}},
		"no tag":                   {at + "stdout X a\n", []string{`- out "` + at + `stdout X a"`}},
		"a record cut in its head": {at + "stdo", []string{`- out "` + at + `stdo" no end`}},
		"longer than a piece, in parts": {at + "stdout P " + long + "\n" + later + "stdout P " + long + "\n" + later + "stdout F b\n",
			[]string{`1s out "` + long + long + `b"`}},
		"long, and interrupted by the other stream": {at + "stdout P " + long + "\n" + at + "stdout P " + long + "\n" + later + "stderr F e\n" + later + "stdout F b\n",
			[]string{`1s out "` + long + long + `b"`, `2.5s err "e"`}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := all(t, strings.NewReader(test.log))
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
			got, err = all(t, iotest.OneByteReader(strings.NewReader(test.log)))
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
				t.Errorf("byte by byte: %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// A log that can be read to a point only gives what is before that point, and then says so.
func TestReaderFails(t *testing.T) {
	broken := errors.New("broken")
	got, err := all(t, io.MultiReader(strings.NewReader("2026-05-04T02:00:01Z stdout F a\n2026-05-04T02:00:02Z stdout F b"), iotest.ErrReader(broken)))
	if diff := cmp.Diff([]string{`1s out "a"`, `2s out "b" no end`}, got); diff != "" || !errors.Is(err, broken) {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// One record of any length comes in pieces that are bounded.
func TestPiecesAreBounded(t *testing.T) {
	log := "2026-05-04T02:00:01Z stdout F " + strings.Repeat("x", 1<<20) + "\n"
	reader, total, continued := crilog.NewReader(strings.NewReader(log)), 0, 0
	for {
		p, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		total += len(p.Text)
		if len(p.Text) > 2*crilog.LongestPiece {
			t.Errorf("a piece of %d bytes", len(p.Text))
		}
		if p.Ending == crilog.Continues {
			continued++
		}
	}
	if total != 1<<20 || continued < 10 {
		t.Errorf("%d bytes in %d pieces", total, continued)
	}
}

// What was written comes back, however it is cut into parts, and by whatever bytes.
func TestReaderGivesWhatWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var log []byte
		want := [2]string{}
		at := begin
		for range rapid.IntRange(0, 12).Draw(t, "lines") {
			stderr := rapid.Bool().Draw(t, "stderr")
			index := 0
			if stderr {
				index = 1
			}
			parts := rapid.SliceOfN(rapid.StringMatching(`[^\n]{0,30}`), 1, 4).Draw(t, "parts")
			for i, part := range parts {
				at = at.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "ms")) * time.Millisecond)
				log = crilog.AppendRecord(log, at, stderr, i < len(parts)-1, []byte(part))
				want[index] += part
			}
			want[index] += "\n"
		}
		got := [2]string{}
		for reader := crilog.NewReader(iotest.HalfReader(bytes.NewReader(log))); ; {
			p, err := reader.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			index := 0
			if p.Stderr {
				index = 1
			}
			got[index] += string(p.Text)
			if p.Ending == crilog.Newline {
				got[index] += "\n"
			}
		}
		if got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}

// logOf is a log that was written at these times, and what its lines say.
func logOf(t *rapid.T, index int) (crilog.Log, []string) {
	var log []byte
	var lines []string
	at := begin.Add(time.Duration(rapid.IntRange(0, 20).Draw(t, "start")) * time.Millisecond)
	since := at
	if rapid.Bool().Draw(t, "unknown start") {
		since = time.Time{}
	}
	for n := range rapid.IntRange(0, 10).Draw(t, "lines") {
		at = at.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "ms")) * time.Millisecond)
		text := fmt.Sprintf("%d.%d", index, n)
		log = crilog.AppendRecord(log, at, rapid.Bool().Draw(t, "stderr"), false, []byte(text))
		lines = append(lines, text)
	}
	return crilog.Log{Since: since, Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(log)), nil }}, lines
}

// Logs that are merged are in the order of time, each is in its own order, and nothing is lost or doubled.
func TestMerge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var logs []crilog.Log
		want := [][]string{}
		for i := range rapid.IntRange(0, 6).Draw(t, "logs") {
			log, lines := logOf(t, i)
			logs, want = append(logs, log), append(want, lines)
		}
		got := make([][]string, len(logs))
		m := crilog.Merge(logs)
		defer m.Close()
		for last := (time.Time{}); ; {
			log, p, err := m.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if p.Time.Before(last) {
				t.Fatalf("%s after %s", p.Time, last)
			}
			last = p.Time
			got[log] = append(got[log], string(p.Text))
		}
		if diff := cmp.Diff(want, got); diff != "" || len(m.Failures()) > 0 {
			t.Fatalf("%v (-want +got):\n%s", m.Failures(), diff)
		}
	})
}

// A log is opened when its turn comes, closed when it is read, and a line in pieces is not interrupted.
func TestMergeOpensLate(t *testing.T) {
	opened, closed := 0, 0
	var logs []crilog.Log
	for i := range 100 {
		at := begin.Add(time.Duration(i) * time.Minute)
		logs = append(logs, crilog.Log{Since: at, Open: func() (io.ReadCloser, error) {
			opened++
			if opened-closed > 2 {
				t.Errorf("%d are open at once", opened-closed)
			}
			return closing{bytes.NewReader(crilog.AppendRecord(nil, at, false, false, []byte("x"))), &closed}, nil
		}})
	}
	m := crilog.Merge(logs)
	for i := 0; ; i++ {
		log, _, err := m.Next()
		if err != nil {
			if i != 100 {
				t.Errorf("%d lines", i)
			}
			break
		}
		if log != i {
			t.Errorf("log %d comes at place %d", log, i)
		}
	}
	if closed != 100 {
		t.Errorf("%d of 100 are closed", closed)
	}
}

type closing struct {
	io.Reader
	closed *int
}

func (c closing) Close() error { *c.closed++; return nil }

func TestMergeLongLinesAndFailures(t *testing.T) {
	long := strings.Repeat("x", 3*crilog.LongestPiece)
	text := func(log []byte) func() (io.ReadCloser, error) {
		return func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(log)), nil }
	}
	m := crilog.Merge([]crilog.Log{
		{Open: text(crilog.AppendRecord(nil, begin, false, false, []byte(long)))},
		{Open: text(crilog.AppendRecord(nil, begin, false, false, []byte("short")))},
		{Open: func() (io.ReadCloser, error) { return nil, fs.ErrNotExist }},
		{Open: func() (io.ReadCloser, error) { return io.NopCloser(iotest.ErrReader(io.ErrUnexpectedEOF)), nil }},
	})
	defer m.Close()
	var order []int
	for {
		log, _, err := m.Next()
		if err != nil {
			break
		}
		if len(order) == 0 || order[len(order)-1] != log {
			order = append(order, log)
		}
	}
	if diff := cmp.Diff([]int{0, 1}, order); diff != "" {
		t.Errorf("a long line is interrupted (-want +got):\n%s", diff)
	}
	failures := m.Failures()
	if len(failures) != 2 || failures[0].Log != 2 || !failures[0].Missing() || failures[1].Log != 3 || failures[1].Missing() {
		t.Errorf("failures %v", failures)
	}
}

func TestTail(t *testing.T) {
	long := strings.Repeat("x", 3*crilog.LongestPiece)
	var log []byte
	for _, line := range []string{"a", "b", long, "c"} {
		log = crilog.AppendRecord(log, begin, false, false, []byte(line))
	}
	for lines, want := range map[int]string{0: "", 1: "c\n", 2: long + "\nc\n", 3: "b\n" + long + "\nc\n", 9: "a\nb\n" + long + "\nc\n"} {
		tail, reader := crilog.NewTail(lines), crilog.NewReader(bytes.NewReader(log))
		for {
			p, err := reader.Next()
			if err != nil {
				break
			}
			tail.Add(7, p)
		}
		got := ""
		_ = tail.Each(func(log int, p crilog.Piece) error {
			if got += string(p.Text); p.Ending == crilog.Newline {
				got += "\n"
			}
			if log != 7 {
				t.Errorf("of log %d", log)
			}
			return nil
		})
		if got != want {
			t.Errorf("the last %d lines are %d bytes, want %d", lines, len(got), len(want))
		}
	}
}

// No log makes it panic or lose text: all bytes but those of heads come back.
func FuzzReader(f *testing.F) {
	f.Add([]byte("2026-05-04T02:00:01Z stdout F a\n2026-05-04T02:00:01Z stderr P b"))
	f.Add([]byte("no record\n\n\x00"))
	f.Fuzz(func(t *testing.T, log []byte) {
		given, lines := 0, 0
		for reader := crilog.NewReader(bytes.NewReader(log)); ; {
			p, err := reader.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			given += len(p.Text)
			lines++
		}
		if given > len(log) || lines > bytes.Count(log, []byte("\n"))+2 {
			t.Errorf("%d bytes in %d lines of a log of %d bytes", given, lines, len(log))
		}
		if !bytes.Contains(log, []byte("std")) && given != len(log)-bytes.Count(log, []byte("\n")) {
			t.Errorf("%d of %d bytes", given, len(log))
		}
	})
}
