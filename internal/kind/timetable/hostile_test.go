// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/kind/timetable"
)

// No Timetable, and no child of one, makes a pass panic, or writes a status that is too large (TG8, TT-211).
func FuzzPass(f *testing.F) {
	for _, seed := range []struct{ spec, status, annotation string }{
		{`{"schedules":[{"cron":"*/10 * * * *"}],"template":{"spec":{}}}`, `{}`, "2026-05-04T12:10:00Z"},
		{`{"schedules":[{"every":"10s"},{"at":["2026-05-04T12:10"]}],"catchUp":{"policy":"All"},"template":{"spec":{}}}`, `{"ledger":[{"scheduledTime":"2026-05-04T12:00:00Z","result":"Missed","count":-1}]}`, "x"},
		{`{"schedules":[{"cron":"H H L * 5#2"}],"timeZone":"Mars","jitter":"5m","exclude":[{"period":"02-29"},{"calendar":"c"},{}],"template":{"spec":7}}`, `{"cursor":7,"waiting":[{}]}`, ""},
		{`{"schedules":[],"concurrency":{"policy":"Replace","limit":-1},"history":{"ledger":-1},"startingDeadline":"x","template":{"kind":"Pod","apiVersion":"v1"}}`,
			`{"cursor":"9999-12-31T23:59:59Z","active":[{"name":"a","scheduledTime":"0001-01-01T00:00:00Z","attempt":-1}]}`, "9999-12-31T23:59:59Z"},
		{`7`, `[]`, ""},
	} {
		f.Add(seed.spec, seed.status, seed.annotation)
	}
	f.Fuzz(func(t *testing.T, spec, status, annotation string) {
		tt := &timetable.Object{}
		whole := fmt.Sprintf(`{"metadata":{"name":"tick","namespace":"ops","uid":"u1","creationTimestamp":"2026-05-04T12:03:20Z"},"spec":%s,"status":%s}`, spec, status)
		if json.Unmarshal([]byte(whole), tt) != nil {
			t.Skip("no JSON")
		}
		owner, policy, memory, err := worldKind.Read(tt, adapter.ReadOptions{})
		if err != nil {
			return
		}
		child := &unstructured.Unstructured{Object: map[string]any{"status": status}}
		child.SetAnnotations(map[string]string{"carillon.dev/scheduled-time": annotation, "carillon.dev/attempt": annotation})
		in := cron.Input{Now: policyNow, Traits: worldKind.Info().Traits, Owner: owner, Policy: policy, Stored: memory}
		for _, kind := range worldKind.ChildKinds(tt) {
			read, err := worldKind.ReadChild(child, kind, tt)
			if err != nil {
				t.Fatal(err)
			}
			in.Children = append(in.Children, read)
		}
		plan := cron.Decide(in)
		for _, start := range plan.Starts {
			_, err := worldKind.Build(tt, adapter.Start{Start: start, Timing: policy.Timing, Memory: memory})
			in.AddStartResult(start, cron.CreateResultOf(nil, err))
		}
		if plan = cron.Decide(in); plan.StatusWrite == nil {
			return
		}
		patches, err := worldKind.Patches(tt, *plan.StatusWrite)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range patches {
			if len(p.Data) > 200<<10 {
				t.Errorf("a patch of %d bytes", len(p.Data))
			}
		}
	})
}

// TT-207: what is too large is told, and starts nothing. Of an object that is too large with its variables replaced the
// time that waits tells.
func TestTooLargeScenarios(t *testing.T) {
	large := strings.Repeat("x", 300<<10)
	spec := `{parameters: [{name: p, default: "` + strings.Repeat("p", 256) + `"}], template: {spec: {x: "` + strings.Repeat("$(carillon.parameters.p)", 5000) + `"}}}`
	play(t, map[string]scenario{
		"TT-207 a template of 300 KiB": {spec: `{template: {spec: {x: "` + large + `"}}}`, steps: []step{{at: "12:30", want: "Ready False/InvalidTemplate\nA none\nW 12:30 NotReady since 12:10\nsay TimesMissed\nsay RunLate\nsay TimesMissed"}}},
		"TT-207 an object of more than 1 MiB": {spec: spec, steps: []step{{at: "12:10", want: "Ready False/InvalidTemplate\nA none\nW 12:10 NotReady"},
			{at: "12:15", given: []given{edited("{parameters: [{name: p, default: p}]}")}, want: "Ready True/Accepted\ncreate @12:10\nsay RunStarted"}}},
	})
}

// TT-127: a schedule whose hours are not named keeps its distance when the clock changes.
func TestChangesOfTheClock(t *testing.T) {
	w := newWorld(t, `{timeZone: Europe/Berlin, schedules: [{name: main, cron: "*/15 * * * *"}]}`)
	set := (&history{world: w}).times()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for day, want := range map[time.Time]int{
		time.Date(2026, 10, 25, 0, 0, 0, 0, berlin): 100,
		time.Date(2026, 3, 29, 0, 0, 0, 0, berlin):  92,
	} {
		if got := set.Count(day.Add(-1), day.AddDate(0, 0, 1).Add(-1)); got != want {
			t.Errorf("%d times on %s, want %d", got, day.Format(time.DateOnly), want)
		}
	}
}
