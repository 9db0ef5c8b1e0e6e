// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
	"github.com/carillon-dev/carillon/internal/plan/simulation"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// resumption is what a resume has to change.
type resumption struct {
	// suspended: the spec says so; paused: too many runs in a row have failed.
	suspended, paused bool
}

func resumptionOf(s *workload.Scheduled, now time.Time) resumption {
	until := s.Policy.SuspendUntil
	return resumption{suspended: s.Policy.Suspend || until != nil && until.After(now), paused: s.Unreadable == nil && s.Paused()}
}

// change is the patch.
func (p resumption) change(s *workload.Scheduled, now time.Time) map[string]any {
	change := map[string]any{}
	switch {
	case p.suspended && s.Timetable() != nil:
		change["spec"] = map[string]any{"suspend": nil, "suspendUntil": nil}
	case p.suspended:
		change["spec"] = map[string]any{"suspend": false}
	}
	if p.paused {
		change["metadata"] = map[string]any{"annotations": map[string]any{v1alpha1.AnnotationResume: now.UTC().Format(time.RFC3339)}}
	}
	return change
}

func askResume(ctx context.Context, r *request) (*confirmation, error) {
	c := &confirmation{Title: "Resume " + r.live.GetName(), Button: "Resume it", Refused: r.mayNot(ctx, "patch")}
	if r.run != nil {
		suspended, _, _ := nestedBool(r.live, "spec", "suspend")
		switch {
		case r.gvk != jobKind:
			c.Idle = "Only Jobs of batch/v1 can be resumed."
		case r.run.Outcome.Ended():
			c.Idle = "It has ended: " + r.ended() + "."
		case !suspended:
			c.Idle = "It is not suspended: it runs."
		}
		c.Will = []string{"The Job starts its Pods, anew where they had not finished."}
		c.Command = r.patchCommand(`{"spec":{"suspend":false}}`)
		return c, nil
	}
	p := resumptionOf(r.scheduled, r.now)
	if !p.suspended && !p.paused {
		c.Idle, c.Instead = "It is neither suspended nor paused: it starts as its schedule says.", &link{"Suspend it", r.act("suspend")}
		return c, nil
	}
	after, err := edited(ctx, r, p.change(r.scheduled, r.now))
	if err != nil {
		return nil, err
	}
	c.Will = append(atOnce(after, nil, r), r.nextTime(after))
	if p.paused {
		c.Will = append(c.Will, fmt.Sprintf("It was paused because runs in a row had failed. It pauses again after %s more.", quantity.Count(r.scheduled.Policy.PauseAfterFailures, "failure")))
	}
	c.Not = []string{goOn(activeRuns(ctx, r.site, r.scheduled), r.now)}
	if p.suspended {
		c.Warnings = setBack(r.live, "suspend", "suspendUntil")
		c.Command = r.patchCommand(map[bool]string{false: `{"spec":{"suspend":false}}`, true: `{"spec":{"suspend":null,"suspendUntil":null}}`}[r.scheduled.Timetable() != nil])
	}
	return c, nil
}

func doResume(ctx context.Context, r *request) (done, error) {
	if r.run != nil {
		return r.suspendRun(ctx, false)
	}
	p := resumptionOf(r.scheduled, r.now)
	if !p.suspended && !p.paused {
		return done{r.live.GetName() + " is not suspended.", r.url()}, nil
	}
	if err := r.unchanged(); err != nil {
		return done{}, err
	}
	change := p.change(r.scheduled, r.now)
	after, err := edited(ctx, r, change)
	if err != nil {
		return done{}, err
	}
	return done{"Resumed: " + r.live.GetName() + ". " + r.nextTime(after), r.url()}, r.send(ctx, change)
}

// edited is the schedule after a merge patch.
func edited(ctx context.Context, r *request, change map[string]any) (*workload.Scheduled, error) {
	after := r.live.DeepCopy()
	merge(after.Object, change)
	return readScheduled(ctx, r.server, after)
}

// merge applies a merge patch (RFC 7386).
func merge(to, change map[string]any) {
	for key, value := range change {
		switch v := value.(type) {
		case nil:
			delete(to, key)
		case map[string]any:
			below, ok := to[key].(map[string]any)
			if !ok {
				below = map[string]any{}
				to[key] = below
			}
			merge(below, v)
		default:
			to[key] = v
		}
	}
}

// nextTime says when it starts next.
func (r *request) nextTime(s *workload.Scheduled) string {
	if why := s.Obstacle(); why != "" {
		return "But nothing can start, for another reason: " + why + "."
	}
	next := s.FirstAfter(r.now)
	if next.IsZero() {
		return "It has no time to come."
	}
	return "The next time is " + r.short(next) + "."
}

// atOnce says which scheduled times that have passed would start, wait or be given up if an object were as after says
// from now on, as the decisions of the controller have it. edits are what changes right after now; nil if after is all.
func atOnce(after *workload.Scheduled, edits []simulation.Edit, r *request) []string {
	if after.Hindrance() != "" {
		return nil
	}
	const soon = 2 * time.Second
	result := simulation.Simulate(after, simulation.Options{
		From: r.now.Truncate(time.Second), To: r.now.Truncate(time.Second).Add(soon), KeepStatus: true, Edits: edits,
		Model: simulation.Model{Durations: simulation.Constant(24 * time.Hour)},
	})
	var told, times []string
	for _, run := range result.Runs {
		if !run.Started.Before(result.Span.From) && !run.Scheduled.After(r.now) {
			times = append(times, r.short(run.Scheduled))
		}
	}
	switch len(times) {
	case 0:
		told = append(told, "No time that has passed starts.")
	case 1:
		told = append(told, "The time of "+times[0]+", which has passed, starts at once.")
	default:
		told = append(told, upper(quantity.CountGrouped(len(times), "time"))+" that have passed start at once, as far as there is room: "+list(times)+".")
	}
	for _, w := range result.Waiting {
		told = append(told, fmt.Sprintf("The time of %s waits: %s.", r.short(w.Scheduled), simulation.ReasonText(w.Reason)))
	}
	if edits != nil { // those that the new timing names before it was there concern nobody
		return told
	}
	total, first, last := 0, time.Time{}, time.Time{}
	for _, n := range result.NotStarted {
		total += n.Count
		if first.IsZero() || n.First.Before(first) {
			first = n.First
		}
		if n.Last.After(last) {
			last = n.Last
		}
	}
	if total > 0 {
		span := r.short(first)
		if total > 1 {
			span += " to " + r.short(last)
		}
		told = append(told, fmt.Sprintf("%s that passed (%s) will never start.", quantity.CountGrouped(total, "time"), span))
	}
	return told
}

func nestedBool(o *unstructured.Unstructured, path ...string) (bool, bool, error) {
	return unstructured.NestedBool(o.Object, path...)
}

// numberAt is a whole number of an object.
func numberAt(o *unstructured.Unstructured, path ...string) (int64, bool) {
	value, _, _ := unstructured.NestedFieldNoCopy(o.Object, path...)
	switch n := value.(type) {
	case int64:
		return n, true
	case float64: // of a decoder that knows no other numbers
		return int64(n), true
	}
	return 0, false
}
