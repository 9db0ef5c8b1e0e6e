// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/carillon-dev/carillon/internal/client/exitcode"
)

// runSimulate runs the command on 20 March 2027 in a directory with these files, and gives its output and exit code.
func runSimulate(t *testing.T, files map[string]string, args ...string) (out, told string, code int) {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var written, said strings.Builder
	cmd := newSimulateAt(Streams{In: strings.NewReader(""), Out: &written, Err: &said}, func() time.Time {
		return time.Date(2027, 3, 20, 12, 0, 0, 700, time.UTC)
	})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append([]string{}, args...)) // without any, it would take those of the test
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		code = exitcode.Failed
		if coded, ok := errors.AsType[*exitcode.Error](err); ok {
			code = coded.Code
		}
		said.WriteString(err.Error())
	}
	return written.String(), said.String(), code
}

const simulatedJob = "  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: b}]}}}}\n"

const simulatedRun = "  template: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: b}]}}}}\n"

func simulatedCronJob(name, spec string) string {
	return "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: " + name + "}\nspec:\n" + spec + simulatedJob + "---\n"
}

func simulatedTimetable(name, spec string) string {
	return "apiVersion: batch.carillon.dev/v1alpha1\nkind: Timetable\nmetadata: {name: " + name + "}\nspec:\n" + spec + simulatedRun + "---\n"
}

// simulations are inputs as people have them, and the whole of what is shown.
var simulations = map[string]struct {
	files map[string]string
	args  []string
	code  int
}{
	"a daily backup": {
		files: map[string]string{"a.yaml": simulatedCronJob("backup", "  schedule: '30 2 * * *'\n  timeZone: Europe/Berlin\n")},
		args:  []string{"-f", "a.yaml", "--from", "2027-03-22", "--for", "7d", "--duration", "p50=40m,p99=3h"},
	},
	"runs that overlap": {
		files: map[string]string{"a.yaml": simulatedCronJob("allow", "  schedule: '*/10 * * * *'\n") +
			simulatedCronJob("forbid", "  schedule: '*/10 * * * *'\n  concurrencyPolicy: Forbid\n") +
			simulatedCronJob("replace", "  schedule: '*/10 * * * *'\n  concurrencyPolicy: Replace\n")},
		args: []string{"-f", "a.yaml", "--from", "2027-03-22T09:00", "--for", "2h", "--duration", "25m"},
	},
	"an outage, and three ways to catch up": {
		files: map[string]string{"a.yaml": simulatedTimetable("latest", "  schedules: [{cron: '*/15 * * * *'}]\n") +
			simulatedTimetable("none", "  schedules: [{cron: '*/15 * * * *'}]\n  catchUp: {policy: None}\n") +
			simulatedTimetable("all", "  schedules: [{cron: '*/15 * * * *'}]\n  catchUp: {policy: All, limit: 3}\n")},
		args: []string{"-f", "a.yaml", "--from", "2027-03-22T09:00", "--for", "4h", "--duration", "4m", "--outage", "2027-03-22T10:05..2027-03-22T11:50"},
	},
	"a year of minutes": {
		files: map[string]string{"a.yaml": simulatedCronJob("tick", "  schedule: '*/30 * * * *'\n  concurrencyPolicy: Forbid\n")},
		args:  []string{"-f", "a.yaml", "--from", "2027-01-01", "--for", "365d", "--duration", "p50=10m,p99=40m", "--fail", "2%"},
	},
	"failures that are tried again, and pause": {
		files: map[string]string{"a.yaml": simulatedTimetable("sync", "  schedules: [{cron: '0 * * * *'}]\n  retry: {limit: 2, delay: 2m}\n  pauseAfterFailures: 3\n")},
		args:  []string{"-f", "a.yaml", "--from", "2027-03-22", "--for", "12h", "--duration", "6m", "--fail", "80%", "--seed", "7"},
	},
	"an edit": {
		files: map[string]string{"a.yaml": simulatedCronJob("sync", "  schedule: '0 * * * *'\n"), "b.yaml": simulatedCronJob("sync", "  schedule: '*/20 * * * *'\n"),
			"c.yaml": simulatedCronJob("sync", "  schedule: '*/20 * * * *'\n  suspend: true\n")},
		args: []string{"-f", "a.yaml", "--from", "2027-03-22", "--for", "6h", "--edit", "b.yaml@+2h50m", "--edit", "c.yaml@+4h30m"},
	},
	"the night when clocks go forward": {
		files: map[string]string{"a.yaml": simulatedTimetable("sync", "  schedules: [{cron: '30 * * * *'}]\n  timeZone: Europe/Berlin\n")},
		args:  []string{"-f", "a.yaml", "--from", "2027-03-28", "--for", "6h", "--events"},
	},
	"a schedule that cannot be read": {
		files: map[string]string{"a.yaml": simulatedCronJob("sync", "  schedule: '61 * * * *'\n")},
		args:  []string{"-f", "a.yaml", "--from", "2027-03-28"}, code: exitcode.Failed,
	},
	"an odd beginning": {
		files: map[string]string{"a.yaml": simulatedCronJob("sync", "  schedule: '*/30 * * * *'\n  timeZone: Asia/Kathmandu\n  startingDeadlineSeconds: 60\n")},
		args:  []string{"-f", "a.yaml", "--from", "2027-03-22T09:47:11", "--for", "30h", "--outage", "+2h..+3h"},
	},
	"a pause that ends and a timeout": {
		files: map[string]string{"a.yaml": simulatedTimetable("sync", "  schedules: [{cron: '0 * * * *'}]\n  suspendUntil: 2027-03-22T03:30:00Z\n  onResume: CatchUp\n  timeout: 4m\n")},
		args:  []string{"-f", "a.yaml", "--from", "2027-03-22", "--for", "6h"},
	},
	"an edit that cannot be served": {
		files: map[string]string{"a.yaml": simulatedCronJob("sync", "  schedule: '0 * * * *'\n"), "b.yaml": simulatedCronJob("sync", "  schedule: '0 25 * * *'\n")},
		args:  []string{"-f", "a.yaml", "--from", "2027-03-22", "--for", "6h", "--edit", "b.yaml@+2h50m"}, code: exitcode.Failed,
	},
	"a queue that is full": {
		files: map[string]string{"a.yaml": simulatedTimetable("sync", "  schedules: [{cron: '*/5 * * * *'}]\n  concurrency: {policy: Queue, queueLimit: 2}\n  startingDeadline: 12m\n")},
		args:  []string{"-f", "a.yaml", "--from", "2027-03-28", "--for", "2h", "--duration", "8m"},
	},
}

func TestSimulateLooksSo(t *testing.T) {
	golden, err := filepath.Abs("testdata/simulate")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range simulations {
		t.Run(name, func(t *testing.T) {
			out, told, code := runSimulate(t, test.files, append(test.args, "--svg", "a.svg")...)
			if code != test.code {
				t.Fatalf("exit code %d: %s", code, told)
			}
			for line := range strings.Lines(out) {
				if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 80 {
					t.Errorf("%d columns: %s", n, line)
				}
			}
			picture, err := os.ReadFile("a.svg")
			if err != nil {
				t.Fatal(err)
			}
			for decoder := xml.NewDecoder(strings.NewReader(string(picture))); ; {
				if _, err := decoder.Token(); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatalf("the picture is no XML: %v", err)
				}
			}
			path := filepath.Join(golden, strings.ReplaceAll(strings.ReplaceAll(name, ",", ""), " ", "-"))
			compareGolden(t, path+".txt", out)
			if name == "runs that overlap" {
				compareGolden(t, path+".svg", string(picture))
			}
		})
	}
}

// Each thing that is typed wrong is told, with what to type instead, and nothing is simulated.
func TestSimulateRefuses(t *testing.T) {
	files := map[string]string{
		"a.yaml": simulatedCronJob("sync", "  schedule: '0 * * * *'\n"), "other.yaml": simulatedCronJob("other", "  schedule: '0 * * * *'\n"),
		"map.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", "empty.yaml": "---\n",
	}
	tests := map[string]struct {
		args []string
		want string
	}{
		"nothing":                        {nil, "-f FILE"},
		"no schedule":                    {[]string{"-f", "map.yaml"}, "no CronJob and no Timetable among 1 objects"},
		"a duration":                     {[]string{"-f", "a.yaml", "--duration", "ten"}, "--duration: \"ten\" is no duration"},
		"quantiles":                      {[]string{"-f", "a.yaml", "--duration", "p50=5m,p99=1m"}, "p99=1m0s is less than p50=5m0s"},
		"a probability":                  {[]string{"-f", "a.yaml", "--fail", "150%"}, "--fail: \"150%\" is no probability"},
		"stopping":                       {[]string{"-f", "a.yaml", "--stopping", "-1s"}, "--stopping -1s: it is from 0s to 24h"},
		"overhead":                       {[]string{"-f", "a.yaml", "--overhead", "much"}, "--overhead: \"much\" is no duration"},
		"a beginning":                    {[]string{"-f", "a.yaml", "--from", "tomorrow"}, "--from \"tomorrow\" is no time"},
		"an end":                         {[]string{"-f", "a.yaml", "--to", "+x"}, "--to \"+x\" is no time after the beginning"},
		"an end before the beginning":    {[]string{"-f", "a.yaml", "--from", "2027-03-22", "--to", "2027-03-21"}, "before it begins"},
		"two ends":                       {[]string{"-f", "a.yaml", "--to", "2027-03-21", "--for", "7d"}, "leave one out"},
		"no time at all":                 {[]string{"-f", "a.yaml", "--for", "10s"}, "less than a minute"},
		"a century":                      {[]string{"-f", "a.yaml", "--for", "36500d"}, "more than ten years"},
		"the time before zones":          {[]string{"-f", "a.yaml", "--from", "1969-12-31T23:59:59Z"}, "--from: it begins before 1970-01-01"},
		"the last year, and on":          {[]string{"-f", "a.yaml", "--from", "9999-12-31T12:00"}, "--for: it ends after 9999-12-31"},
		"an end after the last year":     {[]string{"-f", "a.yaml", "--from", "9999-12-31T12:00", "--to", "+13h"}, "--to: it ends after 9999-12-31"},
		"a beginning after the last":     {[]string{"-f", "a.yaml", "--from", "9999-12-31T23:30:00-01:00"}, "--from: it begins after 9999-12-31"},
		"how long":                       {[]string{"-f", "a.yaml", "--for", "long"}, "--for: \"long\" is no duration"},
		"an outage without an end":       {[]string{"-f", "a.yaml", "--outage", "+1h"}, "write FROM..TO"},
		"an outage that is no time":      {[]string{"-f", "a.yaml", "--outage", "+1h..noon"}, "--outage \"noon\" is no time"},
		"an outage from no time":         {[]string{"-f", "a.yaml", "--outage", "noon..+1h"}, "--outage \"noon\" is no time"},
		"an outage backwards":            {[]string{"-f", "a.yaml", "--outage", "+2h..+1h"}, "it ends before it begins"},
		"an outage elsewhere":            {[]string{"-f", "a.yaml", "--outage", "+25h..+26h"}, "lies outside of what is simulated"},
		"an edit without a time":         {[]string{"-f", "a.yaml", "--edit", "a.yaml"}, "write FILE@TIME"},
		"an edit at no time":             {[]string{"-f", "a.yaml", "--edit", "a.yaml@noon"}, "--edit \"noon\" is no time"},
		"an edit afterwards":             {[]string{"-f", "a.yaml", "--edit", "a.yaml@+25h"}, "lies outside of what is simulated"},
		"an edit of what is not there":   {[]string{"-f", "a.yaml", "--edit", "other.yaml@+1h"}, "there is no CronJob default/other to be edited"},
		"an edit of nothing":             {[]string{"-f", "a.yaml", "--edit", "empty.yaml@+1h"}, "empty.yaml"},
		"an object that is not there":    {[]string{"-f", "a.yaml", "cronjob/backup"}, "there is no cronjob/backup; there are cronjob/sync"},
		"a file as an object":            {[]string{"-f", "a.yaml", "b.yaml"}, "a file is named with -f"},
		"a Job":                          {[]string{"-f", "a.yaml", "job/sync"}, "neither cronjob/NAME nor timetable/NAME"},
		"a picture in place of a folder": {[]string{"-f", "a.yaml", "--svg", "."}, ". is a directory"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			out, told, code := runSimulate(t, files, test.args...)
			if code != exitcode.Usage && name != "an edit of nothing" || code == 0 || out != "" {
				t.Errorf("exit code %d, and it wrote %q", code, out)
			}
			if !strings.Contains(told, test.want) {
				t.Errorf("it says %q, want %q", told, test.want)
			}
		})
	}
}

// Of an object that is given twice the last one counts, whether it is in one file or in two; of one that is named twice
// the same.
func TestSimulateTwice(t *testing.T) {
	hourly, daily := simulatedCronJob("sync", "  schedule: '0 * * * *'\n"), simulatedCronJob("sync", "  schedule: '0 0 * * *'\n")
	tests := map[string]struct {
		files map[string]string
		args  []string
		want  string
	}{
		"in one file":     {map[string]string{"a.yaml": hourly + daily}, []string{"-f", "a.yaml"}, "a.yaml"},
		"in two":          {map[string]string{"a.yaml": hourly, "b.yaml": daily}, []string{"-f", "a.yaml", "-f", "b.yaml", "cronjob/sync"}, "is left out: "},
		"named twice":     {map[string]string{"a.yaml": daily}, []string{"-f", "a.yaml", "cronjob/sync", "cj/sync"}, "cj/sync is named twice, and counts once."},
		"in any spelling": {map[string]string{"a.yaml": hourly + strings.Replace(daily, "{name: sync}", "{name: sync, namespace: default}", 1)}, []string{"-f", "a.yaml"}, "is the same object, and comes later."},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			out, told, code := runSimulate(t, test.files, append(test.args, "--from", "2027-03-22")...)
			if code != 0 || !strings.Contains(told, test.want) || strings.Count(out, "cronjob/sync") != 1 || !strings.Contains(out, "1 run: 1 succeeded") {
				t.Errorf("exit code %d: %s\n%s", code, told, out)
			}
		})
	}
}

// One who interrupts it gets 130, and no word.
func TestSimulateInterrupted(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("a.yaml", []byte(simulatedCronJob("tick", "  schedule: '* * * * *'\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, cmd := range map[string]func(Streams) *cobra.Command{"simulate": newSimulate, "forecast": newForecast} {
		var out strings.Builder
		c := cmd(Streams{In: strings.NewReader(""), Out: &out, Err: &out})
		c.SilenceErrors, c.SilenceUsage = true, true
		c.SetArgs([]string{"-f", "a.yaml"})
		err := c.ExecuteContext(ctx)
		if coded, ok := errors.AsType[*exitcode.Error](err); !ok || coded.Code != exitcode.Interrupted || coded.Err != nil || out.Len() > 0 {
			t.Errorf("%s: %v, and it wrote %q", name, err, out.String())
		}
	}
}

// A file of --edit is about the namespace of the context, where the objects come from.
func TestSimulateEditsCluster(t *testing.T) {
	files := map[string]string{"b.yaml": simulatedCronJob("a-0", "  schedule: '0 * * * *'\n")}
	out, told, code := runSimulate(t, files, "cronjob/a-0", "--kubeconfig", forecastServer(t, false), "--for", "6h", "--edit", "b.yaml@+2h30m")
	if code != 0 || !strings.Contains(out, "15:00 to 17:00  3 runs started on time") || !strings.Contains(out, "edited: b.yaml") {
		t.Errorf("exit code %d: %s\n%s", code, told, out)
	}
}

// What programs read has every run, and says what it assumed.
func TestSimulateDocument(t *testing.T) {
	files := map[string]string{"a.yaml": simulatedTimetable("sync", "  schedules: [{cron: '*/15 * * * *'}]\n  exclude: [{calendar: feast}]\n") +
		"apiVersion: batch.carillon.dev/v1alpha1\nkind: Calendar\nmetadata: {name: feast}\nspec: {periods: [{period: 2027-12-25}]}\n",
		"b.yaml": "apiVersion: batch.carillon.dev/v1alpha1\nkind: Calendar\nmetadata: {name: feast}\nspec: {periods: [{period: 2027-03-23}]}\n"}
	args := []string{"-f", "a.yaml", "timetable/sync", "--from", "2027-03-22T20:00", "--for", "6h", "--duration", "20m", "--fail", "10%", "--seed", "3", "-o", "json",
		"--outage", "+1h..+2h", "--edit", "b.yaml@+3h"}
	out, told, code := runSimulate(t, files, args...)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, told)
	}
	var doc struct {
		Kind    string
		Objects []struct {
			Runs       []json.RawMessage
			NotStarted []struct {
				Reason string
				Count  int
			}
			Changes []struct{ Kind, Message string }
			Summary struct{ Started int }
		}
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatal(err)
	}
	o := doc.Objects[0]
	if doc.Kind != "Simulation" || len(doc.Objects) != 1 || len(o.Runs) != o.Summary.Started || len(o.Runs) < 8 {
		t.Fatalf("%s with %d runs: %s", doc.Kind, len(o.Runs), out)
	}
	excluded := 0
	for _, n := range o.NotStarted {
		if n.Reason == "Excluded" {
			excluded += n.Count
		}
	}
	if excluded < 6 || len(o.Changes) != 1 || o.Changes[0].Message != "b.yaml" {
		t.Errorf("the Calendar takes out %d, changes are %+v", excluded, o.Changes)
	}
	if again, _, _ := runSimulate(t, files, args...); again != out {
		t.Error("again it is another document")
	}
}

// The form of the document, as docs/planning.md shows it.
func TestSimulateDocumentLooksSo(t *testing.T) {
	golden, err := filepath.Abs("testdata/simulate/document.json")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"a.yaml": simulatedTimetable("sync", "  schedules: [{cron: '*/20 * * * *'}]\n  retry: {limit: 1, delay: 1m}\n")}
	out, told, code := runSimulate(t, files, "-f", "a.yaml", "--from", "2027-03-22T09:00", "--for", "80m", "--duration", "p50=4m,p99=15m", "--fail", "50%", "--seed", "2",
		"--outage", "+15m..+45m", "-o", "json")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, told)
	}
	compareGolden(t, golden, out)
}

// A picture takes the place of the one before as a whole, and what cannot be written is told.
func TestSimulatePicture(t *testing.T) {
	files := map[string]string{"a.yaml": simulatedCronJob("sync", "  schedule: '0 * * * *'\n"), "a.svg": "old"}
	_, told, code := runSimulate(t, files, "-f", "a.yaml", "--svg", "a.svg")
	content, err := os.ReadFile("a.svg")
	if err != nil || code != 0 || !strings.HasPrefix(string(content), "<svg ") || !strings.Contains(told, "The picture is in a.svg.") {
		t.Errorf("exit code %d, %v: %s: %.40s", code, err, told, content)
	}
	if left, err := filepath.Glob(".carillon-*"); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
	if _, told, code := runSimulate(t, files, "-f", "a.yaml", "--svg", "none/a.svg"); code != exitcode.Failed || !strings.Contains(told, "cannot write none/a.svg") || strings.Contains(told, ".carillon-") {
		t.Errorf("exit code %d: %s", code, told)
	}
}
