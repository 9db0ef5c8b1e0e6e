// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
)

// templateTraits are those of a kind whose status holds what is known of a template.
func templateTraits() *cron.KindTraits {
	traits := *general
	traits.Durable |= cron.PartTemplate
	traits.ChecksController = true
	traits.Events.TemplateRejected = cron.EventReason{Type: "Warning", Reason: "TemplateRejected"}
	traits.Events.OwnerRemoved = cron.EventReason{Type: "Warning", Reason: "OwnerRemoved"}
	return &traits
}

// A dry run is asked for once for each template, after the starts and before the status is written, unless there is
// something else to be mended first; one that gives no verdict is asked for again after ten minutes. What it tells is kept
// for as long as it is about the object as it is (timetable.md 3.9, 5.9).
func TestTemplateCheck(t *testing.T) {
	accepted, rejected := cron.TemplateCheckResult{Verdict: cron.TemplateAccepted}, cron.TemplateCheckResult{Verdict: cron.TemplateRejected, Message: "no"}
	removed, unjudged := cron.TemplateCheckResult{Verdict: cron.TemplateOwnerRemoved}, cron.TemplateCheckResult{Verdict: cron.TemplateUnjudged}
	type sync struct {
		after  time.Duration // since the one before
		given  func(*cron.Input)
		answer cron.TemplateCheckResult
		asks   bool
		// knows is what the status has then, and says are the events about it.
		knows cron.TemplateCheck
		says  string
		fails bool // the write
	}
	edit := func(template string) func(*cron.Input) {
		return func(in *cron.Input) { in.Owner.Generation++; in.Policy.Template = template }
	}
	is := cron.TemplateCheck{Template: "a"}
	for name, syncs := range map[string][]sync{
		"accepted":                {{asks: true, answer: accepted, knows: is}, {knows: is}},
		"rejected":                {{asks: true, answer: rejected, knows: cron.TemplateCheck{Template: "a", Rejected: "no"}, says: "TemplateRejected"}, {knows: cron.TemplateCheck{Template: "a", Rejected: "no"}, says: "TemplateRejected"}},
		"another template":        {{asks: true, answer: rejected, knows: cron.TemplateCheck{Template: "a", Rejected: "no"}, says: "TemplateRejected"}, {given: edit("b"), asks: true, answer: accepted, knows: cron.TemplateCheck{Template: "b"}}},
		"another spec":            {{asks: true, answer: accepted, knows: is}, {given: edit("a"), knows: is}},
		"owner removed":           {{asks: true, answer: removed, knows: cron.TemplateCheck{OwnerRemoved: 1}, says: "OwnerRemoved"}, {knows: cron.TemplateCheck{OwnerRemoved: 1}, says: "OwnerRemoved"}, {given: edit("a"), asks: true, answer: accepted, knows: is}},
		"no verdict":              {{asks: true, answer: unjudged}, {after: 10*time.Minute - 1}, {after: 1, asks: true, answer: accepted, knows: is}},
		"no verdict, edited":      {{asks: true, answer: unjudged}, {given: edit("b"), asks: true, answer: unjudged}, {after: time.Minute}},
		"the clock is set back":   {{asks: true, answer: unjudged}, {after: -time.Hour, asks: true, answer: unjudged}},
		"not written":             {{asks: true, answer: rejected, fails: true, says: "TemplateRejected"}, {knows: cron.TemplateCheck{Template: "a", Rejected: "no"}, says: "TemplateRejected"}},
		"no template":             {{given: edit("")}},
		"being deleted":           {{given: func(in *cron.Input) { in.Owner.Deleting = true }}},
		"suspended":               {{given: func(in *cron.Input) { in.Policy.Suspend = true }, asks: true, answer: accepted, knows: is}},
		"nothing is due any more": {{given: func(in *cron.Input) { in.Policy.Timing.Times = nil }}},
		"a timing to be mended":   {{given: func(in *cron.Input) { in.Policy.Timing.Obstacle = &cron.Obstacle{Check: cron.CheckScheduleFires} }}},
		"a kind to be granted":    {{given: func(in *cron.Input) { in.ChildObstacle = &cron.Obstacle{Check: cron.CheckChildKind} }}},
	} {
		t.Run(name, func(t *testing.T) {
			in := cron.Input{Now: at("12:05"), Traits: templateTraits(), Owner: cron.Owner{Namespace: "batch", Name: "tick", UID: "u", Generation: 1, Created: at("12:00")}}
			in.Policy = cron.Policy{Template: "a", Timing: adapter.CronTiming("0 13 * * *", nil, adapter.Info{Traits: in.Traits}, adapter.ReadOptions{})}
			for i, sync := range syncs {
				in.Now = in.Now.Add(sync.after)
				if sync.given != nil {
					sync.given(&in)
				}
				asked, plan := carryOut(t, in, sync.answer, sync.fails, &in.Stored)
				in.Carried = plan.Carried
				var knows cron.TemplateCheck
				if in.Stored.Outlook != nil {
					knows = in.Stored.Outlook.Template
				}
				if asked != sync.asks || knows != sync.knows {
					t.Errorf("sync %d: asked %v, the status has %+v", i+1, asked, knows)
				}
				says := ""
				if j := slices.IndexFunc(plan.Events, func(e cron.Event) bool { return e.Reason == "TemplateRejected" || e.Reason == "OwnerRemoved" }); j >= 0 {
					says = plan.Events[j].Reason
				}
				if says != sync.says {
					t.Errorf("sync %d: says %q", i+1, says)
				}
				if !plan.Wake.IsZero() && !plan.Wake.After(in.Now) {
					t.Errorf("sync %d: wakes at %s", i+1, plan.Wake)
				}
			}
		})
	}
}

// carryOut carries out a sync that starts nothing, and tells whether it asked for a dry run.
func carryOut(t *testing.T, in cron.Input, answer cron.TemplateCheckResult, writeFails bool, stored *cron.Memory) (asked bool, plan cron.Plan) {
	t.Helper()
	for range 9 {
		plan = cron.Decide(in)
		switch plan.NextStep() {
		case cron.StepCheckTemplate:
			if asked || !plan.CheckTemplate.Time.After(in.Now) {
				t.Errorf("asks for a dry run of %+v", plan.CheckTemplate)
			}
			asked = true
			in.AddTemplateCheckResult(answer)
		case cron.StepWriteStatus:
			if !writeFails {
				*stored = plan.StatusWrite.Memory
			}
			var err error
			if writeFails {
				err = errors.New("no")
			}
			in.AddStatusWriteResult(err)
		case cron.StepPublish:
			return asked, plan
		default:
			t.Fatalf("unexpected: %s", plan)
		}
	}
	t.Fatal("no end")
	return asked, plan
}
