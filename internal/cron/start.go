// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// startDecision is what becomes of one scheduled time that is due.
type startDecision struct {
	result startResult
	// reads have to be answered first; then it is decided anew.
	reads  []ReadRequest
	stop   []Deletion
	create *Start
	events []Event
	err    error
	// message is what to say of the time while it waits.
	message string
	// misconfigured is what somebody has to mend before the time can start.
	misconfigured Misconfiguration

	// What the status has when the decision is carried out: removed leave the active list, active enters it, and served
	// is whether the time counts as served.
	removed []types.UID
	// stopping are the runs that are being stopped, and stay in the active list until they are gone.
	stopping []types.UID
	active   *Child
	served   bool
}

// startResult is the decision in one word.
type startResult int

const (
	startNotDue        startResult = iota // no time is due
	startCreated                          // its child is created, or will be by this very plan
	startAdopted                          // its child was there, from an earlier sync or process
	startNameUsed                         // its name served an earlier scheduled time
	startForbidden                        // it waits for an unfinished child
	startStopping                         // it waits for an unfinished child that is being stopped for it
	startFailed                           // it waits for the API
	startOwnerRemoved                     // its child lost our owner reference, and is not tried again
	startNotReady                         // it waits until the object is changed
	startNameForeign                      // it waits for its name
	startTooManyMissed                    // it waits for a human, and so does the next one
)

// startDecisions are what becomes of all times that are due, taken together.
type startDecisions struct {
	// each are the results, time by time, and messages what to say of those that wait; result is that of the latest time.
	each     []startResult
	messages []string
	result   startResult
	reads    []ReadRequest
	stop     []Deletion
	creates  []Start
	// ownerRemoved are times whose child this sync created in vain.
	ownerRemoved []time.Time
	// unclear are the names of children of which it is asked whether they exist.
	unclear       []string
	events        []Event
	err           error
	misconfigured Misconfiguration
}

func (s *startDecisions) add(d startDecision) {
	s.each, s.result, s.messages = append(s.each, d.result), d.result, append(s.messages, d.message)
	s.addReads(d.reads...)
	s.stop = append(s.stop, d.stop...)
	if d.create != nil {
		s.creates = append(s.creates, *d.create)
	}
	s.events = append(s.events, d.events...)
	s.err = errors.Join(s.err, d.err)
	s.misconfigured = cmp.Or(s.misconfigured, d.misconfigured)
}

// addReads adds what is not to be read already.
func (s *startDecisions) addReads(reads ...ReadRequest) {
	for _, r := range reads {
		if !slices.ContainsFunc(s.reads, func(other ReadRequest) bool { return other.Name == r.Name }) {
			s.reads = append(s.reads, r)
		}
	}
}

// startRules decide about a time that is due; the first one that gives a decision does. What the answer to this sync's
// own create says comes before what is known otherwise, a child that exists comes before the concurrency policy, and
// creating one comes last.
var startRules = []func(*syncState, dueTime) *startDecision{
	tooManyAreMissed,
	createdWithoutController,
	lostItsOwner,
	childIsCreated,
	namespaceIsTerminating,
	nameIsTaken,
	createIsUnconfirmed,
	createIsRefused,
	nameServedEarlierTime,
	childIsActive,
	childExists,
	nameIsForeign,
	hasResultElsewhere,
	earlierCreateIsUnconfirmed,
	nothingIsCreatedAnyMore,
	thereIsNoRoom,
	roomIsBeingMade,
	policyReplaces,
	nothingIsInTheWay,
}

// decideStarts decides about each time that is due, in their order, and works the decisions into the status.
func (s *syncState) decideStarts() {
	s.start.events = s.replaced() // there had been no create if a stop had failed
	if s.timing.manyMissed && !s.in.Traits.ManyRefused {
		s.start.events = append(s.start.events, tooManyMissed(s.in, s.timing))
	}
	s.endWaitingRuns()
	for _, t := range s.due {
		d := s.decideStart(t)
		s.start.add(d)
		if s.ownerRemoved && d.result == startOwnerRemoved {
			s.start.ownerRemoved = append(s.start.ownerRemoved, t.time)
		}
		for _, uid := range d.removed {
			s.status.Active = without(s.status.Active, uid)
		}
		if d.active != nil {
			s.status.Active = append(slices.Clip(s.status.Active), runOf(*d.active, t.time, t.trigger))
		}
		for _, uid := range d.stopping {
			s.status.Active = markStopping(s.status.Active, uid, RunReplaced)
		}
		if d.served {
			s.status.LastSchedule = later(s.status.LastSchedule, t.time)
		}
	}
}

// decideStart finds the rule that decides about the time.
func (s *syncState) decideStart(t dueTime) startDecision {
	for _, rule := range startRules {
		if d := rule(s, t); d != nil {
			return *d
		}
	}
	return startDecision{} // not reached: the last rule always decides
}

// replaced takes the children that this sync stopped to make room for its creates out of the status, and reports them.
func (s *syncState) replaced() (events []Event) {
	in := s.in
	if len(in.done.creates) == 0 || !in.Policy.Room.StartsBesideStopped {
		return nil
	}
	stopped := slices.DeleteFunc(unfinished(in, s.children, &s.status), func(c Child) bool {
		tried, err := in.stopped(c)
		return !tried || err != nil
	})
	if len(stopped) > 0 {
		events = append(events, replacing(in, stopped, in.done.creates[0].start.Time))
	}
	for _, c := range stopped {
		events = append(events, deleted(in, c))
		s.status.Active = without(s.status.Active, c.UID)
	}
	return events
}

// tooManyAreMissed: kinds of which the contract says so start nothing after more than 100 missed times (cronjob.md
// T10).
func tooManyAreMissed(s *syncState, t dueTime) *startDecision {
	if !s.timing.manyMissed || !s.in.Traits.ManyRefused {
		return nil
	}
	return &startDecision{result: startTooManyMissed, misconfigured: TooManyMissed, events: []Event{manyRefused(s.in, s.timing)}}
}

// createdWithoutController: the child came back from the server without our controller reference. Nobody would ever
// count it or clean it up, so it is deleted again (cronjob.md V24).
func createdWithoutController(s *syncState, t dueTime) *startDecision {
	in, created := s.in, s.in.created(t.child, CreateSucceeded)
	if created == nil || !in.Traits.ChecksController || ours(in, *created.Child) {
		return nil
	}
	d := startDecision{result: startFailed, err: fmt.Errorf("creating %s %s: the server returned it without our controller "+
		"reference; look for an admission webhook that removes owner references", in.Traits.ChildKind, created.Child.Name)}
	if in.Traits.Durable.Has(PartTemplate) { // the status says so, and nothing is tried again
		s.ownerRemoved = true
		d = startDecision{result: startOwnerRemoved}
	}
	tried, err := in.stopped(*created.Child)
	if !tried {
		d.stop = []Deletion{in.deletion(*created.Child, "", "it was created without our controller reference")}
	}
	if err != nil && s.ownerRemoved {
		d.events = append(d.events, failedDelete(in, *created.Child, err))
	}
	return &d
}

// lostItsOwner: an earlier sync made its child in vain, and no status could record that.
func lostItsOwner(s *syncState, t dueTime) *startDecision {
	if !slices.ContainsFunc(s.in.Carried.inProcess().ownerRemoved, t.time.Equal) {
		return nil
	}
	return &startDecision{result: startOwnerRemoved}
}

// nothingIsCreatedAnyMore: an earlier time's child lost our owner reference, and so would this one's.
func nothingIsCreatedAnyMore(s *syncState, t dueTime) *startDecision {
	if !s.ownerRemoved || s.in.attempted(t.child) != nil {
		return nil
	}
	return &startDecision{result: startNotReady}
}

// childIsCreated: the server says so (cronjob.md K23).
func childIsCreated(s *syncState, t dueTime) *startDecision {
	if created := s.in.created(t.child, CreateSucceeded); created != nil {
		return s.creates(t, &startDecision{}, *created.Child)
	}
	return nil
}

// namespaceIsTerminating: that is nobody's mistake, and an event of its own says it.
func namespaceIsTerminating(s *syncState, t dueTime) *startDecision {
	if s.in.created(t.child, CreateNamespaceTerminating) == nil {
		return nil
	}
	return s.createFailed(t, namespaceTerminating(s.in))
}

// nameIsTaken: who has the name is read. Once that is known, the rules about the child that exists decide.
func nameIsTaken(s *syncState, t dueTime) *startDecision {
	in := s.in
	if in.created(t.child, CreateNameTaken) == nil || in.Traits.ExistsFails {
		return nil
	}
	d, name := startDecision{result: startFailed}, t.child
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
func createIsUnconfirmed(s *syncState, t dueTime) *startDecision {
	in, created := s.in, s.in.created(t.child, CreateUnconfirmed)
	if created == nil {
		return nil
	}
	start := in.attempted(t.child).start
	switch holder, asked := in.readAnswer(start.Name); {
	case !asked:
		return &startDecision{result: startFailed, reads: []ReadRequest{in.requestChild(start.Name, "the answer to its create got lost")}}
	case holder.child != nil:
		return nil
	}
	return s.createFailed(t, failedCreate(in, start, created.Err))
}

// createIsRefused: it is tried again with back-off, until the next time is due.
func createIsRefused(s *syncState, t dueTime) *startDecision {
	refused := s.in.created(t.child, CreateRefused)
	if refused == nil && s.in.Traits.ExistsFails {
		refused = s.in.created(t.child, CreateNameTaken)
	}
	if refused == nil {
		return nil
	}
	d := s.createFailed(t, failedCreate(s.in, s.in.attempted(t.child).start, refused.Err))
	d.misconfigured = refusedBy(refused.Err)
	return d
}

// nameServedEarlierTime: where two scheduled times share a name, the first one has used it up, even if its child is
// gone (cronjob.md B7).
func nameServedEarlierTime(s *syncState, t dueTime) *startDecision {
	if last := s.status.LastSchedule; last != nil && childName(s.in, *last) == t.child {
		return &startDecision{result: startNameUsed}
	}
	return nil
}

// childIsActive: the status lists the child of the due time.
func childIsActive(s *syncState, t dueTime) *startDecision {
	for _, ref := range s.status.Active {
		if ref.Name == t.child && inNamespace(s.in, ref) {
			return &startDecision{result: s.in.createdOrAdopted(t.child), served: s.in.Traits.ActiveRebuilt}
		}
	}
	return nil
}

// childExists: a child of an earlier sync is adopted (cronjob.md K23b3, V22c): that sync crashed, or its answer or its
// status write got lost.
func childExists(s *syncState, t dueTime) *startDecision {
	i := slices.IndexFunc(s.children, func(c Child) bool { return c.Name == t.child && !c.Gone })
	if i < 0 {
		return nil
	}
	d := startDecision{result: s.in.createdOrAdopted(t.child), served: true}
	if !s.children[i].Phase.finished() {
		d.active = &s.children[i]
	}
	return &d
}

// nameIsForeign: the create met an object that is not ours (cronjob.md Q1).
func nameIsForeign(s *syncState, t dueTime) *startDecision {
	if s.in.attempted(t.child) == nil {
		return nil
	}
	holder, _ := s.in.readAnswer(t.child)
	return &startDecision{result: startNameForeign, misconfigured: NameTaken, message: "delete or rename what has the name " + t.child,
		events: []Event{foreignHolder(s.in, *holder.child, t.time)}}
}

// earlierCreateIsUnconfirmed: nothing that must not overlap starts before the creates whose answers got lost are
// cleared up.
func earlierCreateIsUnconfirmed(s *syncState, t dueTime) *startDecision {
	in := s.in
	names := in.unclear()
	if len(names) == 0 || in.Policy.Room.Limit == 0 {
		return nil
	}
	s.clearUp(names...)
	return &startDecision{result: startFailed, message: "nothing starts before it can be read whether " + names[0] + " was created"}
}

// nothingIsInTheWay: the child is to be created.
func nothingIsInTheWay(s *syncState, t dueTime) *startDecision { return s.asksFor(t, &startDecision{}) }

// asksFor adds the create of the due time's child to a decision.
func (s *syncState) asksFor(t dueTime, d *startDecision) *startDecision {
	d.create = &Start{Name: t.child, Run: t.child, Attempt: 1, Trigger: t.trigger, Time: t.time, Stamp: stamp(s.in, t.time)}
	return s.creates(t, d, Child{Namespace: s.in.Owner.Namespace, Name: t.child})
}

// creates enters the due time's child into a decision.
func (s *syncState) creates(t dueTime, d *startDecision, c Child) *startDecision {
	d.result, d.active, d.served = startCreated, &c, true
	if !s.in.Traits.Durable.Has(PartResults) { // else it is told when it is counted (statusevents.go)
		d.events = append(d.events, created(s.in, c.Name, t.time))
	}
	if s.in.replaces() {
		if manual := manualRuns(s.in, unfinished(s.in, s.children, &s.observed.status)); len(manual) > 0 {
			d.events = append(d.events, besideManual(s.in, manual, t.time))
		}
	}
	return d
}

// createFailed is the decision after a create that failed: the sync is repeated.
func (s *syncState) createFailed(t dueTime, e Event) *startDecision {
	done := s.in.attempted(t.child)
	return &startDecision{result: startFailed, events: []Event{e}, message: createMessage(s.in, done.result),
		err: fmt.Errorf("creating %s %s: %w", s.in.Traits.ChildKind, done.start.Name, done.result.Err)}
}

// createdOrAdopted tells of a child that exists whether this sync's own create made it, although no answer said so.
func (in *Input) createdOrAdopted(name string) startResult {
	if in.created(name, CreateUnconfirmed) != nil {
		return startCreated
	}
	return startAdopted
}
