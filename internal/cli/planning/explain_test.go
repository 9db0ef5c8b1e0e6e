// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/carillon-dev/carillon/internal/cli/output"
)

// runExplain runs the command on 20 March 2027 and gives its output and exit code.
func runExplain(t *testing.T, args ...string) (out string, code int, err error) {
	t.Helper()
	return execute(t, newExplainAt, args...)
}

func TestExplain(t *testing.T) {
	good, broken := nextFile(t, nextManifests), nextFile(t, nextBroken)
	none := nextFile(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
	control := nextFile(t, strings.Replace(nextBroken, `"0 25 * * *"`, `"0 \e[31m * * *"`, 1))
	for name, c := range map[string]struct {
		args []string
		code int
		want []string // parts of the output, or of the error if there is none
	}{
		"an expression":           {[]string{"30 2 * * 1-5", "--zone", "Europe/Berlin"}, 0, []string{"It runs at 02:30 on weekdays (Monday to Friday); time zone Europe/Berlin.", `carillon next "30 2 * * 1-5" --zone Europe/Berlin`}},
		"one for a Timetable":     {[]string{"0 9 LW * *"}, 0, []string{"the last weekday (Monday to Friday) of the month", "Only a Timetable takes this schedule"}},
		"all objects":             {[]string{"-f", good}, 0, []string{"CronJob default/report", "Timetable default/sync", "Calendar feast are left out"}},
		"one object":              {[]string{"-f", good, "tt/sync"}, 0, []string{"Timetable default/sync"}},
		"the zone of a CronJob":   {[]string{"-f", good, "cronjob/report", "--zone", "Asia/Tokyo"}, 0, []string{"time zone Asia/Tokyo", "here taken as Asia/Tokyo"}},
		"never":                   {[]string{"0 0 30 2 *"}, 1, []string{"never-fires: It names no date that exists"}},
		"one that cannot be read": {[]string{"-f", broken}, 1, []string{"hour 25 is out of range 0-23"}},
		"control characters":      {[]string{"-f", control}, 1, []string{`\x1b[31m`}},
		"a mistake":               {[]string{"0 25 * * *"}, 2, []string{"hour 25 is out of range 0-23"}},
		"a bare name":             {[]string{"report"}, 2, []string{"an object is named by its kind, too: cronjob/NAME"}},
		"no quotes":               {[]string{"0", "2", "*", "*", "*"}, 2, []string{`carillon explain "0 2 * * *"`}},
		"nothing":                 {nil, 2, []string{"nothing to explain"}},
		"an expression and -f":    {[]string{"-f", good, "0 2 * * *"}, 2, []string{"goes without -f"}},
		"no such object":          {[]string{"-f", good, "cronjob/other"}, 2, []string{"there is no cronjob/other; there are cronjob/report, timetable/sync"}},
		"a Job":                   {[]string{"-f", good, "job/report"}, 2, []string{"a Job has no schedule"}},
		"no schedule at all":      {[]string{"-f", none}, 2, []string{"there is no CronJob and no Timetable"}},
		"no such zone":            {[]string{"0 2 * * *", "--zone", "Berlin"}, 2, []string{"--zone Berlin: it is not in the time zone database"}},
		"an empty expression":     {[]string{""}, 2, []string{"is empty"}},
		"no such format":          {[]string{"0 2 * * *", "-o", "yaml"}, 1, []string{"it is text or json"}},
	} {
		t.Run(name, func(t *testing.T) {
			out, code, err := runExplain(t, c.args...)
			if out == "" && err != nil {
				out = err.Error()
			}
			if code != c.code {
				t.Errorf("exit code %d, want %d: %v", code, c.code, err)
			}
			flat := strings.Join(strings.Fields(out), " ")
			for _, want := range c.want {
				if !strings.Contains(flat, want) {
					t.Errorf("%q is not said:\n%s", want, out)
				}
			}
			if strings.Contains(out, "\x1b") || name == "one object" && strings.Contains(out, "report") {
				t.Errorf("got\n%s", out)
			}
			for line := range strings.Lines(out) {
				if err == nil && len([]rune(strings.TrimSuffix(line, "\n"))) > output.DefaultWidth {
					t.Errorf("a long line: %s", line)
				}
			}
		})
	}
}

func TestExplainJSON(t *testing.T) {
	out, code, err := runExplain(t, "30 2 13 * 5", "--zone", "Europe/Berlin", "-o", "json")
	if err != nil || code != 0 {
		t.Fatal(code, err)
	}
	var got struct {
		APIVersion, Kind string
		Explanations     []struct {
			Language  string
			Schedules []struct{ Text, Words string }
			TimeZone  struct {
				Name             string
				Assumed, Matters bool
			}
			Next         time.Time
			Frequency    struct{ Runs int }
			ClockChanges []struct {
				Date, Effect, Words string
				ShiftSeconds        int
			}
			Surprises []struct{ ID, Message, Cure string }
			Policies  []struct{ Topic, Setting, Words string }
		}
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if got.APIVersion != apiVersion || got.Kind != "Explanation" || len(got.Explanations) != 1 {
		t.Fatalf("got %+v", got)
	}
	e := got.Explanations[0]
	if e.Language != "CronJob" || e.Schedules[0].Words != "at 02:30 on day 13 of the month OR on Fridays" || e.TimeZone.Name != "Europe/Berlin" ||
		e.TimeZone.Assumed || !e.TimeZone.Matters || !e.Next.Equal(time.Date(2027, 3, 26, 1, 30, 0, 0, time.UTC)) {
		t.Errorf("got %+v", e)
	}
	if len(e.ClockChanges) != 4 || e.ClockChanges[0].Date != "2027-03-28" || e.ClockChanges[0].ShiftSeconds != 3600 || e.ClockChanges[0].Effect != "none" {
		t.Errorf("the changes are %+v", e.ClockChanges)
	}
	if len(e.Surprises) != 1 || e.Surprises[0].ID != "day-of-month-and-week" || len(e.Policies) != 4 {
		t.Errorf("the surprises are %+v, the policies %+v", e.Surprises, e.Policies)
	}
	for _, list := range []string{`"limits": []`, `"notes": []`} {
		if !strings.Contains(out, list) {
			t.Errorf("%s is missing in\n%s", list, out)
		}
	}
}

func TestExplainCompletes(t *testing.T) {
	c := &explainCommand{input: input{files: []string{nextFile(t, nextManifests)}}}
	cmd := c.command()
	cmd.SetContext(t.Context())
	c.input.files = []string{nextFile(t, nextManifests)}
	if names, _ := c.complete(cmd, nil, ""); strings.Join(names, " ") != "cronjob/report timetable/sync" {
		t.Errorf("got %q", names)
	}
}
