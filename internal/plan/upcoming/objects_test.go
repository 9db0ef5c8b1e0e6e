// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package upcoming_test

import (
	"strings"
	"testing"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/upcoming"
)

const template = "template: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: busybox}]}}}}"

func timetableOf(spec string) string {
	return "apiVersion: batch.carillon.dev/v1alpha1\nkind: Timetable\nmetadata: {name: a}\nspec: {" + spec + ", " + template + "}\n"
}

// What a Timetable's text says, and what it does not.
func TestTimetableText(t *testing.T) {
	tests := map[string]struct{ text, want, not string }{
		"the offset of jitter is told where it had to be cut": {
			timetableOf("schedules: [{every: 1m}], jitter: 10m"), "jitter up to 10m: that of this Timetable is 5m45s", ""},
		"each start that was cut tells it":    {timetableOf("schedules: [{every: 1m}], jitter: 10m"), "starts at 12:00:59: its jitter is cut, because the next time follows", ""},
		"no start is cut where there is time": {timetableOf("schedules: [{every: 1h}], jitter: 10m"), "that of this Timetable is 5m45s", "cut"},
		"a suspension that is over":           {timetableOf("schedules: [{every: 1h}], onResume: CatchUp, suspendUntil: '2027-03-01T00:00:00Z'"), "every 1h", "suspended"},
		"nor is that made up for":             {timetableOf("schedules: [{every: 1h}], onResume: CatchUp, suspendUntil: '2027-03-01T00:00:00Z'"), "every 1h", "CatchUp"},
		"a suspension that is not over":       {timetableOf("schedules: [{every: 1h}], onResume: CatchUp, suspendUntil: '2027-04-01T00:00:00Z'"), "nothing starts before note onResume is CatchUp", ""},
		"where a time came from may be excluded": {
			timetableOf("timeZone: Europe/Berlin, schedules: [{cron: '30 2 28 3 *'}], exclude: [{period: 2027-03-28T02:00/2027-03-28T03:00}]"), "stands for 02:30, which does not exist", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			text := read(t, test.text, nil)[0].List(now, 3).Text(now, 80)
			flat := strings.Join(strings.Fields(text), " ")
			if !strings.Contains(flat, test.want) || test.not != "" && strings.Contains(flat, test.not) {
				t.Errorf("want %q, and not %q:\n%s", test.want, test.not, text)
			}
		})
	}
}

// An "@every" goes on from what the object has begun.
func TestEveryGoesOn(t *testing.T) {
	const head = "apiVersion: batch/v1\nkind: CronJob\nspec: {schedule: '@every 7h'}\n"
	for text, want := range map[string]string{
		"metadata: {name: a}": "2027-03-20T19:00:00Z 2027-03-21T02:00:00Z",
		"metadata: {name: a, creationTimestamp: '2027-03-20T04:00:00Z'}":                                                     "2027-03-20T18:00:00Z 2027-03-21T01:00:00Z",
		"metadata: {name: a, creationTimestamp: '2027-03-20T05:00:00Z'}":                                                     "2027-03-20T12:00:00Z 2027-03-20T19:00:00Z",
		"metadata: {name: a, creationTimestamp: '2027-03-01T00:00:00Z'}\nstatus: {lastScheduleTime: '2027-03-20T11:10:00Z'}": "2027-03-20T18:10:00Z 2027-03-21T01:10:00Z",
		"metadata: {name: a, creationTimestamp: '2027-03-20T12:00:00Z'}":                                                     "2027-03-20T19:00:00Z 2027-03-21T02:00:00Z",
		"metadata: {name: a, creationTimestamp: '2027-03-20T12:30:00Z'}":                                                     "2027-03-20T19:30:00Z 2027-03-21T02:30:00Z",
	} {
		var got []string
		for _, at := range read(t, head+text, nil)[0].List(now, 2).Times {
			got = append(got, at.At.UTC().Format(time.RFC3339))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// What is told of omissions ends where times do.
func TestOmissionsEndWithTheYear9999(t *testing.T) {
	s := read(t, "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\nspec: {schedule: '30 2 * * *', timeZone: Europe/Berlin}\n", nil)[0]
	l := s.List(time.Date(9999, 12, 29, 0, 0, 0, 0, time.UTC), 10)
	if l.End != upcoming.Year9999 || len(l.Omissions) > 0 {
		t.Errorf("the end is %s, omitted are %v", l.End, l.Omissions)
	}
}
