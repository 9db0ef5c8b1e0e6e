// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package integration

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/carillon-dev/carillon/internal/testkit/vectors"
)

// timetablesUnderLoad is how many Timetables are due each second in TestKilledManagers. Beside the other tests the API
// server has to answer the requests of that many runs a second, and those of the times that passed without a leader.
const timetablesUnderLoad = 5

// Two managers are killed in turn while Timetables are due each second. Whoever leads next catches up: each time has
// one Job, made once, and none is left out (TG1, TG3).
//
// CARILLON_MANAGER_KILLS says how often, twice if it is not set.
func TestKilledManagers(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute by the wall clock: leases of processes")
	}
	kills := 2
	if n, err := strconv.Atoi(os.Getenv("CARILLON_MANAGER_KILLS")); err == nil {
		kills = n
	}
	w := newTimetableAPI(t)
	w.clock, w.patience = clocktesting.NewFakeClock(time.Now()), 8*time.Minute
	start := func() *process {
		return startProcessWith(w, []string{"--controllers", "timetable", "--timetable-min-interval", "1s"})
	}
	all := []*process{start()}
	all[0].readiness(http.StatusOK)
	for i := range timetablesUnderLoad {
		obj := w.here(vectors.Timetable(t), fmt.Sprintf("t%d", i))
		spec := obj.Object["spec"].(map[string]any)
		spec["schedules"] = []any{map[string]any{"cron": "* * * * * *"}}
		spec["concurrency"] = map[string]any{"policy": "Allow"} // nobody ends these Jobs
		spec["catchUp"] = map[string]any{"policy": "All", "limit": int64(100)}
		if _, err := w.objects(timetables).Create(t.Context(), obj, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	leader := all[0]
	standby := start()
	all = append(all, standby)
	for range kills {
		w.startsMore(leader, timetablesUnderLoad)
		leader.signal(syscall.SIGKILL)
		<-leader.ended
		leader = standby
		leader.readiness(http.StatusOK)
		standby = start() // not before: it could be the one that leads
		all = append(all, standby)
	}
	for i := range timetablesUnderLoad {
		w.eventually("everything is caught up", func(ctx context.Context) error {
			s, err := w.timetableStatus(ctx, fmt.Sprintf("t%d", i))
			if err == nil && (s.Cursor == nil || time.Since(s.Cursor.Time) > 5*time.Second || s.WaitingCount > 0) {
				err = fmt.Errorf("up to %v, %d wait", s.Cursor, s.WaitingCount)
			}
			return err
		})
	}
	leader.signal(syscall.SIGTERM)
	standby.signal(syscall.SIGTERM)
	<-leader.ended
	<-standby.ended

	made := map[string]int{}
	for _, each := range all {
		for _, name := range each.made() {
			if made[name]++; made[name] > 1 {
				t.Errorf("%s was made %d times", name, made[name])
			}
		}
	}
	for i := range timetablesUnderLoad {
		name := fmt.Sprintf("t%d", i)
		jobs, err := w.jobsLabelled(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		var times []time.Time
		for _, job := range jobs {
			at, err := time.Parse("20060102-150405", strings.TrimPrefix(job.Name, name+"-"))
			if err != nil {
				t.Fatal(err)
			}
			times = append(times, at)
		}
		slices.SortFunc(times, time.Time.Compare)
		if least := 15 * kills; len(times) < least { // a lease is at least that long
			t.Errorf("%s: %d runs, want %d at least", name, len(times), least)
		}
		for i := 1; i < len(times); i++ {
			if apart := times[i].Sub(times[i-1]); apart != time.Second {
				t.Errorf("%s: the run of %v follows that of %v", name, times[i], times[i-1])
			}
		}
		t.Logf("%s: %d runs", name, len(times))
	}
}

// startsMore waits until the process has made so many Jobs more.
func (w *world) startsMore(p *process, more int) {
	w.Helper()
	before := len(p.made())
	w.eventually("more starts", func(context.Context) error {
		if n := len(p.made()) - before; n < more {
			return fmt.Errorf("%d", n)
		}
		return nil
	})
}
