// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/carillon-dev/carillon/internal/kind/timetable"
)

// What of the status of a Timetable cannot be read is told once for each thing that it is, and with how it is mended; the
// Timetable is served (TT-259).
func TestUnreadableStatusIsTold(t *testing.T) {
	serveTimetable(t, nil, func(w *timetabled) {
		w.sync()
		shows := func(status string) {
			object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&w.stored().Timetable)
			if err != nil {
				t.Fatal(err)
			}
			object["status"] = json.RawMessage(status)
			text, err := json.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			tt := &timetable.Object{}
			if err := json.Unmarshal(text, tt); err != nil || tt.StatusTrouble() == nil {
				t.Fatalf("%v, %+v", err, tt)
			}
			if err := w.owners.Replace([]any{tt}, ""); err != nil {
				t.Fatal(err)
			}
			w.ownWrites.Forget("tt-1")
			if w.gather(tickKey) == nil {
				t.Error("it is not served")
			}
		}
		shows(`{"cursor":"soon"}`)
		shows(`{"cursor":"soon"}`)
		cursor := `Warning: status.cursor cannot be read: `
		cure := `It counts as absent, and is written anew when what it tells of changes; to take it out before: kubectl edit timetables.batch.carillon.dev tick -n batch --subresource=status`
		if told := w.says("Unreadable"); len(told) != 1 || !strings.HasPrefix(told[0], cursor) || !strings.HasSuffix(told[0], cure) {
			t.Errorf("told %q", told)
		}
		shows(`{"activeCount":"many"}`)
		if told := w.says("Unreadable"); len(told) != 2 || !slices.ContainsFunc(told, func(s string) bool { return strings.HasPrefix(s, "Warning: status.activeCount cannot be read") }) {
			t.Errorf("told %q", told)
		}
	})
}

// CJ-195: a CronJob that cannot be read is told about once and, while it lasts, every half hour; nothing else is done
// for it, and its neighbour is served. When it is mended it is served too.
func TestUnreadable(t *testing.T) {
	for _, letter := range []string{"V", "T"} {
		t.Run(letter, func(t *testing.T) {
			a := serve(t, letter)
			a.put(a.cronJob("tick", nil))
			bad := a.cronJob("bad", func(spec map[string]any) {
				spec["jobTemplate"].(map[string]any)["metadata"] = map[string]any{"labels": map[string]any{"tier": int64(5)}}
			})
			a.put(bad)
			a.until("12:20:30")
			if n := len(a.jobsOf("tick")); n != 2 {
				t.Errorf("%d Jobs of the neighbour, want 2", n)
			}
			told := func() (list []corev1.Event) {
				for _, e := range a.told {
					if e.InvolvedObject.Name == "bad" {
						list = append(list, e)
					}
				}
				return list
			}
			for range 3 { // whatever else happens to it
				a.put(a.cronJobs["bad"])
				a.until("12:21:00")
			}
			list := told()
			if len(list) != 1 {
				t.Fatalf("%d events, want one: %v", len(list), list)
			}
			for _, part := range []string{"spec.jobTemplate.metadata.labels.tier is the number 5, and must be a string", "kubectl edit " + a.info.Name + " bad -n batch)"} {
				if !strings.Contains(list[0].Message, part) || list[0].Type != corev1.EventTypeWarning || list[0].Reason != "Unreadable" {
					t.Errorf("no %q in %s %s %s", part, list[0].Type, list[0].Reason, list[0].Message)
				}
			}
			a.until("12:34:00")
			if n := len(told()); n != 2 {
				t.Errorf("%d events after half an hour, want 2", n)
			}
			for call, n := range a.calls {
				if strings.HasSuffix(call, " bad") && n > 0 {
					t.Errorf("%d calls %q", n, call)
				}
			}
			a.edit("bad", func(_, spec map[string]any) {
				spec["jobTemplate"].(map[string]any)["metadata"] = map[string]any{"labels": map[string]any{"tier": "5"}}
			})
			a.until("12:40:30")
			if n := len(a.jobsOf("bad")); n == 0 {
				t.Error("mended, and not served")
			}
		})
	}
}
