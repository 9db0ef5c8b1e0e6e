// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/carillon-dev/carillon/internal/kind"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	batch "github.com/carillon-dev/carillon/internal/kind/batchv1"
	"github.com/carillon-dev/carillon/internal/kind/kindtest"
	"github.com/carillon-dev/carillon/internal/kind/tutorial"
	"github.com/carillon-dev/carillon/internal/kind/volcano"
	"github.com/carillon-dev/carillon/internal/kube/events"
	"github.com/carillon-dev/carillon/internal/kube/lister"
	"github.com/carillon-dev/carillon/internal/kube/loadgate"
	"github.com/carillon-dev/carillon/internal/kube/ownwrites"
	"github.com/carillon-dev/carillon/internal/testkit/sim"
)

// letters are the kinds by the letter of cronjob.md.
var letters = map[string]kind.Kind{"K": batch.Kind{}, "V": volcano.Kind{}, "T": tutorial.Kind{}}

// api is an API server that holds the CronJobs of one kind, and their children, as JSON: what Go types do not know is
// not lost in it, and what its CRD does not know is. A reconciler works against it through a cache that is always
// fresh; time passes from one thing to do to the next.
type api struct {
	*testing.T
	*reconciler
	letter string
	scheme *runtime.Scheme
	time   *clocktesting.FakeClock
	timers *sim.Timers
	ride   bool
	crd    *kindtest.CRD // of the CronJob; nil: everything is taken

	mu       sync.Mutex
	cronJobs map[string]map[string]any
	jobs     map[string]map[string]any
	version  int
	seen     int            // version that the cache shows
	calls    map[string]int // by "verb name-of-the-CronJob"
	trail    []string       // "verb name", in order
	hidden   []string       // children that the cache does not show
	stale    map[string]any // the CronJob as the cache shows it, if not as it is
	// refuse, if set, may fail a create of a child, or change the child as a webhook does. fail fails calls, by
	// "verb name".
	refuse func(child map[string]any) error
	fail   map[string]error
	told   []corev1.Event

	shelves map[schema.GroupVersionKind]toolscache.Indexer // what the cache shows
	pending map[types.NamespacedName]time.Time             // what is in the queue, and when
}

// serve starts an API of that kind at the creation of the fixture.
func serve(t *testing.T, letter string) *api {
	t.Helper()
	k := letters[letter]
	a := &api{T: t, letter: letter, scheme: runtime.NewScheme(), time: clocktesting.NewFakeClock(created), ride: k.Info().Traits.StatusCarriesAnnotation,
		cronJobs: map[string]map[string]any{}, jobs: map[string]map[string]any{}, shelves: map[schema.GroupVersionKind]toolscache.Indexer{}, calls: map[string]int{},
		pending: map[types.NamespacedName]time.Time{}}
	if err := k.AddToScheme(a.scheme); err != nil {
		t.Fatal(err)
	}
	if letter == "T" {
		text, err := os.ReadFile("../../../deploy/crds/batch.tutorial.kubebuilder.io_cronjobs.yaml")
		if err != nil {
			t.Fatal(err)
		}
		a.crd = kindtest.ParseCRDs(t, text)[0]
	}
	r, err := newReconciler(k, a.scheme)
	if err != nil {
		t.Fatal(err)
	}
	a.reconciler = r
	r.log = logr.Discard()
	r.owners, r.child.cache = a.shelf(r.info.Owner), a.shelf(r.info.Child)
	r.ownWrites, r.child.writes = ownwrites.New[client.Object](nil), ownwrites.New[client.Object](nil)
	c := apiClient{api: a}
	r.live, r.writer = c, c
	r.clock, r.readOptions, r.gate = a.time, adapter.ReadOptions{Zone: time.UTC}, loadgate.New(clock.RealClock{})
	if source := k.Info().Traits.EventSource; source != "" {
		r.recorder = events.NewRecorder(events.Options{Sink: apiSink{a}, Component: source, Clock: a.time, Logger: r.log})
	}
	a.timers = &sim.Timers{}
	r.timers = a.timers
	r.begin()
	q := queue(apiQueue{api: a})
	r.queue.Store(&q)
	return a
}

func (a *api) shelf(gvk schema.GroupVersionKind) *lister.Lister {
	a.Helper()
	a.shelves[gvk] = toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{})
	l, err := lister.Over(a.shelves[gvk])
	if err != nil {
		a.Fatal(err)
	}
	return l
}

// cronJob is the fixture of cronjob.md 7 in the API's own form, changed.
func (a *api) cronJob(name string, change func(spec map[string]any)) map[string]any {
	apiVersion, kind := a.info.Owner.ToAPIVersionAndKind()
	spec := map[string]any{
		"schedule": "*/10 * * * *", "concurrencyPolicy": "Allow", "successfulJobsHistoryLimit": int64(3), "failedJobsHistoryLimit": int64(1),
		"jobTemplate": map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
			"restartPolicy": "Never", "containers": []any{map[string]any{"name": "c", "image": "i"}}}}}},
	}
	if change != nil {
		change(spec)
	}
	return map[string]any{"apiVersion": apiVersion, "kind": kind,
		"metadata": map[string]any{"name": name, "namespace": "batch", "uid": "uid-" + name, "generation": int64(1),
			"creationTimestamp": created.Format(time.RFC3339), "annotations": map[string]any{}},
		"spec": spec}
}

// put stores a CronJob as an older server left it, unchecked, and lets the controller know.
func (a *api) put(obj map[string]any) {
	a.Helper()
	name := obj["metadata"].(map[string]any)["name"].(string)
	a.mu.Lock()
	a.version++
	obj["metadata"].(map[string]any)["resourceVersion"] = fmt.Sprint(a.version)
	a.cronJobs[name] = obj
	a.mu.Unlock()
	a.enqueue(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "batch", Name: name}}, 0)
}

// edit changes a stored CronJob as a user does.
func (a *api) edit(name string, change func(obj, spec map[string]any)) {
	a.Helper()
	obj := runtime.DeepCopyJSON(a.cronJobs[name])
	spec := obj["spec"].(map[string]any)
	change(obj, spec)
	obj["metadata"].(map[string]any)["generation"] = obj["metadata"].(map[string]any)["generation"].(int64) + 1
	a.put(obj)
}

// until lets time pass up to that time of day.
func (a *api) until(clockTime string) {
	a.Helper()
	a.pass(hour(clockTime))
}

// pass lets time pass, from one thing to do to the next, up to and with that instant. A controller that spins never gets
// there; it is stopped after far more syncs than anything needs.
func (a *api) pass(end time.Time) {
	a.Helper()
	syncs := 0
	for {
		var key types.NamespacedName
		next := end.Add(time.Second)
		rings := false
		names := slices.Sorted(maps.Keys(a.cronJobs))
		for _, name := range names {
			k := types.NamespacedName{Namespace: "batch", Name: name}
			if at, ok := a.timers.Next(k); ok && at.Before(next) {
				key, next, rings = k, at, true
			}
			if at, ok := a.pending[k]; ok && at.Before(next) {
				key, next, rings = k, at, false
			}
		}
		if next.After(end) {
			a.time.SetTime(end)
			return
		}
		if syncs++; syncs > 5000 {
			a.Fatalf("%d syncs and it is only %s", syncs, a.time.Now().Format(time.TimeOnly))
		}
		if next.After(a.time.Now()) {
			a.time.SetTime(next)
		}
		if rings {
			a.timers.Cancel(key)
			a.ring([]types.NamespacedName{key})
		}
		a.sync(key)
	}
}

// once makes one sync over the CronJob of the fixture.
func (a *api) once() {
	a.Helper()
	a.sync(tickKey)
}

// sync makes a sync, both halves, and lets its events be written.
func (a *api) sync(key types.NamespacedName) {
	a.Helper()
	delete(a.pending, key)
	a.see()
	if _, err := a.Reconcile(a.Context(), reconcile.Request{NamespacedName: key}); err != nil {
		a.Fatal(err)
	}
	for a.statusQueue.waiting() > 0 {
		a.statusQueue.next(a.Context())
	}
	a.write()
}

// write lets the recorder write its events.
func (a *api) write() {
	a.Helper()
	if a.recorder == nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := a.recorder.Start(ctx); err != nil {
		a.Fatal(err)
	}
}

// see lets the cache catch up.
func (a *api) see() {
	a.Helper()
	if a.seen == a.version {
		return
	}
	a.seen = a.version
	for gvk, objs := range map[schema.GroupVersionKind]map[string]map[string]any{a.info.Owner: a.cronJobs, a.info.Child: a.jobs} {
		var all []any
		for _, name := range slices.Sorted(maps.Keys(objs)) {
			obj := objs[name]
			if slices.Contains(a.hidden, name) {
				continue
			}
			if gvk == a.info.Owner && a.stale != nil {
				obj = a.stale
			}
			typed, err := a.scheme.New(gvk)
			if err != nil {
				a.Fatal(err)
			}
			a.convert(obj, typed)
			cached, err := a.trim(typed)
			if err != nil {
				a.Fatal(err)
			}
			all = append(all, cached)
		}
		if err := a.shelves[gvk].Replace(all, ""); err != nil {
			a.Fatal(err)
		}
	}
}

// restart gives the API with another process at work on it, which knows what the server has and nothing else.
func (a *api) restart() *api {
	a.Helper()
	next := serve(a.T, a.letter)
	next.cronJobs, next.jobs, next.version, next.refuse = a.cronJobs, a.jobs, a.version, a.refuse
	next.calls, next.trail, next.told = a.calls, a.trail, a.told
	next.time.SetTime(a.time.Now())
	for name := range a.cronJobs {
		next.enqueue(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "batch", Name: name}}, 0)
	}
	return next
}

// finish ends a child of a batch/v1 Job's form, or of Volcano's.
func (a *api) finish(child string, ok bool, clockTime string) {
	a.Helper()
	a.finishAt(child, ok, hour(clockTime))
}

func (a *api) finishAt(child string, ok bool, ended time.Time) {
	a.Helper()
	at := ended.Format(time.RFC3339)
	condition, phase := "Failed", "Failed"
	if ok {
		condition, phase = "Complete", "Completed"
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	obj := a.jobs[child]
	if obj == nil {
		a.Fatalf("there is no %s, only %v", child, slices.Sorted(maps.Keys(a.jobs)))
	}
	a.version++
	obj["metadata"].(map[string]any)["resourceVersion"] = fmt.Sprint(a.version)
	obj["status"] = map[string]any{"startTime": at, "completionTime": at,
		"conditions": []any{map[string]any{"type": condition, "status": "True", "lastTransitionTime": at}},
		"state":      map[string]any{"phase": phase, "lastTransitionTime": at}}
	ref := obj["metadata"].(map[string]any)["ownerReferences"].([]any)[0].(map[string]any)
	a.pending[types.NamespacedName{Namespace: "batch", Name: ref["name"].(string)}] = a.time.Now()
}

func (a *api) convert(from, into any) {
	a.Helper()
	data, err := json.Marshal(from)
	if err == nil {
		err = utiljson.Unmarshal(data, into)
	}
	if err != nil {
		a.Fatal(err)
	}
}

// events are those told about a CronJob, as "Reason", and their messages.
func (a *api) events(name string) (reasons, messages []string) {
	for _, e := range a.told {
		if e.InvolvedObject.Name == name {
			reasons, messages = append(reasons, e.Reason), append(messages, e.Message)
		}
	}
	return reasons, messages
}
