// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/cli/console"
)

// now is the time in these tests.
var now = time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC)

func timetableThat(change func(*v1alpha1.Timetable)) *v1alpha1.Timetable {
	tt := &v1alpha1.Timetable{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "t", UID: "u"}}
	if change != nil {
		change(tt)
	}
	return tt
}

func condition(tt *v1alpha1.Timetable, of, status, reason string) {
	tt.Status.Conditions = append(tt.Status.Conditions, metav1.Condition{Type: of, Status: metav1.ConditionStatus(status), Reason: reason})
}

// What comes next of a Timetable is told in the words of its status, and once.
func TestTimetableComesNext(t *testing.T) {
	next := metav1.NewTime(now.Add(time.Hour))
	passed := v1alpha1.NextTime{Time: metav1.NewTime(now.Add(-time.Minute))}
	for name, c := range map[string]struct {
		tt   func(*v1alpha1.Timetable)
		want string
		due  bool
	}{
		"nobody has looked": {tt: func(*v1alpha1.Timetable) {}},
		"a time ahead, in its zone": {tt: func(tt *v1alpha1.Timetable) {
			condition(tt, "Ready", "True", "Accepted")
			tt.Spec.TimeZone, tt.Status.Next = "Europe/Rome", []v1alpha1.NextTime{{Time: next}}
		}, want: "Europe/Rome", due: true},
		"what came first has passed": {tt: func(tt *v1alpha1.Timetable) {
			condition(tt, "Ready", "True", "Accepted")
			tt.Status.Next = []v1alpha1.NextTime{passed, {Time: next}}
		}, want: "UTC", due: true},
		"a time that has passed starts later": {tt: func(tt *v1alpha1.Timetable) {
			condition(tt, "Ready", "True", "Accepted")
			tt.Status.Next = []v1alpha1.NextTime{{Time: passed.Time, StartsAt: &next}}
		}, want: "UTC", due: true},
		"all that was to come has passed": {tt: func(tt *v1alpha1.Timetable) {
			condition(tt, "Ready", "True", "Accepted")
			tt.Status.Next = []v1alpha1.NextTime{passed, passed}
		}},
		"suspended until then": {tt: func(tt *v1alpha1.Timetable) {
			condition(tt, "Ready", "True", "Accepted")
			condition(tt, "Paused", "True", "SuspendedUntil")
			tt.Status.Next = []v1alpha1.NextTime{{Time: next}}
		}, want: "UTC", due: true},
		"refused by a dry run": {tt: func(tt *v1alpha1.Timetable) {
			condition(tt, "Ready", "False", "TemplateRejected")
			tt.Status.Next = []v1alpha1.NextTime{{Time: next}}
		}, want: "UTC", due: true},
		"not ready": {tt: func(tt *v1alpha1.Timetable) {
			condition(tt, "Ready", "False", "CalendarNotFound")
			tt.Status.Next = []v1alpha1.NextTime{{Time: next}}
		}, want: "starts nothing until this is mended: CalendarNotFound"},
		"suspended": {tt: func(tt *v1alpha1.Timetable) {
			condition(tt, "Ready", "True", "Accepted")
			condition(tt, "Paused", "True", "Suspended")
		}, want: "is suspended"},
		"failed too often": {tt: func(tt *v1alpha1.Timetable) {
			condition(tt, "Ready", "True", "Accepted")
			condition(tt, "Paused", "True", "Failures")
		}, want: "is paused, because too many runs failed in a row"},
		"over": {tt: func(tt *v1alpha1.Timetable) {
			condition(tt, "Ready", "True", "Accepted")
			condition(tt, "Completed", "True", "NoMoreTimes")
		}, want: "has no next run: no scheduled time will come again"},
		"the last one runs": {tt: func(tt *v1alpha1.Timetable) {
			condition(tt, "Ready", "True", "Accepted")
			tt.Status.Active = []v1alpha1.ActiveRun{{Name: "t-1"}}
		}},
		"nothing ahead": {tt: func(tt *v1alpha1.Timetable) { condition(tt, "Ready", "True", "Accepted") },
			want: "has no next run; see its status: carillon kubectl describe timetable t"},
	} {
		t.Run(name, func(t *testing.T) {
			lines := sayTimetables(t, func(f *Follower) {
				f.timetable(timetableThat(c.tt))
				f.timetable(timetableThat(c.tt)) // an echo tells nothing new
			})
			switch {
			case c.want == "" && len(lines) > 0, c.want != "" && len(lines) != 1:
				t.Fatalf("told %+v", lines)
			case c.want == "":
				return
			}
			l := lines[0]
			if l.Object != "timetable/default/t" || l.Message != c.want || (l.Due != nil) != c.due || c.due && !l.Due.Equal(next.Time) {
				t.Errorf("told %+v", l)
			}
		})
	}
}

func sayTimetables(t *testing.T, say func(*Follower)) []console.Line {
	t.Helper()
	p := &page{}
	out := console.New(p, console.Options{Format: console.JSON})
	f := New(Options{Console: out, Now: func() time.Time { return now }})
	say(f)
	if err := out.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p.lines(t)
}

// Of the events of Timetables that are no warnings those are told that no line of a Job shows. A Timetable that starts
// something else has none.
func TestTimetableEvents(t *testing.T) {
	for name, c := range map[string]struct {
		child, want string
	}{
		"of Jobs": {child: "Job", want: "RunRetrying RunCancelled TimesSkipped Resumed"},
		"of Pods": {child: "Pod", want: "RunStarted RunSucceeded RunRetrying RunCancelled TimesSkipped Resumed"},
	} {
		t.Run(name, func(t *testing.T) {
			lines := sayTimetables(t, func(f *Follower) {
				f.timetable(timetableThat(func(tt *v1alpha1.Timetable) { tt.Spec.Template.Kind = c.child }))
				for _, reason := range []string{"RunStarted", "RunSucceeded", "RunRetrying", "RunCancelled", "TimesSkipped", "Resumed", "Completed"} {
					e := warningOf("Timetable", "t", "told", 1)
					e.UID, e.InvolvedObject.UID, e.Type, e.Reason = types.UID(reason), "u", corev1.EventTypeNormal, reason
					f.event(e)
				}
				f.forgetTimetable("u")
				if len(f.timetables) != 0 {
					t.Error("it is not forgotten")
				}
			})
			var got []string
			for _, l := range lines {
				reason, _, _ := strings.Cut(l.Message, ":")
				got = append(got, reason)
				if l.Type != console.Info {
					t.Errorf("told %+v", l)
				}
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("told %q, want %q", got, c.want)
			}
		})
	}
}
