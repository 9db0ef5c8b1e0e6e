// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/carillon-dev/carillon/internal/plan/simulation"
	"github.com/carillon-dev/carillon/internal/plan/simulation/report"
	"github.com/carillon-dev/carillon/internal/plan/workload"
	"github.com/carillon-dev/carillon/internal/testkit/replay"
)

func TestMain(m *testing.M) { os.Exit(replay.Run(m, 150)) }

var begins = time.Date(2026, 10, 24, 21, 0, 0, 0, time.UTC)

// timetable is a Timetable with these fields of spec.
func timetable(t testing.TB, spec string) *workload.Scheduled {
	t.Helper()
	content := map[string]any{}
	text := "{apiVersion: batch.carillon.dev/v1alpha1, kind: Timetable, metadata: {name: sync}, spec: {" + spec +
		", template: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: b}]}}}}}}"
	if err := yaml.Unmarshal([]byte(text), &content); err != nil {
		t.Fatal(err)
	}
	all, err := workload.Read([]workload.Object{{Content: &unstructured.Unstructured{Object: content}}}, workload.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return all.Scheduled[0]
}

func isXML(text string) error {
	for decoder := xml.NewDecoder(strings.NewReader(text)); ; {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// Whatever happens, the text fits, the picture is XML, the document can be read, and all three are the same again.
func TestAnyReport(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		one := func(label string, values ...string) string { return rapid.SampledFrom(values).Draw(rt, label) }
		spec := fmt.Sprintf("schedules: [{%s}], timeZone: %s, concurrency: {policy: %s}, %s", one("schedule", "cron: '*/10 * * * *'", "cron: '* * * * *'", "every: 20s", "cron: '0 3 * * *'"),
			one("zone", "UTC", "Europe/Berlin", "Asia/Kathmandu"), one("policy", "Allow", "Forbid", "Queue", "Replace"),
			one("more", "timeout: 3m", "retry: {limit: 2, delay: 45s}", "startingDeadline: 2m", "pauseAfterFailures: 2", "catchUp: {policy: All, limit: 5}"))
		object := timetable(t, spec)
		object.Owner.Name = one("name", "sync", "a<b>&\"c\"]]>", "tab\tnew\nline\x1b[31m\x00", "é\u200f漢字", strings.Repeat("long", 15))
		d, err := simulation.ParseDurations(one("durations", "20s", "5m", "3h", "p50=1m,p99=40m"))
		if err != nil {
			rt.Fatal(err)
		}
		model := simulation.Model{Durations: d, Fail: rapid.SampledFrom([]float64{0, 0.3}).Draw(rt, "fail"), Stopping: 5 * time.Second}
		o := simulation.Options{From: begins, To: begins.Add(time.Duration(rapid.IntRange(60, 200_000).Draw(rt, "lasts")) * time.Second), Model: model}
		if rapid.Bool().Draw(rt, "outage") {
			o.Outages = []simulation.Span{{From: begins.Add(time.Hour), To: begins.Add(3 * time.Hour)}}
		}
		if rapid.Bool().Draw(rt, "edit") {
			o.Edits = []simulation.Edit{{At: begins.Add(2 * time.Hour), Object: object, Source: object.Owner.Name}}
		}
		r := &report.Report{Results: []*simulation.Result{simulation.Simulate(object, o)}, Model: model, Width: rapid.IntRange(0, 120).Draw(rt, "width"),
			AllEvents: rapid.Bool().Draw(rt, "all")}
		text, picture := r.Text(), r.SVG()
		if object.Owner.Name == "sync" {
			for line := range strings.Lines(text) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > max(60, r.Width) && n > 66 {
					rt.Errorf("%d columns, and there are %d: %s", n, r.Width, line)
				}
			}
		}
		if err := isXML(picture); err != nil || !utf8.ValidString(picture) {
			rt.Fatalf("the picture is no XML: %v", err)
		}
		document, err := json.Marshal(r.Document())
		if err != nil || strings.Contains(string(document), ":null") {
			rt.Fatalf("the document: %v: %s", err, document)
		}
		if r.Text() != text || r.SVG() != picture {
			rt.Fatal("again it is another one")
		}
	})
}

// Columns are times that people count in, and so are the labels.
func TestLanes(t *testing.T) {
	object := timetable(t, "schedules: [{cron: '0 * * * *'}]")
	for lasts, want := range map[time.Duration]string{
		2 * time.Minute: "one column is 2s", time.Hour: "one column is 1m", 6 * time.Hour: "one column is 5m", 24 * time.Hour: "one column is 20m",
		7 * 24 * time.Hour: "one column is 3h", 30 * 24 * time.Hour: "one column is 12h", 365 * 24 * time.Hour: "one column is 7d", 3650 * 24 * time.Hour: "one column is 49d",
	} {
		r := &report.Report{Results: []*simulation.Result{simulation.Simulate(object, simulation.Options{From: begins, To: begins.Add(lasts)})}, Width: 80}
		if text := r.Text(); !strings.Contains(text, want) {
			t.Errorf("%s: not %q:\n%s", lasts, want, text)
		}
	}
}

// A label that begins at the right edge is left out where it would be wider than the terminal.
func TestLastLabel(t *testing.T) {
	object := timetable(t, "schedules: [{cron: '*/10 * * * *'}]")
	for width, want := range map[int]bool{65: false, 80: true} {
		r := &report.Report{Results: []*simulation.Result{simulation.Simulate(object, simulation.Options{From: begins, To: begins.Add(61 * time.Second)})}, Width: width}
		text := r.Text()
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("%d columns of %d: %s", n, width, line)
			}
		}
		if got := strings.Contains(text, "23:00:50  23:01:00") || strings.Contains(text, "21:00:50  21:01:00"); got != want {
			t.Errorf("%d columns: the last label is there: %t\n%s", width, got, text)
		}
	}
}
