// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"errors"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
)

// startDecision is what becomes of the scheduled time that is due. The zero value is that none is due.
type startDecision struct {
	result startResult
	// reads have to be answered first; then it is decided anew.
	reads  []ReadRequest
	stop   []Deletion
	create *Start
	events []Event
	err    error
	// misconfigured is what somebody has to mend before the due time can start.
	misconfigured Misconfiguration

	// What the status has when the decision is carried out: removed leave the active list, active enters it, and served
	// is whether the due time counts as served.
	removed []types.UID
	active  *Child
	served  bool
}

// startResult is the decision in one word.
type startResult int

const (
	startNotDue        startResult = iota // no time is due
	startCreated                          // its child is created, or will be by this very plan
	startAdopted                          // its child was there, from an earlier sync or process
	startNameUsed                         // its name served an earlier scheduled time
	startForbidden                        // it waits for an unfinished child
	startFailed                           // it waits for the API
	startNameForeign                      // it waits for its name
	startTooManyMissed                    // it waits for a human, and so does the next one
)

// startRules decide about the due time; the first one that gives a decision does. What the answer to this sync's own
// create says comes before what is known otherwise, a child that exists comes before the concurrency policy, and
// creating one comes last.
var startRules = []func(*syncState) *startDecision{
	nothingIsDue,
	tooManyAreMissed,
	createdWithoutController,
	childIsCreated,
	namespaceIsTerminating,
	nameIsTaken,
	createIsUnconfirmed,
	createIsRefused,
	nameServedEarlierTime,
	childIsActive,
	childExists,
	nameIsForeign,
	earlierCreateIsUnconfirmed,
	policyForbids,
	policyReplaces,
	nothingIsInTheWay,
}

// decideStart finds the rule that decides, and works the decision into the status.
func (s *syncState) decideStart() {
	events := s.replaced() // there had been no create if a stop had failed
	if s.timing.manyMissed && !s.in.Traits.ManyRefused {
		events = append(events, tooManyMissed(s.in, s.timing))
	}
	for _, rule := range startRules {
		if d := rule(s); d != nil {
			s.start = *d
			break
		}
	}
	s.start.events = append(events, s.start.events...)
	for _, uid := range s.start.removed {
		s.status.Active = without(s.status.Active, uid)
	}
	if c := s.start.active; c != nil {
		s.status.Active = append(slices.Clip(s.status.Active), reference(*c))
	}
	if s.start.served {
		s.status.LastSchedule = later(s.status.LastSchedule, s.timing.due)
	}
}

// replaced takes the children that this sync stopped to make room for its create out of the status, and reports them.
func (s *syncState) replaced() (events []Event) {
	in := s.in
	if in.done.create == nil {
		return nil
	}
	stopped := slices.DeleteFunc(unfinished(in, s.children, s.status), func(c Child) bool {
		tried, err := in.stopped(c)
		return !tried || err != nil
	})
	if len(stopped) > 0 {
		events = append(events, replacing(in, stopped, in.done.create.start.Time))
	}
	for _, c := range stopped {
		events = append(events, deleted(in, c))
		s.status.Active = without(s.status.Active, c.UID)
	}
	return events
}

// nothingIsDue: perhaps because the create met a child that proves the due time, which the observed status has by now.
func nothingIsDue(s *syncState) *startDecision {
	if s.timing.due.IsZero() {
		return &startDecision{}
	}
	return nil
}

// tooManyAreMissed: kinds of which the contract says so start nothing after more than 100 missed times (cronjob.md
// T10).
func tooManyAreMissed(s *syncState) *startDecision {
	if !s.timing.manyMissed || !s.in.Traits.ManyRefused {
		return nil
	}
	return &startDecision{result: startTooManyMissed, misconfigured: TooManyMissed, events: []Event{manyRefused(s.in, s.timing)}}
}

// createdWithoutController: the child came back from the server without our controller reference. Nobody would ever
// count it or clean it up, so it is deleted again (cronjob.md V24).
func createdWithoutController(s *syncState) *startDecision {
	in, created := s.in, s.in.created(CreateSucceeded)
	if created == nil || !in.Traits.ChecksController || ours(in, *created.Child) {
		return nil
	}
	d := startDecision{result: startFailed, err: fmt.Errorf("creating %s %s: the server returned it without our controller "+
		"reference; look for an admission webhook that removes owner references", in.Traits.ChildKind, created.Child.Name)}
	if tried, _ := in.stopped(*created.Child); !tried {
		d.stop = []Deletion{in.deletion(*created.Child, "it was created without our controller reference")}
	}
	return &d
}

// childIsCreated: the server says so (cronjob.md K23).
func childIsCreated(s *syncState) *startDecision {
	if created := s.in.created(CreateSucceeded); created != nil {
		return s.creates(&startDecision{}, *created.Child)
	}
	return nil
}

// namespaceIsTerminating: that is nobody's mistake, and an event of its own says it.
func namespaceIsTerminating(s *syncState) *startDecision {
	if s.in.created(CreateNamespaceTerminating) == nil {
		return nil
	}
	return s.createFailed(namespaceTerminating(s.in))
}

// nameIsTaken: who has the name is read. Once that is known, the rules about the child that exists decide.
func nameIsTaken(s *syncState) *startDecision {
	in := s.in
	if in.created(CreateNameTaken) == nil || in.Traits.ExistsFails {
		return nil
	}
	d, name := startDecision{result: startFailed}, in.done.create.start.Name
	switch holder, asked := in.readAnswer(name); {
	case !asked:
		d.reads = []ReadRequest{in.requestChild(name, "it exists already; is it ours?")}
	case holder.err != nil:
		d.err = fmt.Errorf("reading %s %s, which exists already: %w", in.Traits.ChildKind, name, holder.err)
	case holder.child == nil:
		d.err = fmt.Errorf("%s %s existed when it was to be created and is gone now; trying again", in.Traits.ChildKind, name)
	default:
		return nil
	}
	return &d
}

// createIsUnconfirmed: what became of the create is read. If that shows an object of the name, the rules about the
// child that exists decide.
func createIsUnconfirmed(s *syncState) *startDecision {
	in, created := s.in, s.in.created(CreateUnconfirmed)
	if created == nil {
		return nil
	}
	start := in.done.create.start
	switch holder, asked := in.readAnswer(start.Name); {
	case !asked:
		return &startDecision{result: startFailed, reads: []ReadRequest{in.requestChild(start.Name, "the answer to its create got lost")}}
	case holder.child != nil:
		return nil
	}
	return s.createFailed(failedCreate(in, start, created.Err))
}

// createIsRefused: it is tried again with back-off, until the next time is due.
func createIsRefused(s *syncState) *startDecision {
	refused := s.in.created(CreateRefused)
	if refused == nil && s.in.Traits.ExistsFails {
		refused = s.in.created(CreateNameTaken)
	}
	if refused == nil {
		return nil
	}
	d := s.createFailed(failedCreate(s.in, s.in.done.create.start, refused.Err))
	d.misconfigured = refusedBy(refused.Err)
	return d
}

// nameServedEarlierTime: where two scheduled times share a name, the first one has used it up, even if its child is
// gone (cronjob.md B7).
func nameServedEarlierTime(s *syncState) *startDecision {
	if last := s.status.LastSchedule; last != nil && childName(s.in, *last) == s.timing.child {
		return &startDecision{result: startNameUsed}
	}
	return nil
}

// childIsActive: the status lists the child of the due time.
func childIsActive(s *syncState) *startDecision {
	for _, ref := range s.status.Active {
		if ref.Name == s.timing.child && inNamespace(s.in, ref) {
			return &startDecision{result: s.in.createdOrAdopted(), served: s.in.Traits.ActiveRebuilt}
		}
	}
	return nil
}

// childExists: a child of an earlier sync is adopted (cronjob.md K23b3, V22c): that sync crashed, or its answer or its
// status write got lost.
func childExists(s *syncState) *startDecision {
	i := slices.IndexFunc(s.children, func(c Child) bool { return c.Name == s.timing.child && !c.Gone })
	if i < 0 {
		return nil
	}
	d := startDecision{result: s.in.createdOrAdopted(), served: true}
	if !s.children[i].Phase.finished() {
		d.active = &s.children[i]
	}
	return &d
}

// nameIsForeign: the create met an object that is not ours (cronjob.md Q1).
func nameIsForeign(s *syncState) *startDecision {
	if s.in.done.create == nil {
		return nil
	}
	holder, _ := s.in.readAnswer(s.in.done.create.start.Name)
	return &startDecision{result: startNameForeign, misconfigured: NameTaken,
		events: []Event{foreignHolder(s.in, *holder.child, s.timing.due)}}
}

// earlierCreateIsUnconfirmed: nothing that must not overlap starts before the creates whose answers got lost are
// cleared up.
func earlierCreateIsUnconfirmed(s *syncState) *startDecision {
	in := s.in
	names := in.stillUnconfirmed()
	if len(names) == 0 || !in.replaces() && !in.forbids() {
		return nil
	}
	d := startDecision{result: startFailed}
	for _, name := range names {
		if read, asked := in.readAnswer(name); !asked {
			d.reads = append(d.reads, in.requestChild(name, "an earlier create may have succeeded"))
		} else {
			d.err = errors.Join(d.err, fmt.Errorf("reading %s %s, which may have been created: %w", in.Traits.ChildKind, name, read.err))
		}
	}
	return &d
}

// policyForbids: a child is unfinished (cronjob.md K20, B1).
func policyForbids(s *syncState) *startDecision {
	if !s.in.forbids() {
		return nil
	}
	if blockers := forbidding(s.in, unfinished(s.in, s.children, s.status)); len(blockers) > 0 {
		return &startDecision{result: startForbidden, events: []Event{forbidden(s.in, blockers, s.timing.due)}}
	}
	return nil
}

// policyReplaces: every unfinished child that the schedule started is stopped, and then the due time starts (cronjob.md
// K21). Nothing starts if one of them cannot be stopped.
func policyReplaces(s *syncState) *startDecision {
	in, due := s.in, s.timing.due
	if !in.replaces() {
		return nil
	}
	blockers := scheduledRuns(in, unfinished(in, s.children, s.status))
	if len(blockers) == 0 {
		return nil
	}
	d := startDecision{result: startFailed, events: []Event{replacing(in, blockers, due)}}
	for _, c := range blockers {
		if tried, _ := in.stopped(c); tried || !in.Traits.ReadBeforeStop {
			continue
		}
		if read, asked := in.readAnswer(c.Name); !asked {
			d.reads = append(d.reads, in.requestChild(c.Name, "about to be replaced"))
		} else if err := read.notThere(c); err != nil {
			d.events = append(d.events, failedGet(in, c, due, err))
			d.err = errors.Join(d.err, fmt.Errorf("reading %s %s, which is to be replaced: %w", in.Traits.ChildKind, c.Name, err))
		}
	}
	if d.reads != nil || d.err != nil {
		return &d
	}
	for _, c := range blockers {
		tried, err := in.stopped(c)
		if err != nil {
			d.events = append(d.events, failedDelete(in, c, err))
			d.err = errors.Join(d.err, fmt.Errorf("deleting %s %s, which is to be replaced: %w", in.Traits.ChildKind, c.Name, err))
			continue
		}
		if !tried {
			d.stop = append(d.stop, in.deletion(c, "replaced by "+s.timing.child))
		}
		d.events = append(d.events, deleted(in, c))
		d.removed = append(d.removed, c.UID)
	}
	if d.err != nil {
		return &d
	}
	return s.asksFor(&d)
}

// notThere is why a child that is to be replaced cannot be trusted to be there, nil if it can.
func (r readResult) notThere(c Child) error {
	switch {
	case r.err != nil:
		return r.err
	case r.child == nil:
		return errors.New("it is gone")
	case r.child.UID != c.UID:
		return fmt.Errorf("it is gone, and another one with UID %s has its name", r.child.UID)
	}
	return nil
}

// nothingIsInTheWay: the child is to be created.
func nothingIsInTheWay(s *syncState) *startDecision { return s.asksFor(&startDecision{}) }

// asksFor adds the create of the due time's child to a decision.
func (s *syncState) asksFor(d *startDecision) *startDecision {
	d.create = &Start{Name: s.timing.child, Time: s.timing.due, Stamp: stamp(s.in, s.timing.due)}
	return s.creates(d, Child{Namespace: s.in.Owner.Namespace, Name: s.timing.child})
}

// creates enters the due time's child into a decision.
func (s *syncState) creates(d *startDecision, c Child) *startDecision {
	d.result, d.active, d.served = startCreated, &c, true
	d.events = append(d.events, created(s.in, c, s.timing.due))
	if s.in.replaces() {
		if manual := manualRuns(s.in, unfinished(s.in, s.children, s.observed.status)); len(manual) > 0 {
			d.events = append(d.events, besideManual(s.in, manual, s.timing.due))
		}
	}
	return d
}

// createFailed is the decision after a create that failed: the sync is repeated.
func (s *syncState) createFailed(e Event) *startDecision {
	done := s.in.done.create
	return &startDecision{result: startFailed, events: []Event{e},
		err: fmt.Errorf("creating %s %s: %w", s.in.Traits.ChildKind, done.start.Name, done.result.Err)}
}

// createdOrAdopted tells of a child that exists whether this sync's own create made it, although no answer said so.
func (in Input) createdOrAdopted() startResult {
	if in.created(CreateUnconfirmed) != nil {
		return startCreated
	}
	return startAdopted
}

func (in Input) forbids() bool { return in.Policy.Concurrency == batchv1.ForbidConcurrent }

func (in Input) replaces() bool { return in.Policy.Concurrency == batchv1.ReplaceConcurrent }
