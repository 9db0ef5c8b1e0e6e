// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/carillon-dev/carillon/internal/cli/console"
)

// What the node says of a log that it fails to read is a warning, and not
// something that the container wrote.
func TestLogErrorsAreNoOutput(t *testing.T) {
	const at = "2026-05-04T12:10:00.000000001Z "
	for name, tc := range map[string]struct{ stream, want string }{
		"output":                 {at + "hello\n", "output hello\n"},
		"output like an error":   {at + "failed to open log file\n", "output failed to open log file\n"},
		"an empty line":          {at + "\n" + strings.Replace(at, "1Z", "2Z", 1) + "x\n", "output \noutput x\n"},
		"an error":               {`failed to try resolving symlinks in path "/x": no such file`, `warning its output cannot be shown here; try: carillon kubectl logs p (failed to try resolving symlinks in path "/x": no such file)` + "\n"},
		"an error after output":  {at + "hello\n" + "unexpected stream type \"x\"\n", "output hello\nwarning its output cannot be shown here; try: carillon kubectl logs p (unexpected stream type \"x\")\n"},
		"longer than the buffer": {at + strings.Repeat("a", longestLine) + "b\n", "output " + strings.Repeat("a", longestLine-len(at)) + "\noutput " + strings.Repeat("a", len(at)) + "b\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var said bytes.Buffer
			lines := console.New(&said, console.Options{Format: console.JSON})
			l := log{console: lines, namespace: "default", pod: "p", this: &reading{done: make(chan struct{})}, passed: &atomic.Int64{}}
			l.print(io.NopCloser(strings.NewReader(tc.stream)))
			if err := lines.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			for _, line := range decode(t, &said) {
				got.WriteString(string(line.Type) + " " + line.Message + "\n")
			}
			if got.String() != tc.want {
				t.Errorf("got %q, want %q", got.String(), tc.want)
			}
		})
	}
}

func decode(t *testing.T, r io.Reader) []console.Line {
	t.Helper()
	var lines []console.Line
	for dec := json.NewDecoder(r); ; {
		var line console.Line
		err := dec.Decode(&line)
		if errors.Is(err, io.EOF) {
			return lines
		}
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
}
