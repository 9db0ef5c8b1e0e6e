// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Plan is what is left to do in this sync, in the order of the fields, if each step goes well. Every step carries its
// reason. A plan that asks for live reads asks for nothing else, because it depends on the answers.
type Plan struct {
	// Read: read these live, then decide again.
	Read []ReadRequest
	// Stop: delete these unfinished children, each with its UID as precondition. Independent of one another.
	Stop []Deletion
	// Starts: create these children, in this order. They are independent of one another, and each is answered by itself.
	// Kinds K, V and T have one at most.
	Starts []Start
	// CheckTemplate: make a dry run of the create of this child, which is not due. Nil when there is nothing to find out.
	CheckTemplate *Start
	// StatusWrite: write this status. Nil when nothing changed.
	StatusWrite *StatusWrite
	// Prune: delete these finished children, each with its UID as precondition. Independent of one another; a
	// failure delays nothing else.
	Prune []Deletion
	// Events: publish these, after everything above is done.
	Events []Event
	// Outcomes are what became of the scheduled times that have passed since the last sync, if each step goes well.
	// They are final with the start: no step after it changes them.
	Outcomes []RunOutcome
	// Misconfigured is what keeps the CronJob from starting anything until somebody mends it; "" if nothing does.
	Misconfigured Misconfiguration
	// Wake is when to decide again at the latest; always after Now. Zero: not before an event.
	Wake time.Time
	// Err, if not nil, means that the sync has failed and is to be repeated with back-off. It says what failed. Wake
	// is to be armed as well: a next scheduled time does not wait for the back-off.
	Err error
	// Carried is for Input.Carried of the next sync over the same UID in this process.
	Carried Memory
}

// Step is what the shell has to do next.
type Step int

// The steps in the order in which they are carried out. StepPublish is the last one: nothing else is left.
const (
	StepRead Step = iota
	StepStop
	StepStart
	StepCheckTemplate
	StepWriteStatus
	StepPrune
	StepPublish
)

// NextStep says which step is to be carried out now.
func (p Plan) NextStep() Step {
	switch {
	case len(p.Read) > 0:
		return StepRead
	case len(p.Stop) > 0:
		return StepStop
	case len(p.Starts) > 0:
		return StepStart
	case p.CheckTemplate != nil:
		return StepCheckTemplate
	case p.StatusWrite != nil:
		return StepWriteStatus
	case len(p.Prune) > 0:
		return StepPrune
	default:
		return StepPublish
	}
}

// ReadRequest asks for one read past every cache.
type ReadRequest struct {
	// Owner: read the CronJob itself, answer with AddReadOwnerResult. Otherwise read the child, answer with
	// AddReadChildResult.
	Owner     bool
	Namespace string
	Name      string
	Why       string
}

// Deletion asks for the delete of one child, with its UID as precondition.
type Deletion struct {
	Namespace string
	Name      string
	UID       types.UID
	// Reason is why a child is deleted that has not ended (RunReplaced, RunTimeout); "" for another one.
	Reason Reason
	Why    string
}

// Start asks for one child: an attempt of the run of a scheduled time.
type Start struct {
	// Name of the child: a function of the CronJob's name, Time and Attempt.
	Name string
	// Run is the name of the run: that of its first child. Attempt is the number of the child in the run, from 1 on.
	Run     string
	Attempt int
	// Trigger is what made the run.
	Trigger Trigger
	// Time is the scheduled time.
	Time time.Time
	// Stamp is the scheduled time as the child's annotation writes it.
	Stamp string
}

// StatusWrite asks for what is remembered to be written.
type StatusWrite struct {
	// Memory is whole: what it does not hold is no longer so.
	Memory Memory
	// Now is the one clock reading of the sync, and Times are the scheduled times, nil if they are not known: what a
	// status says of times to come follows from them.
	Now   time.Time
	Times Times
	// Undecided: it is not known what runs, so that no scheduled time was decided. What the status says of times to come
	// stays as it is: with the timing that was served last it tells later syncs what that named.
	Undecided bool
	// Changed are the parts that differ from what is stored; one of them at least.
	Changed Parts
}

// Event is one event about the CronJob.
type Event struct {
	// Type is corev1.EventTypeNormal or EventTypeWarning.
	Type    string
	Reason  string
	Message string
	// DedupKey names the cause. The shell publishes an event with a key only once per CronJob UID and key for as long as
	// it remembers (cronjob.md B6). An empty key marks the report of an act: each one is published.
	DedupKey string
	// Lasts: the cause stays until somebody mends it, and is reported again from time to time (RepeatInterval). DedupKey
	// already changes with that; a shell need not look at it.
	Lasts bool
}

// String tells the plan as text, one line per step; "rest" when there is nothing to do but wait for an event.
func (p Plan) String() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	for _, l := range p.Read {
		what := "child"
		if l.Owner {
			what = "owner"
		}
		line("read %s %s: %s", what, l.Name, l.Why)
	}
	for _, s := range p.Stop {
		line("stop %s: %s", s.Name, s.Why)
	}
	for _, s := range p.Starts {
		line("start %s for %s", s.Name, s.Stamp)
	}
	if p.CheckTemplate != nil {
		line("check the template by %s", p.CheckTemplate.Name)
	}
	if p.StatusWrite != nil {
		line("%s", p.StatusWrite)
	}
	for _, s := range p.Prune {
		line("prune %s: %s", s.Name, s.Why)
	}
	for _, e := range p.Events {
		line("say %s", e)
	}
	if p.Err != nil {
		line("fail: %v", p.Err)
	}
	if !p.Wake.IsZero() {
		line("wake %s", p.Wake.UTC().Format(time.RFC3339Nano))
	}
	if b.Len() == 0 {
		return "rest\n"
	}
	return b.String()
}

// String tells the record in one line: the names in the active list, the two times and the conditions, then the
// timing if it is written too.
func (r StatusWrite) String() string {
	names := make([]string, len(r.Memory.Active))
	for i, ref := range r.Memory.Active {
		names[i] = ref.Name
	}
	var parts []string
	if r.Changed&^PartTiming != 0 {
		parts = append(parts, fmt.Sprintf("active [%s]", strings.Join(names, " ")))
		if t := r.Memory.LastSchedule; t != nil {
			parts = append(parts, "last scheduled "+t.UTC().Format(time.RFC3339))
		}
		if t := r.Memory.LastSuccessful; t != nil {
			parts = append(parts, "last successful "+t.UTC().Format(time.RFC3339))
		}
		for _, c := range r.Memory.Conditions {
			parts = append(parts, fmt.Sprintf("%s=%s/%s", c.Type, c.Status, c.Reason))
		}
	}
	if t := r.Memory.Cursor; t != nil && r.Changed&(PartCursor|PartWaiting) != 0 {
		parts = append(parts, "cursor "+t.UTC().Format(time.RFC3339))
		for _, w := range r.Memory.Waiting {
			parts = append(parts, fmt.Sprintf("%s waits (%s)", w.Time.UTC().Format(time.RFC3339), w.Reason))
		}
	}
	if r.Changed.Has(PartTiming) {
		parts = append(parts, "timing "+r.Memory.Timing.String())
	}
	return "record " + strings.Join(parts, ", ")
}

// String tells the event in one line.
func (e Event) String() string { return e.Type + " " + e.Reason + ": " + e.Message }

// runOf is the run of a child: of that scheduled time, zero if it is not known.
func runOf(c Child, t time.Time, trigger Trigger) ActiveRun {
	return ActiveRun{ObjectReference: reference(c), Time: t, Trigger: trigger, Attempt: max(1, c.Attempt), Started: c.Created}
}

func reference(c Child) corev1.ObjectReference {
	return corev1.ObjectReference{
		APIVersion:      c.APIVersion,
		Kind:            c.Kind,
		Namespace:       c.Namespace,
		Name:            c.Name,
		UID:             c.UID,
		ResourceVersion: c.ResourceVersion,
	}
}
