// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/client/reference"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// followed is a Timetable whose run is followed until it has ended; then makes it so.
func followed(t *testing.T, m *runMemory, tt *v1alpha1.Timetable, then func(p *waitPlane)) (said string, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := newWaitPlane(t, tt)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var out, text bytes.Buffer
		l := &logs{tail: -1, streams: Streams{Out: &out, Err: &text}, clock: time.Now, follow: true}
		of, fault := findSubject(ctx, m, p.server, reference.Reference{Kind: "timetable", Name: "report"}, "default")
		if fault != nil {
			t.Fatal(fault)
		}
		w := &waitRun{source: m, server: p.server, of: of, pick: newPick(of, time.Now()), clock: time.Now}
		done := make(chan error, 1)
		go func() { done <- l.followRun(ctx, fake.NewClientset(), w) }()
		synctest.Wait()
		<-time.After(time.Minute)
		synctest.Wait()
		then(p)
		err = <-done
		stop()
		synctest.Wait()
		said = text.String()
	})
	return said, err
}

// A try that fails is no end of a run that is tried again.
func TestLogsFollowsTries(t *testing.T) {
	said, err := followed(t, &runMemory{}, waitTimetable(true), func(p *waitPlane) {
		p.create("report-1", "report")
		p.end("report-1", "report", "Failed")
		<-time.After(time.Minute)
		p.create("report-1-r2", "report")
		p.decide(waitTimetable(false))
		p.end("report-1-r2", "report", "Complete")
	})
	if err != nil {
		t.Errorf("it ends with %v", err)
	}
	want := []string{"is to be tried again; waiting for it", "job/report-1 of timetable/report", "it is tried again; waiting for the next try",
		"job/report-1-r2 of timetable/report", "job/report-1-r2 succeeded"}
	rest := said
	for _, text := range want {
		_, after, found := strings.Cut(rest, text)
		if !found {
			t.Fatalf("%q is not said, or too early:\n%s", text, said)
		}
		rest = after
	}
}

// What keeps the next run from coming is said.
func TestLogsFollowsWhatDoesNotCome(t *testing.T) {
	for want, change := range map[string]func(*v1alpha1.Timetable){
		"and none starts by itself: it is suspended; waiting for one":                               func(tt *v1alpha1.Timetable) { tt.Spec.Suspend = true },
		"and none starts by itself: it is paused, after too many runs that failed; waiting for one": pauseTimetable,
	} {
		tt := waitTimetable(false)
		change(tt)
		said, err := followed(t, &runMemory{}, tt, func(p *waitPlane) {
			p.create("report-1", "report")
			p.end("report-1", "report", "Complete")
		})
		if err != nil || !strings.Contains(said, want) {
			t.Errorf("%v; %q is not said:\n%s", err, want, said)
		}
	}
}

// pauseTimetable makes a Timetable one that is paused.
func pauseTimetable(tt *v1alpha1.Timetable) {
	tt.Spec.PauseAfterFailures = new(int32(1))
	tt.Status.Pause = &v1alpha1.Pause{Since: new(metav1.NewTime(logsNow)), Generation: tt.Generation}
}

// The last try decides.
func TestLogsFollowsFailure(t *testing.T) {
	_, err := followed(t, &runMemory{}, waitTimetable(true), func(p *waitPlane) {
		p.create("report-1", "report")
		p.decide(waitTimetable(false))
		p.end("report-1", "report", "Failed")
	})
	if codeOf(err) != 1 {
		t.Errorf("it ends with %v", err)
	}
}

// triesScene is a scheduled time of which both tries failed, and a later one of which the first did.
func triesScene() *runMemory {
	m := &runMemory{logs: map[string]string{}}
	add := func(name string, ago time.Duration, retry int, outcome run.Outcome) {
		r := backupRun(4, outcome)
		r.UID, r.Name, r.Retry, r.Owner.Kind = types.UID(name), name, retry, "Timetable"
		r.ScheduledTime = logsNow.Add(-ago)
		r.Created = r.ScheduledTime.Add(time.Duration(retry) * time.Minute)
		a := attemptOf(r, name+"-x", "c", 0, time.Second)
		m.runs, m.attempts = append(m.runs, r), append(m.attempts, a)
		m.logs[a.ContainerID] = criText(a.Started, "text of "+name)
	}
	add("c-2", time.Hour, 2, run.Succeeded)
	add("c-1", time.Hour, 1, run.Failed)
	add("b-2", 2*time.Hour, 2, run.Failed)
	add("b-1", 2*time.Hour, 1, run.Failed)
	return m
}

// All tries of a scheduled time are one run.
func TestLogsTries(t *testing.T) {
	both := func(a, b string) string {
		return a + "-x │ text of " + a + "\n" + b + "-x │ text of " + b + "\n"
	}
	for name, test := range map[string]struct {
		of     string
		choice choice
		want   string
	}{
		"the newest":       {"timetable/backup", choice{}, both("c-1", "c-2")},
		"the one before":   {"timetable/backup", choice{previous: true}, both("b-1", "b-2")},
		"that has failed":  {"timetable/backup", choice{failed: true}, both("b-1", "b-2")},
		"of a time":        {"timetable/backup", choice{at: "11:00"}, both("c-1", "c-2")},
		"a Job is one try": {"job/c-1", choice{}, "text of c-1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, said bytes.Buffer
			l := &logs{tail: -1, choice: test.choice, streams: Streams{Out: &out, Err: &said}, clock: func() time.Time { return logsNow }}
			ref, _ := reference.Parse(test.of)
			if err := l.show(t.Context(), triesScene(), nil, ref); err != nil || out.String() != test.want {
				t.Errorf("got %q, %v; want %q", &out, err, test.want)
			}
			if got := strings.Contains(said.String(), ", 2 tries, 2 attempts"); got != strings.HasPrefix(test.of, "timetable") {
				t.Errorf("said %s", &said)
			}
		})
	}
	var out bytes.Buffer
	l := &logs{tail: -1, choice: choice{failed: true, previous: true}, streams: Streams{Out: &out, Err: &out}, clock: func() time.Time { return logsNow }}
	if err := l.show(t.Context(), triesScene(), nil, reference.Reference{Kind: "timetable", Name: "backup"}); err == nil || !strings.HasPrefix(err.Error(), "only one run of timetable/backup has failed") {
		t.Errorf("the failure before the only one: %v", err)
	}
}
