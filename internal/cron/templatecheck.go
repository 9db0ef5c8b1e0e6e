// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import "time"

// What an object's template makes is tried once, before the first run needs it: a dry run of the create of the next
// child tells a mistake when it is made, and not at three in the morning (timetable.md 3.9). It keeps nothing from
// starting, and no start waits for it. That something takes our owner reference off what is created, a webhook, a dry
// run tells too, or at last the first create; after that nothing is created until the object is changed (5.9).

// TemplateVerdict is what a dry run of a create has shown, in one word.
type TemplateVerdict string

const (
	// TemplateAccepted: the server would create the child as it is to be.
	TemplateAccepted TemplateVerdict = "accepted"
	// TemplateRejected: the server refuses the child whenever it is created.
	TemplateRejected TemplateVerdict = "rejected"
	// TemplateOwnerRemoved: the child would have no owner reference of ours.
	TemplateOwnerRemoved TemplateVerdict = "owner_removed"
	// TemplateUnjudged: the answer says nothing about the template, or there was none.
	TemplateUnjudged TemplateVerdict = "unjudged"
)

// TemplateVerdicts are all there are.
var TemplateVerdicts = []TemplateVerdict{TemplateAccepted, TemplateRejected, TemplateOwnerRemoved, TemplateUnjudged}

// TemplateCheckResult is the answer to Plan.CheckTemplate.
type TemplateCheckResult struct {
	Verdict TemplateVerdict
	// Message says, as the status is to hold it, why the server refuses the child, or what it leaves out of one that it
	// accepts; "" if there is nothing to say.
	Message string
}

// TemplateCheck is what is known of what an object's template makes. The zero TemplateCheck is nothing.
type TemplateCheck struct {
	// Template is the Policy.Template that a dry run has answered for, "" if none has. Rejected is why the server refuses
	// what it makes, "" if it does not.
	Template, Rejected string
	// LeftOut is what the server leaves out of what the template makes, because it does not know such fields; "" if nothing.
	LeftOut string
	// OwnerRemoved is the generation of the object at which our owner reference was taken off what it made, 0 if it was not.
	// Such an answer says nothing of the template.
	OwnerRemoved int64
}

// holds tells whether that is still so of the object as it is.
func (c TemplateCheck) holds(in *Input) bool {
	return c.Template != "" && c.Template == in.Policy.Template || c.removesOwner(in)
}

func (c TemplateCheck) removesOwner(in *Input) bool {
	return c.OwnerRemoved != 0 && c.OwnerRemoved == in.Owner.Generation
}

// templateCheck is what is known when a sync begins. What another process has found out and what was not written yet
// are as good as each other.
func (in *Input) templateCheck() TemplateCheck {
	for _, c := range []TemplateCheck{in.Carried.inProcess().template, in.Stored.outlook().Template} {
		if c.holds(in) {
			return c
		}
	}
	return TemplateCheck{}
}

const ownerRemovedText = "something removes the owner reference from what is created, so that nobody would count it or clean it up: look for an " +
	"admission webhook or a policy that does so, mend it, and then change the spec, since nothing is started before that"

// obstacle is what keeps the object from starting anything, or is wrong without doing that; nil if nothing is.
func (c TemplateCheck) obstacle(in *Input) *Obstacle {
	events := &in.Traits.Events
	switch {
	case c.removesOwner(in):
		return &Obstacle{Check: CheckChildKind, Misconfigured: CreateForbidden,
			Remark: Remark{Event: events.OwnerRemoved, Key: events.OwnerRemoved.Reason, Message: ownerRemovedText}}
	case c.Rejected != "" && c.holds(in):
		return &Obstacle{Misconfigured: InvalidTemplate,
			Remark: Remark{Event: events.TemplateRejected, Key: events.TemplateRejected.Reason, Message: c.Rejected}}
	}
	return nil
}

// recheckTemplate is how long after a dry run that gave no verdict the next one follows (timetable.md 3.9).
const recheckTemplate = 10 * time.Minute

// unjudgedTemplate is a template of which a dry run has told nothing, and when that was.
type unjudgedTemplate struct {
	template string
	at       time.Time
}

// until is when it is to be tried again, zero if that is now.
func (u unjudgedTemplate) until(in *Input) time.Time {
	if u.template == "" || u.template != in.Policy.Template || in.Now.Sub(u.at).Abs() >= recheckTemplate {
		return time.Time{}
	}
	return u.at.Add(recheckTemplate).UTC()
}

// learnTemplate finds what is known of the template at the end of this sync. What the sync has found out itself keeps
// nothing from starting that it has decided to start.
func (s *syncState) learnTemplate() {
	in := s.in
	s.template = in.templateCheck()
	if u := in.Carried.inProcess().unjudged; !u.until(in).IsZero() {
		s.unjudged = u
	}
	if r := in.done.templateCheck; r != nil {
		s.unjudged = unjudgedTemplate{}
		switch r.Verdict {
		case TemplateAccepted:
			s.template = TemplateCheck{Template: in.Policy.Template, LeftOut: r.Message}
			if r.Message != "" {
				s.ready.events = append(s.ready.events, in.Traits.Events.FieldsLeftOut.event(dedupKey("left out", in.Policy.Template), "%s", r.Message))
			}
		case TemplateRejected:
			s.template = TemplateCheck{Template: in.Policy.Template, Rejected: r.Message}
		case TemplateOwnerRemoved:
			s.template = TemplateCheck{OwnerRemoved: in.Owner.Generation}
		default:
			s.unjudged = unjudgedTemplate{template: in.Policy.Template, at: in.Now.UTC()}
		}
	}
	if s.ownerRemoved {
		s.template = TemplateCheck{OwnerRemoved: in.Owner.Generation}
	}
	if o := s.template.obstacle(in); o != nil && (s.ready.obstacle == nil || s.ready.obstacle.Check == 0) {
		if s.ready.obstacle == nil || s.ready.obstacle.Key != o.Key {
			s.ready.events = append(s.ready.events, o.event(in, false))
		}
		s.ready.obstacle = o
	}
	s.learnFromChildren()
	// The status tells why a template is rejected by the one obstacle that it names, and what is left out of what it makes
	// where it names none. If it does not, the next process tries the template again.
	now := s.status.outlook()
	now.Template = s.template
	if o := s.template.obstacle(in); o != nil && s.ready.obstacle.Key != o.Key || s.template.LeftOut != "" && s.ready.obstacle != nil {
		now.Template = TemplateCheck{}
	}
	if now.Template != s.status.outlook().Template {
		s.status.Outlook = new(now)
	}
}

// learnFromChildren finds what children have shown to be wrong with the spec, where nothing else is: the event is that of
// the child (Child.Remark).
func (s *syncState) learnFromChildren() {
	if s.ready.obstacle != nil || s.in.Owner.Deleting {
		return
	}
	for i := range s.children {
		if o := s.children[i].Obstacle; o != nil && !s.children[i].Gone {
			s.ready.obstacle = o
			return
		}
	}
}

// templateToCheck is the create that a dry run is to be made of: that of the next run. Nil if there is nothing to find
// out. at is when there will be, zero if nobody knows.
func (s *syncState) templateToCheck() (check *Start, at time.Time) {
	in := s.in
	stops := func(o *Obstacle) bool { return o != nil && o.Check == CheckChildKind }
	switch {
	case in.Policy.Template == "", in.Owner.Deleting, s.template.holds(in), stops(s.ready.obstacle):
		return nil, time.Time{}
	case in.Policy.Timing.Obstacle != nil, stops(in.ChildObstacle): // to be mended first
		return nil, time.Time{}
	case in.done.templateCheck != nil && s.unjudged.template == "":
		return nil, time.Time{}
	}
	if at := s.unjudged.until(in); !at.IsZero() {
		return nil, at
	}
	next := orNone(in.Policy.Timing.Times).Next(in.Now)
	if next.IsZero() {
		return nil, time.Time{}
	}
	next = next.UTC()
	name := childName(in, next)
	return &Start{Name: name, Run: name, Attempt: 1, Trigger: TriggerSchedule, Time: next, Stamp: stamp(in, next)}, time.Time{}
}

// templateToCarry is what of it the server does not know.
func (s *syncState) templateToCarry() TemplateCheck {
	in := s.in
	written := in.done.record != nil && in.done.record.err == nil && s.status.outlook().Template == s.template
	if written || in.Stored.outlook().Template == s.template {
		return TemplateCheck{}
	}
	return s.template
}
