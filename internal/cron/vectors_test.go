// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
)

// vector is one entry of docs/contract/cron-vectors.json; cronjob.md 3.9 describes the fields.
type vector struct {
	Name            string
	Schedule        string
	TimeZone        *string
	Creation        time.Time
	LastSchedule    *time.Time
	DeadlineSeconds *int64
	Now             time.Time
	ProcessTimeZone string
	Expect          struct {
		MostRecent                  *string
		ExactMostRecent             *string
		MissedClass                 string
		NextRequeueNanos            int64
		NextRequeueAfterStartNanos  *int64
		Earliest                    time.Time
		Unsatisfiable               bool
		MostRecentIgnoringDeadline  *string
		MissedClassIgnoringDeadline string
		JobNameSuffix               json.Number
		ScheduledAnnotation         *string
		SecondsNameSuffix           json.Number
		Listing                     *struct {
			UnmetCount        *int
			LastMissed        *time.Time
			Next              *time.Time
			Error             *string
			SecondsNameSuffix json.Number
		}
	}
}

// pad is what upstream adds to every wake-up. Ours come at the scheduled time itself (decision B5), so every "rq" of
// the contract's vectors and scenarios is 0.1 s too long for us, here and in all tests of this package.
const pad = 100 * time.Millisecond

// exactClass are the vectors whose missed class upstream estimates wrongly, with the class of the true count (Q2).
var exactClass = map[string]string{
	"G02-estimate-overshoots-run-lost-many": "few", // 71 between Friday noon and 17:55
}

// The arithmetic of scheduled times agrees with every vector of the contract; where upstream's estimate loses a run,
// the exact answer counts (decision Q2).
func TestVectors(t *testing.T) {
	data, err := os.ReadFile("../../docs/contract/cron-vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []vector
	if err := json.Unmarshal(data, &vectors); err != nil {
		t.Fatal(err)
	}
	if len(vectors) != 88 {
		t.Fatalf("%d vectors, want the 88 of the contract", len(vectors))
	}
	for _, v := range vectors {
		t.Run("CJ-015 K "+v.Name, func(t *testing.T) { v.check(t) })
	}
}

func (v vector) check(t *testing.T) {
	zone, err := time.LoadLocation(v.ProcessTimeZone)
	if err != nil {
		t.Fatal(err)
	}
	traits := &cron.KindTraits{NameUnit: time.Minute, StartChecks: []cron.StartCheck{cron.CheckZoneLoads, cron.CheckNotSuspended, cron.CheckScheduleFires}}
	timing := adapter.CronTiming(v.Schedule, v.TimeZone, adapter.Info{Traits: traits}, adapter.ReadOptions{Zone: zone})
	in := cron.Input{
		Now:    v.Now,
		Traits: traits,
		Owner:  cron.Owner{Name: "tick", Created: v.Creation},
		Policy: cron.Policy{Timing: timing, Deadline: v.DeadlineSeconds},
		Stored: cron.Memory{LastSchedule: v.LastSchedule},
	}
	if want := v.Expect.Unsatisfiable; (timing.Times == nil) != want {
		t.Fatalf("times: %v, want unsatisfiable: %v", timing.Times, want)
	}
	if v.Expect.Unsatisfiable {
		return
	}

	latest, earliest, many := cron.Due(in)
	if !earliest.Equal(v.Expect.Earliest) {
		t.Errorf("earliest %v, want %v", earliest, v.Expect.Earliest)
	}
	exact := v.Expect.ExactMostRecent
	check(t, "due", due(latest), or(exact, v.Expect.MostRecent))
	v.checkMissed(t, "missed", timing.Times.Count(earliest, v.Now), many, v.Expect.MissedClass)

	patient := in
	patient.Policy.Deadline = nil
	latest2, earliest2, many2 := cron.Due(patient)
	check(t, "due ignoring the deadline", due(latest2), or(exact, v.Expect.MostRecentIgnoringDeadline))
	v.checkMissed(t, "missed ignoring the deadline", timing.Times.Count(earliest2, v.Now), many2, v.Expect.MissedClassIgnoringDeadline)

	check(t, "wake", cron.Wake(in, in.Stored).Sub(v.Now)+pad, time.Duration(v.Expect.NextRequeueNanos))
	if after := v.Expect.NextRequeueAfterStartNanos; after != nil {
		check(t, "wake after the start", cron.Wake(in, cron.Memory{LastSchedule: &latest}).Sub(v.Now)+pad, time.Duration(*after))
	}
	if suffix := v.Expect.JobNameSuffix; suffix != "" {
		check(t, "name", cron.ChildName(in, latest), "tick-"+suffix.String())
	}
	if want := v.Expect.ScheduledAnnotation; want != nil {
		check(t, "stamp", cron.Stamp(in, latest), *want)
	}
	if l := v.Expect.Listing; l != nil {
		n := timing.Times.Count(earliest, v.Now)
		switch {
		case l.Error != nil:
			check(t, "more than 100 are listed", n > cron.ManyMissed, true)
		case l.UnmetCount != nil:
			check(t, "listed", n, *l.UnmetCount)
		}
		if l.Error == nil && l.LastMissed != nil {
			check(t, "last listed", due(latest), due(*l.LastMissed))
			in.Traits = &cron.KindTraits{NameUnit: time.Second}
			check(t, "name in seconds", cron.ChildName(in, latest), "tick-"+l.SecondsNameSuffix.String())
		}
	}
}

// checkMissed compares how many times were missed with the class of the vector: none is at most one.
func (v vector) checkMissed(t *testing.T, what string, n int, many bool, want string) {
	t.Helper()
	if exact, ok := exactClass[v.Name]; ok {
		want = exact
	}
	got := "none"
	switch {
	case n > cron.ManyMissed:
		got = "many"
	case n > 1:
		got = "few"
	}
	check(t, what, got, want)
	check(t, what+": many", many, want == "many")
}

func due(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	s := t.UTC().Format(time.RFC3339)
	return &s
}

func or(a, b *string) *string {
	if a != nil {
		return a
	}
	if b != nil && strings.EqualFold(*b, "error") {
		return nil
	}
	return b
}

func check[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
