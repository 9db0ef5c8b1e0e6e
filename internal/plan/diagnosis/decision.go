// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"slices"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/cron"
)

// decide asks Carillon's own decision what it would do now with what is known. False: that cannot be asked.
func (e *Evidence) decide() (cron.Plan, bool) {
	s := e.Scheduled
	if s.Unreadable != nil || s.Owner.UID == "" || e.unseen() {
		return cron.Plan{}, false
	}
	in := cron.Input{Now: e.Now, Traits: s.Kind.Info().Traits, Owner: s.Owner, Policy: s.Policy, Stored: s.Memory}
	for _, r := range e.kept() {
		in.Children = append(in.Children, r.Child)
	}
	slices.SortFunc(in.Children, func(a, b cron.Child) int { return strings.Compare(a.Name, b.Name) })
	plan := cron.Decide(in)
	for range len(e.Runs) + 3 { // reads are asked for once each
		if plan.NextStep() != cron.StepRead {
			return plan, true
		}
		for _, read := range plan.Read {
			if read.Owner {
				in.AddReadOwnerResult(s.Owner, s.Policy, s.Memory, nil)
				continue
			}
			var child *cron.Child
			for i := range in.Children {
				if in.Children[i].Name == read.Name {
					child = new(in.Children[i])
				}
			}
			in.AddReadChildResult(read, child, nil)
		}
		plan = cron.Decide(in)
	}
	return plan, plan.NextStep() != cron.StepRead
}

// unseen tells whether the status names active runs whose objects are not known: then nobody can tell what is right.
func (e *Evidence) unseen() bool {
	return slices.ContainsFunc(e.Scheduled.Memory.Active, func(active cron.ActiveRun) bool {
		return active.RetryAt == nil && !slices.ContainsFunc(e.Runs, func(r Run) bool { return r.Name == active.Name })
	})
}

// wouldDo shows what Carillon would do now, and tells whether that is to start the run of t.
func (b *builder) wouldDo(t time.Time) (starts bool) {
	plan, ok := b.decide()
	if !ok {
		return false
	}
	var does []string
	for _, stop := range plan.Stop {
		does = append(does, "stop "+stop.Name+" ("+stop.Why+")")
	}
	for _, start := range plan.Starts {
		does = append(does, "start "+start.Name+" for "+b.clock(start.Time))
		starts = starts || start.Time.Equal(t)
	}
	if len(does) == 0 {
		does = append(does, "start nothing")
		if wake := plan.Wake; !wake.IsZero() {
			does[0] += " and look again " + b.when(wake)
		}
	}
	b.show("decision", b.Now, "with what is shown here, Carillon would now %s", strings.Join(does, ", then "))
	for _, event := range plan.Events {
		if event.Type == "Warning" && event.Reason != b.Scheduled.Kind.Info().Traits.Events.Unexpected.Reason {
			b.show("decision", b.Now, "and say: %s: %s", event.Reason, firstLine(event.Message))
		}
	}
	return starts
}
