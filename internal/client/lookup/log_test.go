// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"pgregory.net/rapid"
)

const logTime = "2026-11-01T00:00:00.123456789Z"

func converted(t testing.TB, text string) string {
	t.Helper()
	got, err := io.ReadAll(iotest.OneByteReader(newCRIReader(io.NopCloser(strings.NewReader(text)))))
	if err != nil {
		t.Fatal(err)
	}
	return string(got)
}

func TestCRIReader(t *testing.T) {
	zero := time.Time{}.Format(time.RFC3339Nano)
	for name, test := range map[string]struct{ text, want string }{
		"nothing":               {"", ""},
		"lines":                 {logTime + " a\n" + logTime + " b c\n", logTime + " stdout F a\n" + logTime + " stdout F b c\n"},
		"the last has no end":   {logTime + " a", logTime + " stdout P a\n"},
		"an empty line":         {logTime + " \n", logTime + " stdout F \n"},
		"no time":               {"oops\n", zero + " stdout F oops\n"},
		"no time after another": {logTime + " a\nmore text\n", logTime + " stdout F a\n" + logTime + " stdout F more text\n"},
		"a word like a time":    {"2026-11-01T00:00:00 a\n", zero + " stdout F 2026-11-01T00:00:00 a\n"},
	} {
		if got := converted(t, test.text); got != test.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// A line that is longer than what is held at once comes in parts, which are the line.
func TestCRIReaderOfLongLines(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		long := strings.Repeat("x y", rapid.IntRange(0, longestChunk).Draw(rt, "length"))
		var line strings.Builder
		for part := range strings.Lines(converted(t, logTime+" "+long+"\n"+logTime+" end\n")) {
			rest, ok := strings.CutPrefix(part, logTime+" stdout ")
			if !ok {
				rt.Fatalf("a part %.80q", part)
			}
			line.WriteString(strings.TrimSuffix(rest[2:], "\n"))
			if rest[0] == 'F' {
				break
			}
		}
		if line.String() != long {
			rt.Fatalf("%d bytes became %d", len(long), line.Len())
		}
	})
}

func TestLastLines(t *testing.T) {
	log := func(n int) io.ReadCloser {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "%d\n", i)
		}
		return io.NopCloser(strings.NewReader(b.String()))
	}
	for name, test := range map[string]struct {
		n, lines int
		want     string
	}{
		"fewer": {2, 5, "0\n1\n"}, "as many": {2, 2, "0\n1\n"}, "more": {10, 3, "7\n8\n9\n"}, "one": {10, 1, "9\n"}, "none asked for": {3, 0, ""}, "none there": {0, 3, ""},
	} {
		if got, err := lastLines(log(test.n), test.lines, nil); err != nil || string(got) != test.want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if got, err := lastLines(nil, 3, fs.ErrNotExist); got != nil || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := lastLines(nil, 3, errors.ErrUnsupported); !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
	if _, err := lastLines(io.NopCloser(iotest.ErrReader(errors.ErrUnsupported)), 3, nil); !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
}

func FuzzCRIReader(f *testing.F) {
	f.Add(logTime + " a\n")
	f.Add("\n\n x\n")
	f.Fuzz(func(t *testing.T, text string) {
		for line := range strings.Lines(converted(t, text)) {
			if parts := strings.SplitN(line, " ", 4); len(parts) != 4 || !strings.HasSuffix(line, "\n") {
				t.Errorf("%q gives %q", text, line)
			}
		}
	})
}
