// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"bytes"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/carillon-dev/carillon/internal/cli/console"
)

// passed is what becomes of the text that a container wrote, raw and as lines.
func passed(t *testing.T, text string) (raw, shown string) {
	t.Helper()
	for _, isRaw := range []bool{true, false} {
		var out, rest bytes.Buffer
		c := console.New(&rest, console.Options{OutputTo: &out, Raw: isRaw})
		l := log{console: c, source: "p", this: &reading{}, passed: &atomic.Int64{}}
		at := time.Date(2026, 5, 4, 12, 10, 0, 1, time.UTC)
		var stream strings.Builder // as the API server sends it: the time before each line
		for line := range strings.Lines(text) {
			stream.WriteString(at.Format(time.RFC3339Nano) + " " + line)
			at = at.Add(time.Nanosecond)
		}
		l.print(io.NopCloser(strings.NewReader(stream.String())))
		if err := c.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if isRaw {
			raw = out.String()
		} else {
			shown = out.String()
		}
	}
	return raw, shown
}

// Raw output is the container's, byte for byte, whatever the length of its lines; shown, a line has a prefix and no
// piece of a long one ends within a character.
func TestPass(t *testing.T) {
	long := strings.Repeat("€", 100_000) // 300 kB
	for name, text := range map[string]string{
		"lines":                  "a\nb\n",
		"endings of Windows":     "a\r\nb\r\n",
		"a progress bar":         "1%\r2%\r3%\n",
		"bytes":                  "\x00\x01\xff\xfe\x1b[0m\n",
		"no newline at the end":  "a",
		"one long line":          long + "\n",
		"long, no end, not UTF8": strings.Repeat("\xe2", 200_000),
		"shifted":                "x" + long + "\n",
		"shifted once more":      "xy" + long + "\nnext\n",
	} {
		t.Run(name, func(t *testing.T) {
			raw, shown := passed(t, text)
			if raw != text {
				t.Errorf("raw is %d bytes, %.60q, want %d", len(raw), raw, len(text))
			}
			for line := range strings.Lines(shown) {
				if !strings.Contains(line, "p │ ") || !utf8.ValidString(line) || len(line) > 5*longestLine {
					t.Errorf("shown %.80q", line)
				}
			}
			if utf8.ValidString(text) && strings.Contains(shown, "<E2>") {
				t.Error("a character is cut")
			}
		})
	}
}

func FuzzPass(f *testing.F) {
	f.Add("a\nb", 3)
	f.Add("€\r\n", longestLine)
	f.Add("2026-05-04T12:10:00Z x\n", 1)
	f.Fuzz(func(t *testing.T, text string, times int) {
		text = strings.Repeat(text, max(1, min(times, 200_000/(len(text)+1))))
		if raw, _ := passed(t, text); raw != text {
			t.Errorf("raw is %d bytes of %d", len(raw), len(text))
		}
	})
}
