// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	kindk "github.com/carillon-dev/carillon/internal/kind/batchv1"
	kindt "github.com/carillon-dev/carillon/internal/kind/tutorial"
	kindv "github.com/carillon-dev/carillon/internal/kind/volcano"
)

// traits of the kinds, by the letter that the contract uses.
var traits = map[string]*cron.KindTraits{
	"K": kindk.Kind{}.Info().Traits,
	"V": kindv.Kind{}.Info().Traits,
	"T": kindt.Kind{}.Info().Traits,
	"G": general,
}

// general is a kind without any peculiarity, whose status can hold all there is to remember.
var general = &cron.KindTraits{
	Group: "batch.carillon.dev", Kind: "Timetable", ChildKind: "Job", NameUnit: time.Second,
	StartChecks:        []cron.StartCheck{cron.CheckScheduleFires, cron.CheckChildKind, cron.CheckNotSuspended},
	Durable:            cron.PartActive | cron.PartLastSchedule | cron.PartLastSuccessful | cron.PartTiming | cron.PartCursor | cron.PartWaiting | cron.PartResults | cron.PartGates,
	RecordDespiteError: true, AdoptionReports: true, History: cron.ByCreation,
}

// scene is one CronJob, what the cache shows of it, and the server behind the cache.
type scene struct {
	in cron.Input

	// text and tz are the schedule and the zone that the CronJob asks for, process is the zone of the process, and
	// annotation is what the CronJob remembers of its timing. read makes the input of them.
	text       string
	general    generalTiming
	tz         *string
	process    *time.Location
	annotation string

	// live are the children on the server by name. What is given to the cache is on the server too, unless the scene
	// says otherwise.
	live map[string]cron.Child
	// liveOwner, if set, is what a live read of the CronJob shows instead of the cached one.
	liveOwner func(*cron.Input)

	failGet, failDelete map[string]error
	failOwner           error
	failCreate          error
	// failCreateOf are errors of the next create of the child of that name.
	failCreateOf map[string]error
	// loseAnswer: the create succeeds, and its answer does not arrive.
	loseAnswer error
	failRecord error
	// strip: an admission webhook removes the owner references of what is created.
	strip bool

	// events are those of the last sync, outcomes what it names.
	events   []cron.Event
	outcomes []cron.RunOutcome
	// plan is the last one of the last sync.
	plan cron.Plan
}

// given changes a scene; a scenario is a list of them.
type given func(*scene)

// fixture is the CronJob of cronjob.md section 7.
func fixture(kind string, now string, givens ...given) *scene {
	s := &scene{
		in: cron.Input{
			Now:    at(now),
			Traits: traits[kind],
			Owner: cron.Owner{Namespace: "batch", Name: "tick", UID: "cj-1", Generation: 1,
				Created: at("12:03:20")},
			Policy: cron.Policy{Succeeded: cron.Retention{Limit: new(int32(3))}, Failed: cron.Retention{Limit: new(int32(1))}},
		},
		text:       "*/10 * * * *",
		live:       map[string]cron.Child{},
		failGet:    map[string]error{},
		failDelete: map[string]error{},
	}
	s.read()
	for _, g := range givens {
		g(s)
	}
	return s
}

// read reads the timing as the adapter of a kind does.
func (s *scene) read() {
	if s.in.Traits.Kind == general.Kind {
		s.readGeneral()
		return
	}
	info, options := adapter.Info{Traits: s.in.Traits}, adapter.ReadOptions{Zone: s.process}
	s.in.Policy.Timing = adapter.CronTiming(s.text, s.tz, info, options)
	s.in.Stored.Timing = adapter.ServedTiming(s.annotation, s.in.Policy.Timing, info, options)
}

// at reads a time of 2026-05-04 UTC, or a whole RFC 3339 time.
func at(text string) time.Time {
	if len(text) < len("2026-05-04T") || text[4] != '-' {
		if strings.Count(text, ":") == 1 {
			text += ":00"
		}
		text = "2026-05-04T" + text + "Z"
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		panic(err)
	}
	return t
}

func schedule(text string) given { return func(s *scene) { s.text = text; s.read() } }
func zone(name string) given     { return func(s *scene) { s.tz = &name; s.read() } }
func deadline(sec int64) given   { return func(s *scene) { s.in.Policy.Deadline = &sec } }
func made(text string) given     { return func(s *scene) { s.in.Owner.Created = at(text) } }
func deleting(s *scene)          { s.in.Owner.Deleting = true }
func suspended(s *scene)         { s.in.Policy.Suspend = true }
func forbid(s *scene)            { s.in.Policy.Room = adapter.Room(batchv1.ForbidConcurrent) }
func replace(s *scene)           { s.in.Policy.Room = adapter.Room(batchv1.ReplaceConcurrent) }

func last(text string) given {
	return func(s *scene) { s.in.Stored.LastSchedule = new(at(text)) }
}

func succeeded(text string) given {
	return func(s *scene) { s.in.Stored.LastSuccessful = new(at(text)) }
}

// limits sets the history limits; below zero means nil.
func limits(success, failure int32) given {
	limit := func(n int32) *int32 {
		if n < 0 {
			return nil
		}
		return &n
	}
	return func(s *scene) { s.in.Policy.Succeeded.Limit, s.in.Policy.Failed.Limit = limit(success), limit(failure) }
}

// processZone is the zone that the controller runs in.
func processZone(name string) given {
	return func(s *scene) {
		loc, err := time.LoadLocation(name)
		if err != nil {
			panic(err)
		}
		s.process = loc
		s.read()
	}
}

// served is the schedule and zone that an earlier sync of this process saw.
func served(schedule, zone string) given {
	return func(s *scene) {
		earlier := *s
		earlier.text, earlier.tz = schedule, nil
		if zone != "" {
			earlier.tz = &zone
		}
		earlier.read()
		s.in.Carried = cron.Decide(earlier.in).Carried
	}
}

// childOpt changes a child before it enters the scene.
type childOpt func(*cron.Child)

func complete(c *cron.Child) { c.Phase, c.Succeeded = cron.Complete, true }
func failed(c *cron.Child)   { c.Phase = cron.Failed }
func phase(word string, p cron.ChildPhase) childOpt {
	return func(c *cron.Child) { c.Status, c.Phase, c.Succeeded = word, p, p == cron.Complete }
}
func finished(text string) childOpt { return func(c *cron.Child) { c.Finished = new(at(text)) } }
func unborn(c *cron.Child)          { c.Created = time.Time{} }
func stamped(text string) childOpt  { return func(c *cron.Child) { c.Stamp = text } }
func asleep(c *cron.Child)          { c.Suspended, c.Status = true, "Suspended" }
func manual(c *cron.Child)          { c.Name, c.UID, c.Stamp = "by-hand", "by-hand", "" }
func named(name string) childOpt {
	return func(c *cron.Child) { c.Name, c.UID = name, types.UID(name) }
}
func uid(id types.UID) childOpt { return func(c *cron.Child) { c.UID = id } }
func ownedBy(ref *metav1.OwnerReference) childOpt {
	return func(c *cron.Child) { c.Controller = ref }
}

// child is what this CronJob starts for a scheduled time. Its UID is its name.
func (s *scene) child(scheduled string, opts ...childOpt) cron.Child {
	t := at(scheduled)
	name := fmt.Sprintf("%s-%d", s.in.Owner.Name, t.Unix()/int64(s.in.Traits.NameUnit/time.Second))
	c := cron.Child{APIVersion: "batch/v1", Kind: "Job", Namespace: "batch", Name: name, UID: types.UID(name),
		Controller: s.controller(s.in.Owner.UID), Created: t, Started: &t, Stamp: t.Format(time.RFC3339)}
	for _, o := range opts {
		o(&c)
	}
	return c
}

func (s *scene) controller(owner types.UID) *metav1.OwnerReference {
	return &metav1.OwnerReference{APIVersion: s.in.Traits.Group + "/v1", Kind: s.in.Traits.Kind, Name: s.in.Owner.Name,
		UID: owner, Controller: new(true)}
}

// active is a child that the state lists.
func active(scheduled string, opts ...childOpt) given {
	return func(s *scene) {
		c := s.child(scheduled, opts...)
		s.in.Stored.Active = append(s.in.Stored.Active, ref(c))
		s.has(c)
	}
}

// listed is an active reference without any object.
func listed(scheduled string, opts ...childOpt) given {
	return func(s *scene) {
		s.in.Stored.Active = append(s.in.Stored.Active, ref(s.child(scheduled, opts...)))
	}
}

// has is a child that the state does not list.
func has(scheduled string, opts ...childOpt) given {
	return func(s *scene) { s.has(s.child(scheduled, opts...)) }
}

func (s *scene) has(c cron.Child) {
	s.in.Children = append(s.in.Children, c)
	s.live[c.Name] = c
}

// onServer is an object that the cache does not show yet.
func onServer(scheduled string, opts ...childOpt) given {
	return func(s *scene) {
		c := s.child(scheduled, opts...)
		s.live[c.Name] = c
	}
}

func ref(c cron.Child) cron.ActiveRun {
	t, _ := time.Parse(time.RFC3339, c.Stamp)
	return cron.ActiveRun{Time: t, Trigger: cron.TriggerSchedule, Attempt: 1, Started: c.Created,
		ObjectReference: corev1.ObjectReference{APIVersion: c.APIVersion, Kind: c.Kind, Namespace: c.Namespace, Name: c.Name, UID: c.UID}}
}

// liveState is what the server's CronJob says where the cache's is older.
func liveState(givens ...given) given {
	return func(s *scene) {
		s.liveOwner = func(in *cron.Input) {
			live := scene{in: *in, live: map[string]cron.Child{}, text: s.text, tz: s.tz, process: s.process, annotation: s.annotation}
			live.in.Stored.Active = slices.Clone(in.Stored.Active)
			for _, g := range givens {
				g(&live)
			}
			*in = live.in
		}
	}
}

var jobs = schema.GroupResource{Group: "batch", Resource: "jobs"}

var (
	broken   = apierrors.NewInternalError(errors.New("etcd is away"))
	conflict = apierrors.NewConflict(schema.GroupResource{Group: "batch", Resource: "cronjobs"}, "tick", errors.New("changed"))
	notFound = apierrors.NewNotFound(jobs, "gone")
	quota    = apierrors.NewForbidden(jobs, "tick", errors.New("exceeded quota"))
	goingOut = &apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonForbidden, Code: 403,
		Message: "namespace batch is being terminated",
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}}}}
)

func getFails(name string, err error) given { return func(s *scene) { s.failGet[name] = err } }
func deleteFails(name string, err error) given {
	return func(s *scene) { s.failDelete[name] = err }
}
func ownerFails(err error) given  { return func(s *scene) { s.failOwner = err } }
func createFails(err error) given { return func(s *scene) { s.failCreate = err } }
func createOfFails(name string, err error) given {
	return func(s *scene) { s.failCreateOf = map[string]error{name: err} }
}
func answerLost(err error) given  { return func(s *scene) { s.loseAnswer = err } }
func recordFails(err error) given { return func(s *scene) { s.failRecord = err } }
func stripped(s *scene)           { s.strip = true }

// maxRounds is more than any sync needs: one per phase, three kinds of looks, and some to spare.
const maxRounds = 16

// play does what a shell does with a CronJob in one sync, and tells it: a line per step, in the order in which the
// steps were taken, then the events without their words, and "fail", and "rq" with the time until the wake-up or
// "done".
func (s *scene) play(t testing.TB) string {
	t.Helper()
	var log []string
	tell := func(format string, args ...any) { log = append(log, fmt.Sprintf(format, args...)) }
	in := s.in
	for range maxRounds {
		plan := cron.Decide(in)
		switch plan.NextStep() {
		case cron.StepRead:
			for _, l := range plan.Read {
				s.look(&in, l, tell)
			}
		case cron.StepStop:
			for _, step := range plan.Stop {
				in.AddStopResult(step, s.delete("stop", step, tell))
			}
		case cron.StepStart:
			for _, start := range plan.Starts {
				tell("start %s for %s", start.Name, start.Stamp)
				child, err := s.create(start)
				in.AddStartResult(start, cron.CreateResultOf(child, err))
			}
		case cron.StepWriteStatus:
			tell("%s", s.record(t, *plan.StatusWrite))
			in.AddStatusWriteResult(s.failRecord)
		case cron.StepPrune:
			for _, step := range plan.Prune {
				in.AddPruneResult(step, s.delete("prune", step, tell))
			}
		default:
			s.events, s.outcomes, s.plan = plan.Events, plan.Outcomes, plan
			for _, n := range plan.Events {
				tell("say %s %s", n.Type, n.Reason)
			}
			if plan.Err != nil {
				tell("fail")
			}
			switch {
			case !plan.Wake.IsZero():
				tell("rq %s", plan.Wake.Sub(in.Now))
			case plan.Err == nil:
				tell("done")
			}
			s.in.Carried = plan.Carried
			return strings.Join(log, "\n")
		}
	}
	t.Fatalf("no end after %d rounds:\n%s", maxRounds, strings.Join(log, "\n"))
	return ""
}

// record writes a status and tells it. An annotation that rides with the rest is not told: the tests of edits look at
// it.
func (s *scene) record(t testing.TB, r cron.StatusWrite) string {
	t.Helper()
	annotation := s.annotation
	if r.Changed.Has(cron.PartTiming) && s.in.Traits.Kind != general.Kind {
		var err error
		if annotation, err = adapter.TimetableAnnotation(r.Memory.Timing); err != nil {
			t.Fatal(err)
		}
	}
	if s.failRecord == nil {
		s.in.Stored, s.annotation = r.Memory, annotation
		s.nextTimes(r)
		s.read()
	}
	if r.Changed == cron.PartTiming {
		return "record timetable " + annotation
	}
	r.Changed &^= cron.PartTiming
	return r.String()
}

func (s *scene) look(in *cron.Input, l cron.ReadRequest, tell func(string, ...any)) {
	if l.Owner {
		tell("look at owner")
		live := *in
		if s.liveOwner != nil {
			s.liveOwner(&live)
		}
		in.AddReadOwnerResult(live.Owner, live.Policy, live.Stored, s.failOwner)
		return
	}
	tell("look at %s", l.Name)
	if err := s.failGet[l.Name]; err != nil {
		in.AddReadChildResult(l, nil, err)
	} else if c, ok := s.live[l.Name]; ok {
		in.AddReadChildResult(l, &c, nil)
	} else {
		in.AddReadChildResult(l, nil, nil)
	}
}

func (s *scene) create(start cron.Start) (*cron.Child, error) {
	if s.failCreate != nil {
		return nil, s.failCreate
	}
	if err := s.failCreateOf[start.Name]; err != nil {
		delete(s.failCreateOf, start.Name)
		return nil, err
	}
	if _, taken := s.live[start.Name]; taken {
		return nil, apierrors.NewAlreadyExists(jobs, start.Name)
	}
	c := cron.Child{APIVersion: "batch/v1", Kind: "Job", Namespace: "batch", Name: start.Name, UID: types.UID(start.Name),
		Controller: s.controller(s.in.Owner.UID), Created: s.in.Now.Truncate(time.Second), Stamp: start.Stamp, Attempt: start.Attempt}
	if s.strip {
		c.Controller = nil
	}
	s.live[c.Name] = c
	if s.loseAnswer != nil {
		return nil, s.loseAnswer
	}
	return &c, nil
}

func (s *scene) delete(verb string, step cron.Deletion, tell func(string, ...any)) error {
	tell("%s %s", verb, step.Name)
	if err := s.failDelete[step.Name]; err != nil {
		return err
	}
	if c, ok := s.live[step.Name]; !ok || c.UID != step.UID {
		return apierrors.NewNotFound(jobs, step.Name)
	}
	delete(s.live, step.Name)
	return nil
}

// stays makes the next sync see the cache as it was.
func stays(s *scene) { s.in.Children = nil }

// sync is one of a sequence: what happens before it, and what it does.
type sync struct {
	now   string
	given []given
	want  string
}

// playAll plays syncs one after the other. The first one is over the scene as it is, each later one over what the
// server has by then.
func (s *scene) playAll(t testing.TB, syncs []sync) {
	t.Helper()
	for i, p := range syncs {
		if i > 0 {
			s.catchUp(p.now, p.given...)
		}
		if diff := cmp.Diff(lines(p.want), s.play(t)); diff != "" {
			t.Errorf("sync %d at %s (-want +got):\n%s", i+1, p.now, diff)
		}
	}
}

// catchUp lets the cache show what the server has, later.
func (s *scene) catchUp(now string, givens ...given) {
	s.in.Now = at(now)
	s.in.Children = nil
	for _, c := range s.live {
		s.in.Children = append(s.in.Children, c)
	}
	slices.SortFunc(s.in.Children, func(a, b cron.Child) int { return strings.Compare(a.Name, b.Name) })
	for _, g := range givens {
		g(s)
	}
}

// ends makes a child on the server finish.
func ends(name string, opts ...childOpt) given {
	return func(s *scene) {
		c := s.live[name]
		for _, o := range opts {
			o(&c)
		}
		s.live[name] = c
		for i := range s.in.Children {
			if s.in.Children[i].Name == name {
				s.in.Children[i] = c
			}
		}
	}
}

// lines takes the indentation off a wanted transcript.
func lines(text string) string {
	var out []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}
