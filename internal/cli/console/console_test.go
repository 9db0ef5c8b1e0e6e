// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"
	"time"
)

// A duration has two or three digits and the unit that a person would choose.
func TestShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second:                   "0s",
		38 * time.Millisecond:          "38ms",
		2100 * time.Millisecond:        "2.1s",
		42 * time.Second:               "42s",
		time.Minute:                    "1m",
		100 * time.Second:              "1m40s",
		10 * time.Minute:               "10m",
		200 * time.Minute:              "3h20m",
		52 * time.Hour:                 "2d4h",
		9*time.Minute + 59*time.Second: "9m59s",
	} {
		if got := FormatDuration(d); got != want {
			t.Errorf("FormatDuration(%d) = %q, want %q", d, got, want)
		}
	}
}

// closed waits until all is written.
func closed(t *testing.T, c *Console) {
	t.Helper()
	if err := c.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// A person reads text, a program reads one JSON object a line, and quiet leaves out what went well.
func TestSay(t *testing.T) {
	at := time.Date(2026, 5, 4, 12, 10, 0, 0, time.Local)
	failed := Line{Type: Finished, Object: "job/default/hello", Outcome: Failed, Duration: 2 * time.Second, Reason: "BackoffLimitExceeded", Message: "too often"}
	complete := Line{Type: Finished, Object: "job/batch/hello", Outcome: Complete, Duration: 1500 * time.Millisecond}
	output := Line{Type: Output, Source: "hello-x", Message: "hi", End: "\n"}
	tests := map[string]struct {
		opts  Options
		lines []Line
		want  string
	}{
		"text":  {Options{}, []Line{complete, failed, output}, "12:10:00 ✓ job/batch/hello complete in 1.5s\n12:10:00 ✗ job/hello failed after 2.0s: BackoffLimitExceeded: too often\n12:10:00   hello-x │ hi\n"},
		"quiet": {Options{Quiet: true}, []Line{complete, failed, output}, "12:10:00 ✗ job/hello failed after 2.0s: BackoffLimitExceeded: too often\n12:10:00   hello-x │ hi\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			test.opts.Now = func() time.Time { return at }
			c := New(&b, test.opts)
			for _, l := range test.lines {
				c.Print(l)
			}
			closed(t, c)
			if got := b.String(); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
	t.Run("json", func(t *testing.T) {
		var b bytes.Buffer
		c := New(&b, Options{Format: JSON, Now: func() time.Time { return at }})
		c.Print(failed)
		closed(t, c)
		var got map[string]any
		if err := json.Unmarshal(b.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		for key, want := range map[string]any{"type": "finished", "object": "job/default/hello", "outcome": "failed", "reason": "BackoffLimitExceeded", "durationSeconds": 2.0} {
			if got[key] != want {
				t.Errorf("%s is %v, want %v", key, got[key], want)
			}
		}
	})
	t.Run("raw output goes where it was sent", func(t *testing.T) {
		var raw, rest bytes.Buffer
		c := New(&rest, Options{OutputTo: &raw, Raw: true, Now: func() time.Time { return at }})
		c.Print(output)
		c.Print(complete)
		closed(t, c)
		if raw.String() != "hi\n" || rest.String() != "12:10:00 ✓ job/batch/hello complete in 1.5s\n" {
			t.Errorf("raw %q, rest %q", raw.String(), rest.String())
		}
	})
}
