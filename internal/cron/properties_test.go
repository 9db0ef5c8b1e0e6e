// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
)

// Everything that users and broken clients can put into an object: good values, odd ones and garbage.
var (
	schedules = rapid.SampledFrom([]string{"* * * * *", "*/10 * * * *", "0 3 * * *", "30 1 * * *", "0 0 30 2 *", "0 0 29 2 *",
		"@every 20s", "@every 45m", "@every 24h", "TZ=UTC", "TZ=Asia/Tokyo 0 6 * * *", "nonsense", "", "61 * * * *", "0 , * * *", "@daily"})
	zones    = rapid.SampledFrom([]string{"", "UTC", "Europe/Berlin", "America/New_York", "Mars/Olympus", "../etc"})
	stamps   = rapid.SampledFrom([]string{"", "soon", "2026-05-04T12:10:00Z", "2026-05-04T14:20:00+02:00", "9999-12-31T23:59:59Z", "0000-01-01T00:00:00Z"})
	names    = rapid.SampledFrom([]string{"", "tick-29631610", "tick-29631620", "tick-1777896600", "by-hand", "a", "b"})
	uids     = rapid.SampledFrom([]types.UID{"", "u1", "u2", "u3", "u4", "u5"})
	instants = rapid.Custom(func(t *rapid.T) time.Time {
		switch rapid.IntRange(0, 9).Draw(t, "era") {
		case 0:
			return time.Time{}
		case 1:
			return time.Unix(rapid.Int64Range(-62135596800, 253402300799).Draw(t, "unix"), rapid.Int64Range(0, 999999999).Draw(t, "nanos"))
		default:
			return at("12:00:00").Add(time.Duration(rapid.Int64Range(-int64(30*time.Hour), int64(30*time.Hour)).Draw(t, "offset")))
		}
	})
	failures = rapid.SampledFrom([]error{nil, nil, nil, broken, conflict, quota, goingOut, notFound,
		apierrors.NewAlreadyExists(jobs, "tick"), errors.New("odd")})
)

func maybe[T any](g *rapid.Generator[T]) *rapid.Generator[*T] {
	return rapid.Custom(func(t *rapid.T) *T {
		if rapid.Bool().Draw(t, "absent") {
			return nil
		}
		return new(g.Draw(t, "value"))
	})
}

func children(tr *cron.KindTraits) *rapid.Generator[cron.Child] {
	return rapid.Custom(func(t *rapid.T) cron.Child {
		c := cron.Child{
			APIVersion: "batch/v1", Kind: "Job", Namespace: "batch",
			Name:         names.Draw(t, "name"),
			UID:          uids.Draw(t, "uid"),
			Created:      instants.Draw(t, "created"),
			Deleting:     rapid.Bool().Draw(t, "deleting"),
			Stopped:      rapid.Bool().Draw(t, "stopped"),
			FailedByStop: rapid.Bool().Draw(t, "failed by that"),
			Started:      maybe(instants).Draw(t, "started"),
			Stamp:        stamps.Draw(t, "stamp"),
			Phase:        cron.ChildPhase(rapid.IntRange(-1, 3).Draw(t, "phase")),
			Succeeded:    rapid.Bool().Draw(t, "succeeded"),
			Finished:     maybe(instants).Draw(t, "finished"),
			Status:       rapid.SampledFrom([]string{"", "Aborted"}).Draw(t, "status"),
		}
		if rapid.IntRange(0, 4).Draw(t, "controlled") > 0 {
			c.Controller = &metav1.OwnerReference{
				APIVersion: rapid.SampledFrom([]string{tr.Group + "/v1", tr.Group + "/v2", "a/b/c", ""}).Draw(t, "apiVersion"),
				Kind:       rapid.SampledFrom([]string{tr.Kind, "Other"}).Draw(t, "kind"),
				Name:       "tick",
				UID:        rapid.SampledFrom([]types.UID{"cj-1", "cj-1", "cj-1", "cj-0", ""}).Draw(t, "owner"),
			}
		}
		return c
	})
}

var limitsDrawn = maybe(rapid.SampledFrom([]int32{0, 1, 3, -1, math.MaxInt32, math.MinInt32}))

var processZones = rapid.SampledFrom([]*time.Location{nil, time.UTC, time.FixedZone("odd", 20700)})

func policies(t *rapid.T, tr *cron.KindTraits) cron.Policy {
	return cron.Policy{
		Timing: adapter.CronTiming(schedules.Draw(t, "schedule"), maybe(zones).Draw(t, "zone"), adapter.Info{Traits: tr},
			adapter.ReadOptions{Zone: processZones.Draw(t, "process zone")}),
		Deadline: maybe(rapid.SampledFrom([]int64{0, 1, 60, 900, 86400, 9223372037, math.MaxInt64, -1, math.MinInt64})).Draw(t, "deadline"),
		Room: adapter.Room(rapid.SampledFrom([]batchv1.ConcurrencyPolicy{batchv1.AllowConcurrent, batchv1.ForbidConcurrent,
			batchv1.ReplaceConcurrent, "Sometimes", ""}).Draw(t, "policy")),
		Suspend:   rapid.IntRange(0, 5).Draw(t, "suspend") == 0,
		Succeeded: cron.Retention{Limit: limitsDrawn.Draw(t, "keep successful")},
		Failed:    cron.Retention{Limit: limitsDrawn.Draw(t, "keep failed")},
	}
}

func states(t *rapid.T, tr *cron.KindTraits) cron.Memory {
	refs := rapid.Custom(func(t *rapid.T) cron.ActiveRun {
		return cron.ActiveRun{ObjectReference: corev1.ObjectReference{APIVersion: "batch/v1", Kind: "Job", Name: names.Draw(t, "name"), UID: uids.Draw(t, "uid"),
			Namespace: rapid.SampledFrom([]string{"batch", "batch", "", "other"}).Draw(t, "namespace")}}
	})
	return cron.Memory{
		Active:         rapid.SliceOfN(refs, 0, 4).Draw(t, "active"),
		LastSchedule:   maybe(instants).Draw(t, "last"),
		LastSuccessful: maybe(instants).Draw(t, "success"),
		Timing:         servedTimings(t, tr),
	}
}

var timetables = rapid.SampledFrom([]string{"", "garbage", `{}`, `{"schedules":null}`, `{"schedules":["*/10 * * * *"]}`,
	`{"schedules":["0 3 * * *"],"since":"2026-05-04T12:03:04.5Z"}`, `{"schedules":["* * * * *"],"timeZone":"UTC","since":"2999-01-01T00:00:00Z"}`})

func servedTimings(t *rapid.T, tr *cron.KindTraits) cron.ServedTiming {
	return adapter.ServedTiming(timetables.Draw(t, "timetable"), cron.Timing{}, adapter.Info{Traits: tr}, adapter.ReadOptions{})
}

func inputs(t *rapid.T) cron.Input {
	kind := rapid.SampledFrom([]string{"K", "V", "T"}).Draw(t, "kind")
	return cron.Input{
		Now:    instants.Draw(t, "now"),
		Traits: traits[kind],
		Owner: cron.Owner{Namespace: "batch", Name: "tick", UID: rapid.SampledFrom([]types.UID{"cj-1", "cj-1", ""}).Draw(t, "uid"),
			Generation: rapid.Int64Range(0, 3).Draw(t, "generation"), Created: instants.Draw(t, "created"),
			Deleting: rapid.IntRange(0, 5).Draw(t, "deleting") == 0, ScheduleUnchangedSince: instants.Draw(t, "touched")},
		Policy:   policies(t, traits[kind]),
		Stored:   states(t, traits[kind]),
		Children: rapid.SliceOfN(children(traits[kind]), 0, 6).Draw(t, "children"),
		Carried:  cron.CarriedFrom(servedTimings(t, traits[kind])),
	}
}

// Whatever an object holds and whatever the server answers: the sync ends, without a panic; it starts at most once, at
// a time that is due, after any edit that it knows of, and never beside an unfinished child under Forbid; it wakes in
// the future; it deletes only what is its own; and the same input gives the same plan.
func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := inputs(t)
		starts := 0
		for round := 0; ; round++ {
			if round == maxRounds {
				t.Fatalf("no end after %d rounds", round)
			}
			plan := decideTwice(t, in)
			checkPlan(t, in, plan)
			switch plan.NextStep() {
			case cron.StepRead:
				for _, l := range plan.Read {
					answer(t, &in, l)
				}
			case cron.StepStop:
				for _, s := range plan.Stop {
					in.AddStopResult(s, failures.Draw(t, "stop"))
				}
			case cron.StepStart:
				if starts += len(plan.Starts); starts > 1 {
					t.Fatalf("a second start in one sync: %v", plan.Starts)
				}
				if err := failures.Draw(t, "create"); err != nil {
					in.AddStartResult(plan.Starts[0], cron.CreateResultOf(nil, err))
				} else {
					c := children(in.Traits).Draw(t, "created")
					in.AddStartResult(plan.Starts[0], cron.CreateResultOf(&c, nil))
				}
			case cron.StepWriteStatus:
				in.AddStatusWriteResult(failures.Draw(t, "record"))
			case cron.StepPrune:
				for _, s := range plan.Prune {
					in.AddPruneResult(s, failures.Draw(t, "prune"))
				}
			default:
				return
			}
		}
	})
}

func answer(t *rapid.T, in *cron.Input, l cron.ReadRequest) {
	err := failures.Draw(t, "look")
	switch {
	case l.Owner && err == nil && rapid.Bool().Draw(t, "owner changed"):
		in.AddReadOwnerResult(in.Owner, policies(t, in.Traits), states(t, in.Traits), nil)
	case l.Owner:
		in.AddReadOwnerResult(in.Owner, in.Policy, in.Stored, err)
	case err != nil:
		in.AddReadChildResult(l, nil, err)
	default:
		c := maybe(children(in.Traits)).Draw(t, "live")
		if c != nil {
			c.Name = l.Name
		}
		in.AddReadChildResult(l, c, nil)
	}
}

// decideTwice also turns the children around, and checks that the input is left alone.
func decideTwice(t *rapid.T, in cron.Input) cron.Plan {
	turned := in
	turned.Children = slices.Clone(in.Children)
	slices.Reverse(turned.Children)
	if distinct(in.Children) {
		if a, b := cron.Decide(in).String(), cron.Decide(turned).String(); a != b {
			t.Fatalf("the order of the children matters:\n%s\n%s", a, b)
		}
	}
	before := fmt.Sprintf("%+v", in)
	plan := cron.Decide(in)
	if after := fmt.Sprintf("%+v", in); after != before {
		t.Fatalf("Decide changed its input:\n%s\n%s", before, after)
	}
	if diff := cmp.Diff(plan, cron.Decide(in), cmp.Comparer(func(a, b error) bool {
		return fmt.Sprint(a) == fmt.Sprint(b)
	})); diff != "" {
		t.Fatalf("not deterministic:\n%s", diff)
	}
	return plan
}

func distinct(children []cron.Child) bool {
	seen := map[types.UID]bool{}
	for _, c := range children {
		if seen[c.UID] {
			return false
		}
		seen[c.UID] = true
	}
	return true
}

func checkPlan(t *rapid.T, in cron.Input, plan cron.Plan) {
	if !plan.Wake.IsZero() && !plan.Wake.After(in.Now) {
		t.Fatalf("now %v, wakes at %v", in.Now, plan.Wake)
	}
	if len(plan.Read) > 0 && (len(plan.Stop) > 0 || len(plan.Starts) > 0 || plan.StatusWrite != nil || len(plan.Prune) > 0) {
		t.Fatalf("a plan that looks does more:\n%s", plan)
	}
	own := func(uid types.UID) *cron.Child {
		for i, c := range in.Children {
			if c.UID == uid && in.Owner.UID != "" && c.Controller != nil && c.Controller.UID == in.Owner.UID && c.Controller.Kind == in.Traits.Kind &&
				strings.HasPrefix(c.Controller.APIVersion, in.Traits.Group+"/") {
				return &in.Children[i]
			}
		}
		return nil
	}
	for _, s := range plan.Prune {
		if s.UID == "" && in.Owner.UID == "" {
			t.Fatalf("prunes for an owner that does not exist: %v", s)
		}
	}
	for _, s := range plan.Starts {
		if s.Time.After(in.Now) || in.Owner.Deleting || in.Policy.Suspend {
			t.Fatalf("now %v: started what is not due:\n%s", in.Now, plan)
		}
		if d := in.Policy.Deadline; d != nil && *d < 1e9 && !s.Time.After(in.Now.Add(-time.Duration(*d)*time.Second)) {
			t.Fatalf("now %v: started beyond the deadline:\n%s", in.Now, plan)
		}
		if in.Stored.LastSchedule != nil && !s.Time.After(*in.Stored.LastSchedule) {
			t.Fatalf("last %v: started again:\n%s", in.Stored.LastSchedule, plan)
		}
		if in.Stored.Timing.Since != nil && in.Stored.Timing.Since.Equal(at("12:03:04.5")) && !s.Time.After(at("12:03:04.5")) && in.Now.After(at("12:00").Add(-23*time.Hour)) {
			t.Fatalf("started for a time before the edit:\n%s", plan)
		}
		if in.Policy.Room.Limit > 0 && !in.Policy.Room.Stops {
			for _, c := range in.Children {
				if c.Phase != cron.Complete && c.Phase != cron.Failed && own(c.UID) != nil && distinct(in.Children) {
					t.Fatalf("Forbid, but %s is unfinished:\n%s", c.Name, plan)
				}
			}
		}
	}
	if r := plan.StatusWrite; r != nil {
		if backwards(in.Stored.LastSchedule, r.Memory.LastSchedule) || backwards(in.Stored.LastSuccessful, r.Memory.LastSuccessful) {
			t.Fatalf("a recorded time goes back:\n%s", plan)
		}
	}
	for _, n := range plan.Events {
		if n.Reason == "" || n.Message == "" || n.Type != corev1.EventTypeNormal && n.Type != corev1.EventTypeWarning {
			t.Fatalf("an empty note: %+v", n)
		}
		if n.Type == corev1.EventTypeWarning && n.DedupKey == "" {
			t.Fatalf("a warning without a key repeats in every sync: %+v", n)
		}
	}
}

func backwards(from, to *time.Time) bool {
	return from != nil && (to == nil || to.Before(*from))
}

// No bytes that a user may put into the text fields make Decide panic, and none makes it start for a time that is not
// due.
func FuzzDecide(f *testing.F) {
	f.Add("*/10 * * * *", "Europe/Rome", `{"schedules":["0 3 * * *"],"since":"2026-05-04T12:00:00Z"}`, "2026-05-04T12:00:00Z", "tick-29631600", int64(60))
	f.Add("TZ=UTC", "", "{", "soon", "", int64(-1))
	f.Add("@every 1s", "Local", `{"schedules":[""]}`, "9999-12-31T23:59:59+14:00", "tick-0", int64(math.MaxInt64))
	f.Fuzz(func(t *testing.T, text, tz, timetable, stamp, name string, seconds int64) {
		for _, kind := range []string{"K", "V", "T"} {
			s := fixture(kind, "12:10:00", schedule(text), noted(timetable), deadline(seconds),
				has("12:00", stamped(stamp), named(name)), listed("12:00", named(name+"x")))
			if tz != "" {
				zone(tz)(s)
			}
			in := s.in
			in.AddReadOwnerResult(in.Owner, in.Policy, in.Stored, nil)
			plan := cron.Decide(in)
			for _, l := range plan.Read {
				in.AddReadChildResult(l, nil, nil)
			}
			plan = cron.Decide(in)
			if !plan.Wake.IsZero() && !plan.Wake.After(in.Now) {
				t.Fatalf("wakes in the past:\n%s", plan)
			}
			if len(plan.Starts) > 0 && plan.Starts[0].Time.After(in.Now) {
				t.Fatalf("starts early:\n%s", plan)
			}
		}
	})
}

// The zero input decides nothing, and a kind without traits is silent.
func TestNothing(t *testing.T) {
	if got := cron.Decide(cron.Input{}).String(); got != "rest\n" {
		t.Errorf("got %q", got)
	}
}
