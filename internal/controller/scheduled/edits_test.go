// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// A schedule is edited and edited back (B2, guarantee 4). What was seen of it counts: a schedule that was in force runs
// at its times, and none of the other one's until the edit. An edit that is found by what a former process noted is dated
// by managed fields. Of a schedule that came and went while nothing ran nothing is left to find: none of its times runs,
// and the present one goes on as after an outage, also with a time before the edit.
func TestScheduleEditedThereAndBack(t *testing.T) {
	type step struct{ at, what string } // "dies", "starts", "looks", or the new schedule
	const a, b = "*/10 * * * *", "25 12 * * *"
	for name, c := range map[string]struct {
		steps  []step
		starts []string // "scheduled time, when"
		missed []string
	}{
		"seen, both times": {
			steps:  []step{{"12:13:00", b}, {"12:13:00", "looks"}, {"12:27:00", a}, {"12:27:00", "looks"}},
			starts: []string{"12:25:00, 12:25:00", "12:30:00, 12:30:00"},
		},
		"too quickly to be seen": {
			steps:  []step{{"12:13:00", b}, {"12:13:00", a}, {"12:13:00", "looks"}},
			starts: []string{"12:20:00, 12:20:00", "12:30:00, 12:30:00"},
		},
		"seen, and back while nothing runs: a time before that does not start": {
			steps:  []step{{"12:13:00", b}, {"12:13:00", "looks"}, {"12:14:00", "dies"}, {"12:23:00", a}, {"12:24:00", "starts"}},
			starts: []string{"12:30:00, 12:30:00"},
		},
		"seen, and back while nothing runs: a time after that starts late, and none of the other one": {
			steps:  []step{{"12:13:00", b}, {"12:13:00", "looks"}, {"12:14:00", "dies"}, {"12:27:00", a}, {"12:31:00", "starts"}},
			starts: []string{"12:30:00, 12:31:00"},
			missed: []string{"12:25:00Z was not started, reason edit"},
		},
		"while nothing runs, between two times": {
			steps:  []step{{"12:12:00", "dies"}, {"12:13:00", b}, {"12:17:00", a}, {"12:24:00", "starts"}},
			starts: []string{"12:20:00, 12:24:00", "12:30:00, 12:30:00"},
		},
		"while nothing runs, over a time of the other one": {
			steps:  []step{{"12:12:00", "dies"}, {"12:22:00", b}, {"12:27:00", a}, {"12:31:00", "starts"}},
			starts: []string{"12:30:00, 12:31:00"},
			missed: []string{"12:20:00Z was not started, reason outage"},
		},
		"while nothing runs, over a time of its own": {
			steps:  []step{{"12:12:00", "dies"}, {"12:13:00", b}, {"12:27:00", a}, {"12:29:00", "starts"}},
			starts: []string{"12:20:00, 12:29:00", "12:30:00, 12:30:00"},
		},
		"while nothing runs, and on to a third one": {
			steps:  []step{{"12:12:00", "dies"}, {"12:13:00", b}, {"12:27:00", "*/5 * * * *"}, {"12:29:00", "starts"}},
			starts: []string{"12:30:00, 12:30:00"},
			missed: []string{"12:20:00Z was not started, reason edit"},
		},
	} {
		for _, letter := range []string{"K", "V", "T"} {
			t.Run(letter+" "+name, func(t *testing.T) {
				w := serve(t, letter)
				var starts []string
				w.refuse = func(child map[string]any) error {
					annotations := child["metadata"].(map[string]any)["annotations"].(map[string]any)
					for _, value := range annotations {
						if scheduled, err := time.Parse(time.RFC3339, value.(string)); err == nil {
							starts = append(starts, scheduled.UTC().Format(time.TimeOnly)+", "+w.time.Now().UTC().Format(time.TimeOnly))
						}
					}
					return nil
				}
				w.put(w.cronJob("tick", nil))
				w.until("12:11:00")
				alive := true
				for _, s := range append(c.steps, step{"12:34:00", "looks"}) {
					if alive {
						w.pass(at(s.at).Add(-time.Nanosecond))
					}
					w.time.SetTime(at(s.at))
					switch s.what {
					case "dies":
						alive = false
					case "starts":
						w, alive = w.restart(), true
						w.until(s.at)
					case "looks":
						w.until(s.at)
					default:
						w.editSchedule("tick", s.what)
					}
				}
				if diff := cmp.Diff(append([]string{"12:10:00, 12:10:00"}, c.starts...), starts); diff != "" {
					t.Errorf("starts (-want +got):\n%s", diff)
				}
				var missed []string
				reasons, messages := w.events("tick")
				for i, reason := range reasons {
					if reason == "MissSchedule" {
						_, message, _ := strings.Cut(messages[i], "2026-05-04T")
						message, _, _ = strings.Cut(message, ": ")
						missed = append(missed, message)
					}
				}
				if diff := cmp.Diff(c.missed, missed, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("told as missed (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// editSchedule changes the schedule as kubectl does, and managed fields say when.
func (a *api) editSchedule(name, schedule string) {
	a.Helper()
	a.edit(name, func(obj, spec map[string]any) {
		spec["schedule"] = schedule
		obj["metadata"].(map[string]any)["managedFields"] = []any{map[string]any{
			"manager": "kubectl-edit", "operation": "Update", "apiVersion": obj["apiVersion"], "time": a.time.Now().Format(time.RFC3339),
			"fieldsType": "FieldsV1", "fieldsV1": map[string]any{"f:spec": map[string]any{"f:schedule": map[string]any{}}},
		}}
	})
}
