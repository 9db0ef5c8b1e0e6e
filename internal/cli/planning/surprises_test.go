// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// Each manifest of testdata/surprises holds one thing that surprises people, named in its first line. Somebody who asks
// is told so in words; says is a part of them.
func TestSurprises(t *testing.T) {
	now := func() time.Time { return time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC) }
	commands := map[string]func(Streams) *cobra.Command{
		"lint":    func(s Streams) *cobra.Command { return newLintAt(s, now) },
		"explain": func(s Streams) *cobra.Command { return newExplainAt(s, now) },
		"forecast": func(s Streams) *cobra.Command {
			return newForecastAt(&forecastCommand{streams: s, now: now, getenv: func(string) string { return "" }})
		},
		"simulate": func(s Streams) *cobra.Command { return newSimulateAt(s, now) },
	}
	dir := filepath.Join("testdata", "surprises")
	tests := map[string]map[string]string{
		"dst-days-only":     {"lint": "both on days on which the clocks of Europe/Berlin change"},
		"every-40-minutes":  {"lint": "it is 20 minutes, not 40", "explain": "40 minutes and then 20 minutes apart"},
		"every-drifts":      {"lint": "ones after each outage and edit", "explain": "every-drifts"},
		"friday-13":         {"lint": "not only where both hold", "explain": "on day 13 of the month OR on Fridays"},
		"hidden-failures":   {"lint": "failures-not-kept"},
		"latest":            {"lint": "image-latest"},
		"midnight-herd":     {"lint": "herd", "forecast": "7 starts, 1,440 times the average"},
		"never-fires":       {"lint": "never-fires", "explain": "never"},
		"no-deadline":       {"lint": "no-run-deadline"},
		"no-requests":       {"lint": "requests no cpu and no memory"},
		"no-zone":           {"lint": "spec.timeZone is missing", "explain": "no-time-zone"},
		"old-api":           {"lint": "batch/v1beta1 is served no more"},
		"overlap":           {"lint": "whether or not the one before has ended", "explain": "Allow"},
		"restarts-in-place": {"lint": "the Pod is deleted, and its logs with it"},
		"ttl-below-history": {"lint": "a history of 3 is never there"},
		"two-days-a-year":   {"lint": "comes twice, and so does the run", "explain": "twice"},
	}
	for name, asked := range tests {
		for command, says := range asked {
			t.Run(name+" by "+command, func(t *testing.T) {
				var out bytes.Buffer
				cmd := commands[command](Streams{In: strings.NewReader(""), Out: &out, Err: &out})
				args := []string{"-f", filepath.Join(dir, name+".yaml")}
				if command == "lint" {
					args = append(args, "--level", "info")
				}
				cmd.SetArgs(args)
				cmd.SetOut(&out)
				cmd.SetErr(&out)
				cmd.SilenceUsage, cmd.SilenceErrors = true, true
				_ = cmd.ExecuteContext(t.Context()) // it may say no by its exit code, too
				if got := strings.Join(strings.Fields(out.String()), " "); !strings.Contains(got, says) {
					t.Errorf("it does not say %q, but:\n%s", says, out.String())
				}
			})
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if name := strings.TrimSuffix(f.Name(), ".yaml"); tests[name] == nil {
			t.Errorf("nothing is asked about %s", f.Name())
		}
	}
}
