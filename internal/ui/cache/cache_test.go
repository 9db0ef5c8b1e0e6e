// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/kind"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/workload"
	"github.com/carillon-dev/carillon/internal/ui/page"
)

var _ page.Cache = (*Cache)(nil)

const (
	backup    = "{apiVersion: batch/v1, kind: CronJob, metadata: {name: backup, namespace: shop}, spec: {schedule: '0 2 * * *', jobTemplate: {spec: {template: {spec: {containers: [{name: main, image: secret}]}}}}}}"
	report    = "{apiVersion: batch/v1, kind: CronJob, metadata: {name: report}, spec: {schedule: '@hourly'}}"
	mirror    = "{apiVersion: batch.carillon.dev/v1alpha1, kind: Timetable, metadata: {name: backup, namespace: shop}, spec: {schedules: [{cron: '0 2 * * *'}], exclude: [{calendar: feast}], template: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: secret}]}}}}}}"
	feast     = "{apiVersion: batch.carillon.dev/v1alpha1, kind: Calendar, metadata: {name: feast, namespace: shop}, spec: {periods: [{period: 12-25}]}}"
	volcano   = "{apiVersion: batch.volcano.sh/v1alpha1, kind: CronJob, metadata: {name: backup, namespace: shop}, spec: {schedule: '0 3 * * *'}}"
	job       = "{apiVersion: batch/v1, kind: Job, metadata: {name: backup-1, namespace: shop, ownerReferences: [{apiVersion: batch/v1, kind: CronJob, name: backup, uid: shop-backup, controller: true}]}, status: {active: 1}}"
	jobOfNone = "{apiVersion: batch/v1, kind: Job, metadata: {name: import, namespace: shop}, status: {active: 1}}"
)

// What is there, and what comes and goes, is known in order; what is kept is slim.
func TestSchedules(t *testing.T) {
	inWorld(t, []string{backup, report, feast, volcano}, func(t *testing.T, w *world) {
		w.begin()
		if diff := cmp.Diff([]string{"default cronjob/report", "shop cronjob/backup", "shop cronjob/backup"}, w.names()); diff != "" {
			t.Errorf("at first (-want +got):\n%s", diff)
		}
		w.create(mirror)
		w.create("{apiVersion: batch/v1, kind: CronJob, metadata: {name: another}, spec: {schedule: '@daily'}}")
		if err := w.server.Delete(t.Context(), object(t, report)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"default cronjob/another", "shop cronjob/backup", "shop cronjob/backup", "shop timetable/backup"}, w.names()); diff != "" {
			t.Errorf("then (-want +got):\n%s", diff)
		}
		for name, tt := range map[string]struct{ group, kind, schedule string }{
			"of batch": {"", "cronjob", "0 2 * * *"}, "of Volcano": {"batch.volcano.sh", "CronJob", "0 3 * * *"}, "Timetable": {"", "timetable", ""},
		} {
			found, err := w.Find(t.Context(), tt.group, tt.kind, "shop", "backup")
			if err != nil || found == nil || found.ScheduleText() != tt.schedule {
				t.Errorf("%s: %v, %v", name, found, err)
			}
		}
		for _, kind := range []string{"job", ""} {
			if found, err := w.Find(t.Context(), "", kind, "shop", "backup"); found != nil || err != nil {
				t.Errorf("%q: %v, %v", kind, found, err)
			}
		}
		found := w.Owner("shop-backup")
		if found == nil || found.Content != nil || strings.Contains(fmt.Sprint(found.Written().Object), "secret") {
			t.Errorf("by its UID there is %v", found)
		}
		if notes := w.Notes(); len(notes) > 0 {
			t.Errorf("noted: %q", notes)
		}
	})
}

// A Timetable is read again when a Calendar that it names is another one.
func TestCalendars(t *testing.T) {
	inWorld(t, []string{mirror}, func(t *testing.T, w *world) {
		w.begin()
		of := func() *workload.Scheduled {
			w.names()
			found, err := w.Find(t.Context(), "", "timetable", "shop", "backup")
			if err != nil || found == nil {
				t.Fatalf("%v, %v", found, err)
			}
			return found
		}
		if !strings.Contains(of().Obstacle(), "feast") {
			t.Errorf("without the Calendar it says %q", of().Obstacle())
		}
		w.create(feast)
		before := time.Date(2026, 12, 24, 12, 0, 0, 0, time.UTC)
		if next := of().FirstAfter(before); next.Day() != 26 {
			t.Errorf("with the Calendar it is due on %v: %s", next, of().Obstacle())
		}
		is := &v1alpha1.Calendar{}
		if err := w.server.Get(t.Context(), types.NamespacedName{Namespace: "shop", Name: "feast"}, is); err != nil {
			t.Fatal(err)
		}
		is.Spec.Periods[0].Period = "12-26"
		if err := w.server.Update(t.Context(), is); err != nil {
			t.Fatal(err)
		}
		if next := of().FirstAfter(before); next.Day() != 25 {
			t.Errorf("with another one it is due on %v", next)
		}
	})
}

// Runs that begin and end are known, by their owner.
func TestActive(t *testing.T) {
	inWorld(t, []string{backup, jobOfNone}, func(t *testing.T, w *world) {
		w.begin()
		w.names() // watches have begun
		w.create(job)
		w.names()
		if all, of := w.Active(""), w.Active("shop-backup"); len(all) != 2 || len(of) != 1 || of[0].Name != "backup-1" {
			t.Errorf("%v; %v", all, of)
		}
		is := object(t, job).(*batchv1.Job)
		if err := w.server.Get(t.Context(), client.ObjectKeyFromObject(is), is); err != nil {
			t.Fatal(err)
		}
		is.Status = batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: "True", LastTransitionTime: metav1.Now()}}}
		if err := w.server.Status().Update(t.Context(), is); err != nil {
			t.Fatal(err)
		}
		if err := w.server.Delete(t.Context(), object(t, jobOfNone)); err != nil {
			t.Fatal(err)
		}
		w.names()
		if all := w.Active(""); len(all) != 0 {
			t.Errorf("after the end there are %v", all)
		}
	})
}

// What is not served or may not be read is said, and tried again.
func TestUnknown(t *testing.T) {
	for name, tt := range map[string]struct {
		kind string
		err  error
		want string
	}{
		"forbidden":                 {"CronJob.batch", forbidden, `CronJobs may not be read: cronjobs.batch is forbidden: no right to list`},
		"not served":                {"CronJob.batch", unserved, "CronJobs are not known: the API server does not serve them"},
		"not served, and none does": {"CronJob.batch.volcano.sh", unserved, ""},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, []string{backup, volcano}, func(t *testing.T, w *world) {
				w.server.fail(tt.kind, tt.err)
				w.begin()
				if names := w.names(); len(names) != 1 {
					t.Errorf("it has %v", names)
				}
				if unread := w.Unread(); unread.Schedules != tt.want || unread.Runs != "" {
					t.Errorf("it cannot see %+v", unread)
				}
				if got := strings.Join(w.Notes(), "\n"); got != tt.want {
					t.Errorf("noted: %q", got)
				}
				w.server.fail(tt.kind, nil)
				time.Sleep(unservedWait + time.Second)
				if names := w.names(); len(names) != 2 || len(w.Notes()) > 0 {
					t.Errorf("then it has %v and notes %q", names, w.Notes())
				}
			})
		})
	}
}

// A server that does not answer at first is waited for, within bounds; one that goes away is waited for as well, while
// what was there is shown.
func TestServerAway(t *testing.T) {
	inWorld(t, []string{backup}, func(t *testing.T, w *world) {
		w.server.fail("", refused)
		w.begin()
		began := time.Now()
		_, err := w.Schedules(t.Context())
		missing, ok := errors.AsType[*NotYetError](err)
		if !ok || !errors.Is(err, context.DeadlineExceeded) || !slices.Contains(missing.Kinds, "CronJobs") || !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("the error is %v", err)
		}
		if waited := time.Since(began); waited < firstWait || waited > firstWait+time.Second {
			t.Errorf("it has waited for %v", waited)
		}
		impatient, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := w.Schedules(impatient); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the error is %v", err)
		}
		w.server.fail("", nil)
		time.Sleep(late)
		if names := w.names(); len(names) != 1 || len(w.Notes()) > 0 {
			t.Errorf("then it has %v and notes %q", names, w.Notes())
		}

		w.server.fail("", refused)
		if names := w.names(); len(names) != 1 {
			t.Errorf("away it has %v", names)
		}
		w.create(report)
		w.server.fail("", nil)
		time.Sleep(2 * late)
		if names := w.names(); len(names) != 2 || len(w.Notes()) > 0 {
			t.Errorf("back it has %v and notes %q", names, w.Notes())
		}
	})
}

// Viewers are told soon, but at most once a second whatever happens, and every 15 seconds if nothing does.
func TestChanges(t *testing.T) {
	inWorld(t, []string{backup}, func(t *testing.T, w *world) {
		w.begin()
		w.names()
		ctx, leave := context.WithCancel(t.Context())
		changes := w.Changes(ctx)
		count := func(d time.Duration) (told int) {
			until := time.After(d)
			for {
				select {
				case <-changes:
					told++
				case <-until:
					return told
				}
			}
		}
		count(time.Minute)
		if told := count(5 * time.Minute); told != 20 {
			t.Errorf("in 5 quiet minutes there were %d", told)
		}
		count(2 * time.Second) // between two of those
		began := time.Now()
		w.create(report)
		<-changes
		if took := time.Since(began); took > 100*time.Millisecond {
			t.Errorf("it was told after %v", took)
		}
		if all, err := w.Schedules(t.Context()); err != nil || len(all) != 2 {
			t.Errorf("it was told before it was known: %v, %v", all, err)
		}
		go func() {
			for n := range 500 {
				w.runs.put(activeRun{run.Run{UID: types.UID(fmt.Sprint(n))}, "other"})
				time.Sleep(20 * time.Millisecond)
			}
		}()
		if told := count(10 * time.Second); told < 9 || told > 11 {
			t.Errorf("with 50 changes a second it was told %d times in 10 s", told)
		}
		leave()
		synctest.Wait()
		for range changes { // what was left
		}
		if w.viewers.any() {
			t.Error("somebody still looks")
		}
	})
}

// The order is right whatever comes and goes.
func TestOrder(t *testing.T) {
	known := kind.Owners
	rapid.Check(t, func(t *rapid.T) {
		c := newSchedules(func() {})
		there := map[identity]types.UID{}
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				s := &workload.Scheduled{Kind: known[rapid.IntRange(0, len(known)-1).Draw(t, "kind")]}
				s.Owner.Namespace, s.Owner.Name = rapid.SampledFrom([]string{"a", "b", "ab"}).Draw(t, "namespace"), rapid.SampledFrom([]string{"a", "b", "c", "ab"}).Draw(t, "name")
				s.Owner.UID = types.UID(rapid.StringN(1, 8, 8).Draw(t, "uid"))
				for id, uid := range there {
					if uid == s.Owner.UID && id != identityOf(s) {
						return // a UID names one object
					}
				}
				c.put(s)
				there[identityOf(s)] = s.Owner.UID
			},
			"remove": func(t *rapid.T) {
				for id := range there {
					if rapid.Bool().Draw(t, "it") {
						c.remove(id)
						delete(there, id)
					}
				}
			},
			"keep": func(t *rapid.T) {
				info := known[rapid.IntRange(0, len(known)-1).Draw(t, "kind")].Info().Owner
				c.keepOnly(info.Group, info.Kind, nil)
				for id := range there {
					if id.group == info.Group && id.kind == info.Kind {
						delete(there, id)
					}
				}
			},
			"": func(t *rapid.T) {
				all := c.all()
				if len(all) != len(there) || !slices.IsSortedFunc(all, func(a, b *workload.Scheduled) int { return identityOf(a).compare(identityOf(b)) }) {
					t.Fatalf("%d of %d are in order", len(all), len(there))
				}
				for _, s := range all {
					if there[identityOf(s)] != s.Owner.UID || c.byUID(s.Owner.UID) != s {
						t.Fatalf("%v is another one", identityOf(s))
					}
				}
				if len(c.uids) != len(there) {
					t.Fatalf("%d UIDs of %d", len(c.uids), len(there))
				}
			},
		})
	})
}
