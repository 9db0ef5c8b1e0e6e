// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package act_test

import (
	"html"
	"net/http"
	"strings"
	"testing"

	clienttesting "k8s.io/client-go/testing"

	"github.com/carillon-dev/carillon/internal/ui/page"
	"github.com/carillon-dev/carillon/internal/ui/uitest"
)

// What is wrong with an entry is told once, at its field, with what to write instead, before the API server is asked.
func TestEntries(t *testing.T) {
	for name, test := range map[string]struct {
		manifest, field, typed, want string
	}{
		"an expression":               {cronJob(""), "schedule", "61 * * * *", `Schedule "61 * * * *": minute 61 is out of range 0-59.`},
		"a zone in the expression":    {cronJob(""), "schedule", "TZ=Europe/Rome 5 * * * *", "A zone has no place in the expression: write 5 * * * * here, and Europe/Rome into the field for the time zone."},
		"a zone":                      {cronJob(""), "timeZone", "Mars/Base", `There is no time zone "Mars/Base"; names are those of the IANA database, such as Europe/Berlin or UTC.`},
		"a deadline":                  {cronJob(""), "startingDeadlineSeconds", "-5", "-5 is not allowed here: it is a whole number from 0 to 9223372036854775807."},
		"a limit":                     {cronJob(""), "failedJobsHistoryLimit", "99999999999", "99999999999 is not allowed here: it is a whole number from 0 to 2147483647."},
		"a policy":                    {cronJob(""), "concurrencyPolicy", "forbid", `"forbid" is not allowed: write Forbid, with these capitals.`},
		"whether it is suspended":     {cronJob(""), "suspend", "perhaps", `There is no "perhaps": it is one of true, false.`},
		"a cron of a Timetable":       {timetable(""), "schedules.0", "0 25 * * *", `Schedule "0 25 * * *": hour 25 is out of range 0-23.`},
		"a zone of a Timetable":       {timetable(""), "timeZone", "Mars/Base", `There is no time zone "Mars/Base"; names are those of the IANA database, such as Europe/Berlin or UTC.`},
		"a duration of days":          {timetable(""), "startingDeadline", "1d", `"1d" is no duration; write hours, minutes and seconds, such as 1h30m.`},
		"no deadline at all":          {timetable(""), "startingDeadline", "0s", `"0s" is too short: it is 1s at least.`},
		"a jitter of more than a day": {timetable(""), "jitter", "25h", `"25h" is too long: it is 24h at most.`},
		"an instant":                  {timetable(""), "suspendUntil", "tomorrow", `"tomorrow" is no instant: write 2027-03-01T14:00:00Z, or with an offset such as 2027-03-01T14:00:00+01:00.`},
		"too many retries":            {timetable(""), "retry.limit", "11", "11 is not allowed here: it is a whole number from 1 to 10."},
	} {
		for _, do := range []string{"preview", "save"} {
			t.Run(name+", "+do, func(t *testing.T) {
				s := site(t, uitest.World{Manifests: test.manifest, Refuses: func(a clienttesting.Action) error {
					if a.GetVerb() == "patch" {
						t.Error("the API server is asked")
					}
					return nil
				}})
				kind, object := "CronJob", "backup"
				if strings.Contains(test.manifest, "kind: Timetable") {
					kind, object = "Timetable", "load"
				}
				target := page.ActURL("edit", "", kind, "default", object)
				first := answerOf(t, s, target)
				code, body := uitest.Post(t, s, target, editForm(t, first, test.field, test.typed, "do", do))
				if code != http.StatusUnprocessableEntity || strings.Count(text(body), test.want) != 1 {
					t.Errorf("%d, and not once %q:\n%s", code, test.want, text(body))
				}
				_, fault, _ := strings.Cut(body, `id="`+test.field+`-fault">`)
				if fault, _, _ = strings.Cut(fault, "</p>"); html.UnescapeString(fault) != test.want {
					t.Errorf("its field says %q, want %q", html.UnescapeString(fault), test.want)
				}
			})
		}
	}
}

// The same is told with its path of whoever edits the YAML.
func TestEntriesOfYAML(t *testing.T) {
	for name, test := range map[string]struct{ manifest, from, to, want string }{
		"an expression": {cronJob(""), "schedule: 0 * * * *", "schedule: 0 25 * * *", `spec.schedule: schedule "0 25 * * *": hour 25 is out of range 0-23.`},
		"a zone":        {cronJob(""), "timeZone: Etc/UTC", "timeZone: Mars/Base", `spec.timeZone: there is no time zone "Mars/Base"`},
		"a Timetable":   {timetable(""), "cron: 0 * * * *", "every: 5d", `spec.schedules[0]: "5d" is no duration`},
		"moments":       {timetable(""), "cron: 0 * * * *", "at: [soon]", `spec.schedules[0]: at[0]: "soon" is no moment`},
	} {
		t.Run(name, func(t *testing.T) {
			s := site(t, uitest.World{Manifests: test.manifest})
			kind, object := "CronJob", "backup"
			if strings.Contains(test.manifest, "kind: Timetable") {
				kind, object = "Timetable", "load"
			}
			target := page.ActURL("edit", "", kind, "default", object)
			typed := editForm(t, answerOf(t, s, target), "mode", "yaml", "do", "preview")
			if !strings.Contains(typed.Get("yaml"), test.from) {
				t.Fatalf("there is no %s in\n%s", test.from, typed.Get("yaml"))
			}
			typed.Set("yaml", strings.Replace(typed.Get("yaml"), test.from, test.to, 1))
			code, body := uitest.Post(t, s, target, typed)
			if code != http.StatusUnprocessableEntity {
				t.Error(code)
			}
			wants(t, body, test.want, "!What changes", test.to)
		})
	}
}

// What is wrong already, and stays as it is, keeps nobody from changing something else.
func TestOldEntryStays(t *testing.T) {
	s := site(t, uitest.World{Manifests: strings.Replace(cronJob(""), "schedule: 0 * * * *", "schedule: TZ=Europe/Rome 0 * * * *", 1)})
	target := page.ActURL("edit", "batch/v1", "CronJob", "default", "backup")
	code, body := uitest.Post(t, s, target, editForm(t, answerOf(t, s, target), "concurrencyPolicy", "Forbid", "do", "preview"))
	if code != http.StatusOK {
		t.Error(code)
	}
	wants(t, body, "+ concurrencyPolicy: Forbid", "Save")
}
