// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shim

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// What goes in comes out, whatever the sizes of reads: parts and full lines
// joined give the input, with a newline after each full line.
func TestCopyLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		input := rapid.Custom(func(t *rapid.T) []byte {
			var b []byte
			for range rapid.IntRange(0, 5).Draw(t, "lines") {
				n := rapid.OneOf(rapid.IntRange(0, 10), rapid.IntRange(maxLine-2, maxLine+2), rapid.IntRange(2*maxLine-2, 2*maxLine+2)).Draw(t, "length")
				b = append(b, bytes.Repeat([]byte{'x'}, n)...)
				b = append(b, '\n')
			}
			return append(b, bytes.Repeat([]byte{'y'}, rapid.IntRange(0, 3).Draw(t, "rest"))...)
		}).Draw(t, "input")
		var r = iotest.HalfReader(bytes.NewReader(input))
		if rapid.Bool().Draw(t, "whole reads") {
			r = bytes.NewReader(input)
		}
		var got []byte
		copyLines(r, func(partial bool, text []byte) {
			if len(text) > maxLine {
				t.Fatalf("a record of %d bytes", len(text))
			}
			if bytes.IndexByte(text, '\n') >= 0 {
				t.Fatal("a newline inside a record")
			}
			got = append(got, text...)
			if !partial {
				got = append(got, '\n')
			}
		})
		want := input
		if len(want) > 0 && want[len(want)-1] != '\n' {
			want = append(bytes.Clone(want), '\n')
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("%d bytes came out of %d", len(got), len(want))
		}
	})
}

// A record has the form that the CRI prescribes, in UTC.
func TestRecord(t *testing.T) {
	at := time.Date(2026, 5, 1, 12, 0, 0, 123456789, time.FixedZone("", 7200))
	for name, tc := range map[string]struct {
		partial bool
		want    string
	}{
		"full":    {false, "2026-05-01T10:00:00.123456789Z stderr F text\n"},
		"partial": {true, "2026-05-01T10:00:00.123456789Z stderr P text\n"},
	} {
		if got := string(appendRecord(nil, at, "stderr", tc.partial, []byte("text"))); got != tc.want {
			t.Errorf("%s: %s", name, cmp.Diff(tc.want, got))
		}
	}
}

// After reopen lines go to a new file, and closing twice is no error.
func TestReopen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "0.log")
	l, err := openLog(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("there is a log of a command that was not executed")
	}
	if err := l.reopen(); err != nil {
		t.Fatal(err)
	}
	l.line(time.Now(), "stdout", false, []byte("one"))
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	l.line(time.Now(), "stdout", false, []byte("two"))
	if err := l.reopen(); err != nil {
		t.Fatal(err)
	}
	l.line(time.Now(), "stdout", false, []byte("three"))
	l.Close()
	l.Close()
	l.line(time.Now(), "stdout", false, []byte("four"))
	before, _ := os.ReadFile(path + ".1")
	after, _ := os.ReadFile(path)
	if strings.Count(string(before), "\n") != 2 || !strings.Contains(string(after), "three") || strings.Count(string(after), "\n") != 1 {
		t.Errorf("before %q after %q", before, after)
	}
	none, err := openLog("")
	if err != nil || none.reopen() != nil {
		t.Error("no log at all is an error")
	}
	none.line(time.Now(), "stdout", false, []byte("x"))
	none.Close()
}
