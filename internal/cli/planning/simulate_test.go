// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/carillon-dev/carillon/internal/cli/exitcode"
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
	cmd.SetArgs(args)
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
				if _, err := decoder.Token(); err == io.EOF {
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

var _ = json.Valid
