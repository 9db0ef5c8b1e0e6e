// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"context"
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/carillon-dev/carillon/internal/plan/quantity"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/words"
	"github.com/carillon-dev/carillon/internal/plan/workload"
	"github.com/carillon-dev/carillon/internal/ui/page"
)

var jobKind = batchv1.SchemeGroupVersion.WithKind("Job")

func askSuspend(ctx context.Context, r *request) (*confirmation, error) {
	c := &confirmation{Title: "Suspend " + r.live.GetName(), Button: "Suspend it", Refused: r.mayNot(ctx, "patch"), Command: r.patchCommand(`{"spec":{"suspend":true}}`)}
	if r.run != nil {
		return c, r.askSuspendRun(ctx, c)
	}
	s := r.scheduled
	if s.Policy.Suspend {
		c.Idle, c.Instead = "It is suspended already: nothing starts.", &link{"Resume it", r.act("resume")}
		return c, nil
	}
	if until := s.Policy.SuspendUntil; until != nil && until.After(r.now) {
		c.Warnings = append(c.Warnings, "It is suspended already, until "+r.short(*until)+". What you say here takes the place of that.")
	}
	active, retries := activeRuns(ctx, r.site, s), r.retries(s, "it still is")
	c.Will = append(r.waitingTimes(s, active), r.lostTimes(s)...)
	c.Will = append(c.Will, r.afterwards(s))
	if len(active) > 0 || len(retries) == 0 {
		c.Not = []string{goOn(active, r.now)}
	}
	c.Not = append(append(c.Not, retries...), "Nothing is deleted: its runs, their Pods and their output stay.", "It can still be started by hand.")
	if s.Policy.Retry.Limit > 0 {
		c.Not = append(c.Not, "Retries of runs that are active go on, too.")
	}
	c.Warnings = append(c.Warnings, setBack(r.live, "suspend")...)
	if s.Timetable() != nil {
		c.Until = &field{Name: "until", Label: "Until", Type: "datetime-local", Value: r.form.Get("until"),
			Hint: "It then resumes by itself, in your time zone (" + (&page.View{Now: r.now, Zone: r.zone}).ZoneName() + "). Empty: until somebody resumes it."}
		if _, fault := r.until(); fault != "" {
			c.Until.Fault = fault
		}
		c.Warnings = append(c.Warnings, setBackOnce(c.Warnings, setBack(r.live, "suspendUntil"))...)
	}
	return c, nil
}

// setBackOnce leaves out what is told already.
func setBackOnce(told, more []string) []string {
	var left []string
	for _, text := range more {
		if !strings.Contains(strings.Join(told, "\n"), text) {
			left = append(left, text)
		}
	}
	return left
}

// lostTimes says which times will not start.
func (r *request) lostTimes(s *workload.Scheduled) []string {
	if why := s.Obstacle(); why != "" {
		return []string{"Nothing starts now either, for another reason: " + why + "."}
	}
	const ahead = 24 * time.Hour
	next := s.FirstAfter(r.now)
	if next.IsZero() {
		return []string{"It has no time to come, so nothing changes but the field."}
	}
	text := fmt.Sprintf("The next time, %s, will not start, and none after it until it is resumed.", r.short(next))
	if s.Policy.Timing.Every == 0 {
		if n := s.Policy.Timing.Times.Count(r.now, r.now.Add(ahead)); n > 1 {
			text = fmt.Sprintf("%s in the next 24 hours will not start, the first at %s, and none after them until it is resumed.",
				quantity.CountGrouped(n, "time"), r.short(next))
		}
	}
	return []string{text}
}

// afterwards says what becomes of the times that pass while it is suspended.
func (r *request) afterwards(s *workload.Scheduled) string {
	if s.Timetable() != nil {
		if !s.Policy.CatchUpOnResume {
			return "When it is resumed nothing is made up: the times that passed count as skipped (onResume: Skip)."
		}
		return "When it is resumed the times that passed are made up as after an outage (onResume: CatchUp, catchUp: " + string(s.Policy.CatchUp.Policy) + ")."
	}
	if d := s.Policy.Deadline; d != nil {
		return "When it is resumed the latest time that passed starts at once, if it is less than " + words.Duration(time.Duration(*d)*time.Second) +
			" late then (startingDeadlineSeconds); earlier ones do not."
	}
	return "When it is resumed the latest time that passed starts at once, however late it is then; earlier ones do not."
}

// until is the instant at which a suspension is to end, zero for never; fault says what is wrong with what was typed.
func (r *request) until() (at time.Time, fault string) {
	text := r.form.Get("until")
	if text == "" {
		return time.Time{}, ""
	}
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02 15:04"} {
		at, err := time.ParseInLocation(layout, text, r.zone)
		switch {
		case err != nil:
			continue
		case !at.After(r.now):
			return time.Time{}, "That is not in the future."
		}
		return at, ""
	}
	return time.Time{}, "Write a date and a time, such as 2026-12-24T18:00."
}

func doSuspend(ctx context.Context, r *request) (done, error) {
	if r.run != nil {
		return r.suspendRun(ctx, true)
	}
	if r.scheduled.Policy.Suspend {
		return done{r.live.GetName() + " is suspended already.", r.url()}, nil
	}
	if at, fault := r.until(); fault == "" && !at.IsZero() && r.scheduled.Policy.SuspendUntil != nil && at.Equal(*r.scheduled.Policy.SuspendUntil) {
		return done{r.live.GetName() + " is suspended until then already.", r.url()}, nil
	}
	if err := r.unchanged(); err != nil {
		return done{}, err
	}
	spec, notice := map[string]any{"suspend": true}, "Suspended: "+r.live.GetName()+" starts nothing until it is resumed."
	if r.scheduled.Timetable() != nil {
		at, fault := r.until()
		switch {
		case fault != "":
			return done{}, errInput
		case !at.IsZero():
			spec = map[string]any{"suspend": nil, "suspendUntil": at.UTC().Format(time.RFC3339)}
			notice = fmt.Sprintf("Suspended: %s starts nothing until %s.", r.live.GetName(), r.short(at))
		default:
			spec["suspendUntil"] = nil
		}
	}
	return done{notice, r.url()}, r.send(ctx, map[string]any{"spec": spec})
}

func (r *request) patchCommand(change string) string {
	return fmt.Sprintf("%s -n %s patch %s %s --type merge -p '%s'", r.site.Kubectl, r.live.GetNamespace(), r.kindWord(), r.live.GetName(), change)
}

// askSuspendRun asks about a Job, whose Pods end until it is resumed.
func (r *request) askSuspendRun(ctx context.Context, c *confirmation) error {
	switch {
	case r.gvk != jobKind:
		c.Idle = "Only Jobs of batch/v1 can be suspended."
		return nil
	case r.run.Outcome.Ended():
		c.Idle = "It has ended: " + r.ended() + "."
		return nil
	case r.run.Suspended:
		c.Idle, c.Instead = "It is suspended already.", &link{"Resume it", r.act("resume")}
		return nil
	}
	pods, err := r.pods(ctx)
	if err != nil {
		return err
	}
	c.Will = []string{pods.end(), "The Job stays. When it is resumed it starts new Pods: what its Pods had not finished begins anew."}
	c.Not = []string{"The output of its Pods stays where a journal keeps it."}
	if r.owner != nil && r.owner.Policy.Room.Limit > 0 {
		c.Will = append(c.Will, r.heldBack())
	}
	if d, ok := numberAt(r.live, "spec", "activeDeadlineSeconds"); ok {
		c.Not = append(c.Not, fmt.Sprintf("Its time limit of %s does not run on: it counts anew when it is resumed.", words.Duration(time.Duration(d)*time.Second)))
	}
	return nil
}

// heldBack says what its schedule does while a Job of it is suspended.
func (r *request) heldBack() string {
	of := r.owner.Reference()
	switch byHand := r.run.Trigger == run.Manual; {
	case byHand && r.owner.Timetable() == nil:
		return "It was started by hand: while it is suspended " + of + " does not wait for it."
	case r.owner.Policy.Room.Stops && !byHand:
		return "The next time of " + of + " replaces it: then it is deleted, and cannot be resumed."
	case r.owner.Policy.Room.Limit > 1:
		return fmt.Sprintf("It still counts as active: while it is suspended %s has room for one run less.", of)
	}
	return "It still counts as active: while it is suspended " + of + " waits and starts nothing."
}

func (r *request) suspendRun(ctx context.Context, suspend bool) (done, error) {
	if r.gvk != jobKind || r.run.Outcome.Ended() {
		return done{}, errChanged
	}
	word := map[bool]string{true: "Suspended: the Pods of " + r.live.GetName() + " end.", false: "Resumed: " + r.live.GetName() + " starts its Pods."}[suspend]
	if now, _, _ := nestedBool(r.live, "spec", "suspend"); now == suspend {
		return done{word, r.url()}, nil
	}
	if err := r.unchanged(); err != nil {
		return done{}, err
	}
	return done{word, r.url()}, r.send(ctx, map[string]any{"spec": map[string]any{"suspend": suspend}})
}
