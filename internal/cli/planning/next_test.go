// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/carillon-dev/carillon/internal/client/exitcode"
)

// runNext runs the command on 20 March 2027 and gives its output and exit code.
func runNext(t *testing.T, args ...string) (out string, code int, err error) {
	t.Helper()
	return runNextIn(t, time.UTC, args...)
}

// runNextIn is runNext for somebody in a zone.
func runNextIn(t *testing.T, local *time.Location, args ...string) (out string, code int, err error) {
	t.Helper()
	return execute(t, func(streams Streams, now func() time.Time) *cobra.Command { return newNextIn(streams, now, local) }, args...)
}

// Times are told where somebody is, too, or in the zone that is asked for; in none twice.
func TestNextElsewhere(t *testing.T) {
	file := filepath.Join(t.TempDir(), "manifests.yaml")
	if err := os.WriteFile(file, []byte(nextManifests), 0o600); err != nil {
		t.Fatal(err)
	}
	zone := func(name string) *time.Location {
		loc, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		return loc
	}
	for name, test := range map[string]struct {
		local     *time.Location
		args      []string
		says, not string
	}{
		"elsewhere":              {zone("America/New_York"), []string{"tt/sync"}, "LOCAL TIME WHERE YOU ARE FROM NOW - 2027-03-21 02:00 excluded by Calendar feast (2027-03-21, Spring) Mon 2027-03-22 02:00 +01:00 Sun 2027-03-21 21:00 -04:00 in 37h", " UTC "},
		"there":                  {zone("Europe/Rome"), []string{"tt/sync"}, "LOCAL TIME UTC FROM NOW", "WHERE"},
		"where UTC is":           {time.UTC, []string{"tt/sync"}, "LOCAL TIME UTC FROM NOW", "WHERE"},
		"another zone":           {zone("America/New_York"), []string{"tt/sync", "--zone", "Asia/Tokyo"}, "LOCAL TIME ASIA/TOKYO FROM NOW", "WHERE"},
		"of one that names none": {time.UTC, []string{"cj/report", "--zone", "Asia/Tokyo"}, "Sun 2027-03-21 06:00 +09:00 2027-03-20 21:00Z", "ASIA/TOKYO"},
		"named none, elsewhere":  {zone("America/New_York"), []string{"cj/report"}, "LOCAL TIME WHERE YOU ARE FROM NOW Sun 2027-03-21 06:00 +00:00 Sun 2027-03-21 02:00 -04:00", " UTC "},
	} {
		out, code, err := runNextIn(t, test.local, append(test.args, "-f", file, "-n", "1")...)
		said := strings.Join(strings.Fields(out), " ")
		if code != 0 || !strings.Contains(said, test.says) || strings.Contains(said, test.not) {
			t.Errorf("%s: exit code %d, %v, without %q or with %q: %s", name, code, err, test.says, test.not, out)
		}
		for line := range strings.Lines(out) {
			if len(line) > 81 {
				t.Errorf("%s: %d columns: %s", name, len(line)-1, line)
			}
		}
	}
	for _, args := range [][]string{{"0 2 * * *"}, {"0 2 * * *", "--zone", "Europe/Berlin"}} {
		if out, _, _ := runNextIn(t, zone("Asia/Tokyo"), append(args, "-n", "1")...); !strings.Contains(out, "WHERE YOU ARE") {
			t.Errorf("%q: %s", args, out)
		}
	}
}

const nextManifests = `apiVersion: batch/v1
kind: CronJob
metadata: {name: report}
spec:
  schedule: "0 6 * * *"
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: b}]}}}}
---
apiVersion: batch.carillon.dev/v1alpha1
kind: Timetable
metadata: {name: sync}
spec:
  schedules: [{cron: "0 2 * * *"}]
  timeZone: Europe/Berlin
  exclude: [{calendar: feast}]
  template: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: b}]}}}}
---
apiVersion: batch.carillon.dev/v1alpha1
kind: Calendar
metadata: {name: feast}
spec: {periods: [{period: 2027-03-21, name: Spring}]}
`

const nextBroken = `apiVersion: batch/v1
kind: CronJob
metadata: {name: broken}
spec:
  schedule: "0 25 * * *"
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: b}]}}}}
`

// sameNames are two objects of one name, and what can start nothing in time.
const sameNames = `apiVersion: batch/v1
kind: CronJob
metadata: {name: a, namespace: blue}
spec: {schedule: "0 6 * * *", timeZone: UTC}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: a, namespace: green}
spec: {schedule: "0 7 * * *", timeZone: UTC}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: zero, namespace: blue}
spec: {schedule: "0 6 * * *", startingDeadlineSeconds: 0}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: negative, namespace: blue}
spec: {schedule: "0 6 * * *", startingDeadlineSeconds: -1}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: long, namespace: blue}
spec: {schedule: "@every 90m", startingDeadlineSeconds: 60}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: just, namespace: blue}
spec: {schedule: "@every 1m", startingDeadlineSeconds: 60}
`

// What one of the two commands refuses the other refuses, too.
func TestNextAndExplainRefuseAlike(t *testing.T) {
	file := nextFile(t, sameNames)
	tests := map[string]struct {
		args []string
		code int
		want string // in the error or, if there is none, in the output
	}{
		"a line of a crontab":        {[]string{"0 0 1 1 * /usr/bin/foo"}, 2, "is read by carillon import crontab"},
		"a longer one":               {[]string{"0 0 1 1 * foo a b c d"}, 2, "is read by carillon import crontab"},
		"six fields":                 {[]string{"0 0 0 30 2 8"}, 2, "day of week 8 is out of range"},
		"the zone of the machine":    {[]string{"0 0 * * *", "--zone", "Local"}, 2, "--zone Local: it is not in the time zone database"},
		"two of a name":              {[]string{"-f", file, "cronjob/a"}, 2, "cronjob/a is the name of 2 objects, blue/a, green/a; name one of the namespaces with --namespace"},
		"one of them":                {[]string{"-f", file, "cronjob/a", "--namespace", "green"}, 0, "07:00"},
		"none in the namespace":      {[]string{"-f", file, "cronjob/a", "--namespace", "z"}, 2, "there is no cronjob/a in the namespace z"},
		"two of a name at one place": {[]string{"-f", file, "-f", nextFile(t, sameNames), "cronjob/a", "--namespace", "blue"}, 2, "name a file that has one of them with -f"},
		"a deadline of zero":         {[]string{"-f", file, "cronjob/zero"}, 1, "startingDeadlineSeconds is 0, so no run is ever in time"},
		"one below zero":             {[]string{"-f", file, "cronjob/negative"}, 1, "startingDeadlineSeconds is -1, so no run is ever in time"},
		"@every beyond the deadline": {[]string{"-f", file, "cronjob/long"}, 1, "startingDeadlineSeconds is 60, and @every takes longer"},
		"@every that just meets it":  {[]string{"-f", file, "cronjob/just"}, 0, "12:01"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			messages := map[string]bool{}
			for command, run := range map[string]func(*testing.T, ...string) (string, int, error){"next": runNext, "explain": runExplain} {
				out, code, err := run(t, test.args...)
				if test.code == exitcode.Usage {
					out = err.Error()
					messages[out] = true
				}
				if code != test.code || !strings.Contains(strings.Join(strings.Fields(out), " "), test.want) {
					t.Errorf("%s: exit code %d, want %d and %q:\n%s", command, code, test.code, test.want, out)
				}
				if test.code == exitcode.Failed && strings.Contains(out, "Next:") {
					t.Errorf("%s: a next run is told:\n%s", command, out)
				}
			}
			if len(messages) > 1 {
				t.Errorf("the messages differ: %v", messages)
			}
		})
	}
}

func nextFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestNext(t *testing.T) {
	good, broken := nextFile(t, nextManifests), nextFile(t, nextBroken)
	tests := map[string]struct {
		args []string
		code int
		out  []string // parts of the output, in order
		err  string
	}{
		"an expression":              {args: []string{"30 2 * * *", "--zone", "Europe/Berlin", "-n", "1"}, out: []string{"Europe/Berlin", "Sun 2027-03-21 02:30 +01:00   2027-03-21 01:30Z   in 13h30m"}},
		"from a local date":          {args: []string{"0 0 * * *", "--zone", "Asia/Tokyo", "--from", "2027-05-01", "-n1"}, out: []string{"Sat 2027-05-01 00:00 +09:00"}},
		"from a local time":          {args: []string{"0 0 * * *", "--zone", "Asia/Tokyo", "--from", "2027-05-01 00:01", "-n1"}, out: []string{"Sun 2027-05-02 00:00 +09:00"}},
		"from an instant":            {args: []string{"0 0 * * *", "--from", "2027-05-01T02:00:00+03:00", "-n1"}, out: []string{"Sat 2027-05-01 00:00 +00:00"}},
		"all objects of a file":      {args: []string{"-f", good, "-n", "1"}, out: []string{"cronjob/report", "UTC, assumed", "06:00", "timetable/sync", "2027-03-21 02:00 excluded by Calendar feast (2027-03-21, Spring)", "2027-03-22"}},
		"one object of a file":       {args: []string{"-f", good, "tt/sync", "-n", "1"}, out: []string{"timetable/sync"}},
		"a zone of the controller":   {args: []string{"-f", good, "cj/report", "--zone", "Asia/Tokyo", "-n", "1"}, out: []string{"Asia/Tokyo", "06:00 +09:00"}},
		"what cannot run":            {args: []string{"-f", broken}, code: 1, out: []string{"cronjob/broken", "hour 25 is out of range"}},
		"an expression that is none": {args: []string{"0 25 * * *"}, code: 2, err: "hour 25 is out of range 0-23"},
		"one that never fires":       {args: []string{"0 0 30 2 *"}, code: 1, out: []string{"names no date that exists"}},
		"no quotes":                  {args: []string{"0", "2", "1", "2", "3"}, code: 2, err: "put an expression in quotes"},
		"nothing":                    {code: 2, err: "nothing to look at"},
		"a zone that is none":        {args: []string{"0 2 * * *", "--zone", "Mars"}, code: 2, err: "--zone Mars"},
		"a start that is none":       {args: []string{"0 2 * * *", "--from", "tomorrow"}, code: 2, err: "--from \"tomorrow\" is no time"},
		"a namespace for a number":   {args: []string{"0 2 * * *", "-n", "team"}, code: 1, err: "a namespace is --namespace"},
		"too many":                   {args: []string{"0 2 * * *", "-n", "10001"}, code: 1, err: "from 1 to 10000"},
		"an expression and a file":   {args: []string{"0 2 * * *", "-f", good}, code: 2, err: "is neither cronjob/NAME nor timetable/NAME"},
		"another name":               {args: []string{"cronjob/other", "-f", good}, code: 2, err: "there is no cronjob/other; there are cronjob/report, timetable/sync"},
		"a Job":                      {args: []string{"job/a", "-f", good}, code: 2, err: "a Job has no schedule"},
		"what a terminal obeys":      {args: []string{"-f", nextFile(t, strings.Replace(nextBroken, "0 25", `\e[31m`, 1))}, code: 1, out: []string{"^[[31m"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			out, code, err := runNext(t, test.args...)
			if code != test.code {
				t.Errorf("exit code %d (%v), want %d; output\n%s", code, err, test.code, out)
			}
			if test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
				t.Errorf("error %v, want %q", err, test.err)
			}
			rest := out
			for _, part := range test.out {
				_, after, found := strings.Cut(rest, part)
				if !found {
					t.Fatalf("no %q in\n%s", part, out)
				}
				rest = after
			}
		})
	}
}

func TestNextJSON(t *testing.T) {
	out, code, err := runNext(t, "-f", nextFile(t, nextManifests), "-n", "2", "-o", "json")
	if code != 0 {
		t.Fatal(err)
	}
	var got struct {
		APIVersion, Kind string
		Now              time.Time
		Schedules        []struct {
			Name  string
			Times []struct {
				UTC             time.Time
				DistanceSeconds float64
			}
		}
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if got.APIVersion != "plan.carillon.dev/v1" || got.Kind != "NextTimes" || len(got.Schedules) != 2 || len(got.Schedules[1].Times) != 2 {
		t.Fatalf("got %s", out)
	}
	first := got.Schedules[0].Times[0]
	if want := time.Date(2027, 3, 21, 6, 0, 0, 0, time.UTC); !first.UTC.Equal(want) || first.DistanceSeconds != 18*3600 {
		t.Errorf("the first time is %s, in %gs", first.UTC, first.DistanceSeconds)
	}
}

func TestNextOfCluster(t *testing.T) {
	kubeconfig := forecastServer(t, true)
	out, code, err := runNext(t, "cronjob/a-2", "--kubeconfig", kubeconfig, "--namespace", "shop", "-n", "1")
	if code != 0 || !strings.Contains(out, "Sun 2027-03-21 00:00 +00:00   in 12h") || !strings.HasPrefix(out, "cronjob/a-2 (namespace shop)\n") {
		t.Errorf("exit code %d (%v), output\n%s", code, err, out)
	}
	if _, code, err := runNext(t, "cronjob/a-1", "--kubeconfig", kubeconfig, "--namespace", "shop"); code != exitcode.Usage || !strings.Contains(err.Error(), "there is no cronjob/a-1") {
		t.Errorf("of another namespace: exit code %d (%v)", code, err)
	}
	if out, code, err := runNext(t, "-A", "--kubeconfig", kubeconfig, "-n", "1"); code != 0 || strings.Count(out, "cronjob/") != 700 {
		t.Errorf("of all namespaces: exit code %d (%v), %d CronJobs", code, err, strings.Count(out, "cronjob/"))
	}
}
