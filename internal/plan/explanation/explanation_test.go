// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package explanation_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/carillon-dev/carillon/internal/plan/explanation"
	"github.com/carillon-dev/carillon/internal/plan/workload"
	"github.com/carillon-dev/carillon/schedule"
)

var update = flag.Bool("update", false, "write the golden files anew")

// now is a Tuesday.
var now = time.Date(2026, 11, 24, 0, 30, 0, 0, time.UTC)

const width = 80

// golden compares a text with testdata/name.txt.
func golden(t *testing.T, name string, lines []string) {
	t.Helper()
	for _, line := range lines {
		if len([]rune(line)) > width {
			t.Errorf("%d columns: %s", len([]rune(line)), line)
		}
	}
	text := strings.Join(lines, "\n") + "\n"
	path := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func TestExpressions(t *testing.T) {
	for name, c := range map[string]struct{ text, zone string }{
		"expr-weekday-nights":    {"30 2 * * 1-5", "Europe/Berlin"},
		"expr-every-night":       {"30 2 * * *", "America/New_York"},
		"expr-night-times":       {"5,35 1-2 * * *", "America/New_York"},
		"expr-quarters":          {"*/15 * * * *", "America/New_York"},
		"expr-half-hour-zone":    {"0 2 * * *", "Australia/Lord_Howe"},
		"expr-gap-at-midnight":   {"0 0 * * *", "Africa/Cairo"},
		"expr-forty-minutes":     {"*/40 * * * *", ""},
		"expr-ninety-minutes":    {"*/90 */5 * * *", ""},
		"expr-friday-13":         {"0 0 13 * 5", ""},
		"expr-days-to-31":        {"0 9 1-31 * MON", "Asia/Tokyo"},
		"expr-odd-days":          {"15 3 */2 * *", "Asia/Kolkata"},
		"expr-leap-day":          {"0 12 29 2 *", "UTC"},
		"expr-february-30":       {"0 0 30 2 *", ""},
		"expr-march":             {"30 2 28 3 0", "Europe/Berlin"},
		"expr-change-days-only":  {"0 12 * 3,10 7L", "Europe/Berlin"},
		"expr-every":             {"@every 90m", ""},
		"expr-weekly":            {"@weekly", "Europe/London"},
		"expr-zone-inside":       {"TZ=Asia/Tokyo 0 6 * * *", ""},
		"expr-office-hours":      {"*/5 9-17 * * 1-5", "Europe/Paris"},
		"expr-hashed":            {"H H(1-5) * * *", "Europe/Berlin"},
		"expr-seconds":           {"*/10 * * * * *", ""},
		"expr-year":              {"30 0 12 * * * 2027", "UTC"},
		"expr-last-and-nth-days": {"0 9 L,15W * 5#1", "Europe/Madrid"},
		"expr-past-years":        {"0 0 12 1 1 * 2020-2025", "UTC"},
		"expr-monthly-steps":     {"0 4 1 */5 *", "Europe/Madrid"},
	} {
		t.Run(name, func(t *testing.T) {
			var zone *time.Location
			if c.zone != "" {
				var err error
				if zone, err = schedule.LoadZone(c.zone); err != nil {
					t.Fatal(err)
				}
			}
			e, err := explanation.OfExpression(c.text, zone, now)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, name, e.Lines(width))
		})
	}
}

// objects reads the objects of testdata/objects.yaml.
func objects(t testing.TB) []*workload.Scheduled {
	t.Helper()
	text, err := os.ReadFile("testdata/objects.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all []workload.Object
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		content := map[string]any{}
		if err := yaml.Unmarshal([]byte(document), &content); err != nil {
			t.Fatal(err)
		}
		all = append(all, workload.Object{Content: &unstructured.Unstructured{Object: content}})
	}
	read, err := workload.Read(all, workload.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return read.Scheduled
}

// Among them TT-256: what Forbid does is said, and how many Pods retry makes of the default backoffLimit.
func TestObjects(t *testing.T) {
	for _, s := range objects(t) {
		t.Run(s.Content.GetName(), func(t *testing.T) {
			golden(t, "object-"+s.Content.GetName(), explanation.OfObject(s, nil, now).Lines(width))
		})
	}
}

func TestTT256(t *testing.T) {
	for _, s := range objects(t) {
		if s.Content.GetName() != "hello" {
			continue
		}
		e := explanation.OfObject(s, nil, now)
		text := strings.Join(strings.Fields(strings.Join(e.Lines(width), " ")), " ")
		for _, want := range []string{
			"Never two at once; the newest time waits and starts when the other ends; to skip it, use Queue with queueLimit: 0.",
			"backoffLimit: 6 (the default)", "up to 21 Pods for one run: with retry write backoffLimit: 0.",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("TT-256: %q is not said:\n%s", want, text)
			}
		}
		return
	}
	t.Fatal("there is no Timetable hello")
}

func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                 `schedule "": is empty`,
		"61 * * * *":       "minute 61 is out of range 0-59",
		"0 0 0 30 2 8":     "day of week 8 is out of range",
		"TZ=Nowhere 0 0 *": "time zone Nowhere is not in the time zone database",
		"@reboot":          "@reboot is unknown",
	} {
		e, err := explanation.OfExpression(text, nil, now)
		if e != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want one with %q", text, err, want)
		}
	}
}
