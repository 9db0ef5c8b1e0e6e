// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/kind/kindtest"
	"github.com/carillon-dev/carillon/internal/kind/timetable"
	"github.com/carillon-dev/carillon/internal/testkit/vectors"

	"github.com/carillon-dev/carillon/api/v1alpha1"
)

// world is one Timetable and its children on a server, and the controller. Every pass reads the Timetable as it is
// stored, and its status is written by the adapter's patch and admitted by the schema of the API.
type world struct {
	t   *testing.T
	now time.Time
	// fail tells of what must not be.
	fail func(format string, args ...any)

	timetable map[string]any
	version   int
	calendars map[string]*v1alpha1.Calendar
	children  map[string]*unstructured.Unstructured
	uids      int

	// shown is what the cache shows of the children; nil: all that there is.
	shown map[string]*unstructured.Unstructured
	// hides: the cache does not show what is created without an answer from now on; hidden are the names of that.
	hides  bool
	hidden map[string]bool
	// carried and said are what the controller remembers.
	carried cron.Memory
	said    map[string]bool

	// failCreate, failWrite and failDelete are the answers of the server; nil is that it does what is asked. dieAfter ends
	// the controller after so many more creates, before it writes anything; 0 does not.
	failCreate, failWrite, failDelete error
	// failExcept is the only name that can be created; "" is any.
	failExcept string
	// loseAnswers: creates succeed, and their answers do not arrive. failRead answers live reads.
	loseAnswers bool
	failRead    error
	// strip: owner references are removed from what is created. notGranted: the template's kind may not be started.
	strip, notGranted bool
	dieAfter          int
	// failDryRun is the answer to dry runs; nil is that of the create. dryRuns is how many there were.
	failDryRun error
	dryRuns    int
	// failStrict is the answer to a dry run that allows no unknown fields, where that of failDryRun is another one.
	failStrict error

	// backup is what somebody has kept of the server.
	backup struct {
		timetable map[string]any
		children  map[string]*unstructured.Unstructured
	}

	// created is told of each object that is made, written of each status, crashed of each end of a process, if they are
	// set.
	created func(name string)
	written func(*timetable.Object)
	crashed func()
	// spoken is told of each event that is published.
	spoken func(cron.Event)

	// What the last pass did.
	acts   []string
	writes int
	plan   cron.Plan
}

var definition = sync.OnceValue(func() []byte {
	text, err := os.ReadFile("../../../deploy/crds/batch.carillon.dev_timetables.yaml")
	if err != nil {
		panic(err)
	}
	return text
})

var parsedDefinition struct {
	once sync.Once
	crd  *kindtest.CRD
}

func timetableDefinition(t *testing.T) *kindtest.CRD {
	parsedDefinition.once.Do(func() { parsedDefinition.crd = kindtest.ParseCRDs(t, definition())[0] })
	return parsedDefinition.crd
}

// newWorld has the Timetable of timetable.md section 9, with the fields of spec that the text names (YAML), first as it
// was created.
func newWorld(t *testing.T, spec string) *world {
	w := &world{t: t, timetable: vectors.Timetable(t), calendars: map[string]*v1alpha1.Calendar{},
		children: map[string]*unstructured.Unstructured{}, said: map[string]bool{}, hidden: map[string]bool{}}
	w.fail = t.Errorf
	w.metadata()["uid"], w.metadata()["generation"] = "u1", int64(1)
	w.metadata()["creationTimestamp"] = "2026-05-04T12:03:20Z"
	w.now = instant("12:03:20")
	w.mergeSpec(spec)
	return w
}

func (w *world) metadata() map[string]any { return w.timetable["metadata"].(map[string]any) }

// mergeSpec merges YAML into the spec, and admits it.
func (w *world) mergeSpec(text string) {
	w.t.Helper()
	if strings.TrimSpace(text) != "" {
		w.timetable["spec"] = merged(w.timetable["spec"], map[string]any(vectors.Decode(w.t, text)))
	}
	w.admit()
}

// admit does what the API server does with what is to be stored.
func (w *world) admit() {
	w.t.Helper()
	if errs := timetableDefinition(w.t).Admit(w.t, w.timetable); len(errs) > 0 {
		w.t.Fatalf("not admitted: %v", errs.ToAggregate())
	}
	w.version++
	w.metadata()["resourceVersion"] = fmt.Sprint(w.version)
}

// stored reads the Timetable as it is stored.
func (w *world) stored() *timetable.Object {
	w.t.Helper()
	text, err := json.Marshal(w.timetable)
	if err != nil {
		w.t.Fatal(err)
	}
	tt := &timetable.Object{}
	if err := json.Unmarshal(text, tt); err != nil {
		w.t.Fatal(err)
	}
	if tt.Trouble() != nil || tt.StatusTrouble() != nil {
		w.t.Fatalf("unreadable: %v, %v", tt.Trouble(), tt.StatusTrouble())
	}
	return tt
}

// worldKind is the kind as a manager has it, for all worlds at once.
var worldKind = timetable.Kind{MinInterval: 10 * time.Second, Compilations: timetable.NewCompilations()}

// loose is a child as clients without types have it.
func loose(t testing.TB, child adapter.Object) *unstructured.Unstructured {
	t.Helper()
	if u, ok := child.(*unstructured.Unstructured); ok {
		return u
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(child)
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{Object: object}
	u.SetGroupVersionKind(batchv1.SchemeGroupVersion.WithKind("Job"))
	return u
}

// cached is a Timetable as a cache has it.
func cached(tt *timetable.Object) adapter.Object { return worldKind.Compact(tt) }

func (w *world) input(tt *timetable.Object) cron.Input {
	w.t.Helper()
	owner, policy, memory, err := worldKind.Read(cached(tt), adapter.ReadOptions{Dependency: func(namespace string, d adapter.Dependency) (adapter.Object, bool) {
		calendar, there := w.calendars[d.Name]
		return calendar, there && namespace == "ops"
	}})
	if err != nil {
		w.t.Fatal(err)
	}
	in := cron.Input{Now: w.now, Traits: worldKind.Info().Traits, Owner: owner, Policy: policy, Stored: memory, Carried: w.carried}
	if w.notGranted {
		in.ChildObstacle = worldKind.ChildObstacle(worldKind.ChildKinds(cached(tt))[0], adapter.ChildTrouble{Why: "nobody has granted it"})
	}
	shown := w.children
	if w.shown != nil {
		shown = w.shown
	}
	for name, child := range shown {
		if !w.hidden[name] && child.GetLabels()[v1alpha1.LabelTimetableUID] == "u1" { // as the watch asks for
			in.Children = append(in.Children, w.readChild(tt, child))
		}
	}
	slices.SortFunc(in.Children, func(a, b cron.Child) int { return strings.Compare(a.Name, b.Name) })
	return in
}

func (w *world) readChild(tt *timetable.Object, child *unstructured.Unstructured) cron.Child {
	w.t.Helper()
	kind := child.GroupVersionKind()
	trimmed := worldKind.TrimChild(child.DeepCopy(), kind)
	read, err := worldKind.ReadChild(trimmed, kind, cached(tt))
	if err != nil {
		w.t.Fatal(err)
	}
	return read
}

// pass is one pass of the controller.
func (w *world) pass() {
	w.t.Helper()
	w.acts, w.writes = nil, 0
	tt := w.stored()
	defer w.keeps(tt)()
	in := w.input(tt)
	for range 32 {
		w.plan = cron.Decide(in)
		switch w.plan.NextStep() {
		case cron.StepRead:
			for _, read := range w.plan.Read {
				w.answer(&in, tt, read)
			}
		case cron.StepStop:
			for _, d := range w.plan.Stop {
				w.act("stop %s", short(d.Name))
				in.AddStopResult(d, w.remove(d))
			}
		case cron.StepStart:
			start := adapter.Start{Timing: in.Policy.Timing, Memory: in.Stored}
			if w.plan.StatusWrite != nil {
				start.Memory = w.plan.StatusWrite.Memory
			}
			for _, start.Start = range w.plan.Starts {
				child, err := w.create(tt, start)
				in.AddStartResult(start.Start, cron.CreateResultOf(child, err))
				if w.dieAfter > 0 {
					if w.dieAfter--; w.dieAfter == 0 {
						w.crash()
						return
					}
				}
			}
		case cron.StepCheckTemplate:
			in.AddTemplateCheckResult(w.dryRun(tt, adapter.Start{Start: *w.plan.CheckTemplate, Timing: in.Policy.Timing, Memory: in.Stored}))
		case cron.StepWriteStatus:
			in.AddStatusWriteResult(w.write(tt, *w.plan.StatusWrite))
			tt = w.stored()
		case cron.StepPrune:
			for _, d := range w.plan.Prune {
				w.act("prune %s", short(d.Name))
				in.AddPruneResult(d, w.remove(d))
			}
		default:
			w.speak(w.plan.Events)
			w.carried = w.plan.Carried
			if !w.plan.Wake.IsZero() && !w.plan.Wake.After(w.now) {
				w.fail("the wake-up is at %s", shortTime(w.plan.Wake))
			}
			return
		}
	}
	w.t.Fatal("the pass has no end")
}

// keeps checks, when what it returns is called, that nobody has modified a Timetable meanwhile: caches share it.
func (w *world) keeps(tt *timetable.Object) func() {
	was := tt.DeepCopy()
	return func() {
		w.t.Helper()
		if !reflect.DeepEqual(was.Timetable, tt.Timetable) {
			w.fail("what the cache has was modified: %s", cmp.Diff(was.Timetable, tt.Timetable))
		}
	}
}

func (w *world) act(format string, args ...any) {
	w.acts = append(w.acts, fmt.Sprintf(format, args...))
}

func (w *world) answer(in *cron.Input, tt *timetable.Object, read cron.ReadRequest) {
	if read.Owner {
		in.AddReadOwnerResult(in.Owner, in.Policy, in.Stored, w.failRead)
		return
	}
	child := w.children[read.Name]
	if child == nil || w.failRead != nil {
		in.AddReadChildResult(read, nil, w.failRead)
		return
	}
	found := w.readChild(tt, child)
	in.AddReadChildResult(read, &found, nil)
}

var jobs = schema.GroupResource{Group: "batch", Resource: "jobs"}

func (w *world) create(tt *timetable.Object, start adapter.Start) (*cron.Child, error) {
	built, err := worldKind.Build(cached(tt), start)
	if err != nil {
		return nil, err
	}
	child := loose(w.t, built)
	if child.GetName() != start.Name {
		w.t.Errorf("asked for %s, built %s", start.Name, child.GetName())
	}
	if w.failExcept != "" && w.failExcept != start.Name {
		w.act("refused %s", short(start.Name))
		return nil, apierrors.NewServiceUnavailable("try again")
	}
	if w.failCreate != nil {
		w.act("refused %s", short(start.Name))
		return nil, w.failCreate
	}
	if w.children[child.GetName()] != nil {
		return nil, apierrors.NewAlreadyExists(jobs, child.GetName())
	}
	w.act("create %s", short(start.Name))
	if w.strip {
		child.SetOwnerReferences(nil)
	}
	w.enter(child)
	if w.created != nil {
		w.created(child.GetName())
	}
	if w.loseAnswers {
		w.hidden[child.GetName()] = w.hides
		return nil, errors.New("connection reset")
	}
	read := w.readChild(tt, child)
	return &read, nil
}

// dryRun is a dry run of a create.
func (w *world) dryRun(tt *timetable.Object, start adapter.Start) cron.TemplateCheckResult {
	w.t.Helper()
	if !start.Time.After(w.now) {
		w.fail("a dry run of %s", start.Name)
	}
	w.dryRuns++
	if w.children[start.Name] != nil {
		return worldKind.JudgeTemplate(tt, nil, apierrors.NewAlreadyExists(jobs, start.Name), nil)
	}
	built, err := worldKind.Build(tt, start)
	if err != nil {
		w.t.Fatal(err)
	}
	if w.strip {
		built.SetOwnerReferences(nil)
	}
	return worldKind.JudgeTemplate(tt, built, w.failDryRun, w.failStrict)
}

// enter puts an object on the server.
func (w *world) enter(child *unstructured.Unstructured) {
	w.uids++
	child.SetUID(types.UID(fmt.Sprintf("%s/%d", child.GetName(), w.uids)))
	child.SetCreationTimestamp(metav1.NewTime(w.now.Truncate(time.Second)))
	w.children[child.GetName()] = child
}

// remove deletes a child as propagation Foreground does: one that is unfinished is gone when somebody says so (gone).
func (w *world) remove(d cron.Deletion) error {
	child := w.children[d.Name]
	switch {
	case w.failDelete != nil:
		return w.failDelete
	case child == nil || child.GetUID() != d.UID:
		return apierrors.NewNotFound(jobs, d.Name)
	case isFinished(child):
		delete(w.children, d.Name)
	case child.GetDeletionTimestamp() == nil:
		child.SetDeletionTimestamp(new(metav1.NewTime(w.now)))
	}
	return nil
}

func isFinished(child *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(child.Object, "status", "conditions")
	return len(conditions) > 0
}

func (w *world) write(tt *timetable.Object, record cron.StatusWrite) error {
	w.t.Helper()
	patches, err := worldKind.Patches(cached(tt), record)
	if err != nil {
		w.t.Fatal(err)
	}
	if len(patches) == 0 {
		w.fail("a write that changes nothing: %s", record)
		return nil
	}
	if w.failWrite != nil {
		return w.failWrite
	}
	w.writes++
	var patch map[string]any
	if err := utiljson.Unmarshal(patches[0].Data, &patch); err != nil {
		w.t.Fatal(err)
	}
	of := patch["metadata"].(map[string]any)
	if of["resourceVersion"] != w.metadata()["resourceVersion"] || of["uid"] != "u1" {
		return apierrors.NewConflict(jobs, "tick", errors.New("changed"))
	}
	w.timetable["status"] = merged(w.timetable["status"], patch["status"])
	w.admit()
	w.checkCounts()
	if w.written != nil {
		w.written(w.stored())
	}
	return nil
}

// checkCounts checks the second equation of TG5 (TT-186), and that each result is one of timetable.md 4.3.
func (w *world) checkCounts() {
	w.t.Helper()
	s := w.stored().Status
	if c := s.Counts; c.Started != c.Succeeded+c.Failed+c.Cancelled+int64(len(s.Active)) {
		w.fail("%d have started, and %d are active: %+v", c.Started, len(s.Active), c)
	}
	for _, e := range s.Ledger {
		if words := (adapter.OutcomeWords{Result: string(e.Result), Reason: e.Reason}); !slices.Contains(worldKind.Outcomes(), words) {
			w.fail("an entry of the ledger says %+v, which timetable.md 4.3 does not have", words)
		}
	}
}

// speak publishes events, each cause once.
func (w *world) speak(events []cron.Event) {
	for _, e := range events {
		if e.DedupKey != "" && w.said[e.Reason+e.DedupKey] {
			continue
		}
		w.said[e.Reason+e.DedupKey] = true
		if w.spoken != nil {
			w.spoken(e)
		}
		w.act("say %s", e.Reason)
	}
}

// crash is another process; its cache is as new as the server when it begins (timetable.md 5.5 F2).
func (w *world) crash() {
	w.carried, w.said, w.hidden = cron.Memory{}, map[string]bool{}, map[string]bool{}
	if w.crashed != nil {
		w.crashed()
	}
}

// clock brings the world to a time, through all wake-ups on the way.
func (w *world) clock(to time.Time) {
	w.t.Helper()
	var acts []string
	writes := 0
	for range 10_000 {
		wake := w.plan.Wake
		if wake.IsZero() || wake.After(to) {
			break
		}
		w.now = wake
		w.pass()
		acts, writes = append(acts, w.acts...), writes+w.writes
	}
	w.now, w.acts, w.writes = to, acts, writes
}
