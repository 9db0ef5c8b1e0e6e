// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"testing"
	"time"

	"github.com/go-logr/logr"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	kinds "github.com/carillon-dev/carillon/internal/kind/batchv1"
	"github.com/carillon-dev/carillon/internal/kube/events"
	"github.com/carillon-dev/carillon/internal/kube/lister"
	"github.com/carillon-dev/carillon/internal/kube/loadgate"
	"github.com/carillon-dev/carillon/internal/kube/ownwrites"
	"github.com/carillon-dev/carillon/internal/kube/wallclock"
	"github.com/carillon-dev/carillon/internal/testkit/make"
)

// assorted is the n-th CronJob as the API server stores it, and sends it to a watch.
func assorted(tb testing.TB, n int) []byte {
	cj := make.Assorted(n)
	cj.UID, cj.ResourceVersion, cj.Generation = uuid.NewUUID(), fmt.Sprint(1000000+n), 1
	cj.CreationTimestamp = metav1.NewTime(created)
	last := metav1.NewTime(created.Add(-time.Hour))
	cj.Status.LastScheduleTime, cj.Status.LastSuccessfulTime = &last, &last
	if cj.Annotations == nil {
		cj.Annotations = map[string]string{}
	}
	cj.Annotations["carillon.dev/timetable"] = `{"schedules":["` + cj.Spec.Schedule + `"],"timeZone":"Etc/UTC"}`
	cj.ManagedFields = []metav1.ManagedFieldsEntry{
		entry("helm", "", `{"f:metadata":{"f:labels":{"f:team":{}}},"f:spec":{"f:concurrencyPolicy":{},"f:jobTemplate":{"f:spec":{"f:template":`+
			`{"f:spec":{"f:containers":{"k:{\"name\":\"main\"}":{".":{},"f:args":{},"f:command":{},"f:image":{},"f:name":{}}}}}}},"f:schedule":{}}}`, created),
		entry("carillon-manager", "status", `{"f:status":{"f:lastScheduleTime":{},"f:lastSuccessfulTime":{}}}`, created),
	}
	data, err := cj.Marshal()
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

func decoded(tb testing.TB, data []byte) *batchv1.CronJob {
	cj := &batchv1.CronJob{}
	if err := cj.Unmarshal(data); err != nil {
		tb.Fatal(err)
	}
	return cj
}

// alive is how many bytes of the heap are in use by what fill has made.
func alive(fill func() any) float64 {
	heap := func() uint64 {
		runtime.GC()
		runtime.GC() // what the first one found free, finalizers and weak pointers included
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	made := fill()
	after := heap()
	runtime.KeepAlive(made)
	return float64(after) - float64(before)
}

// indexer is the store of an informer as controller-runtime makes it.
func indexer() toolscache.Indexer {
	return toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{toolscache.NamespaceIndex: toolscache.MetaNamespaceIndexFunc})
}

// served is a controller after the first sync over each of the CronJobs, with its cache.
func served(tb testing.TB, stored [][]byte) *reconciler {
	scheme := apiruntime.NewScheme()
	k := kinds.Kind{}
	if err := k.AddToScheme(scheme); err != nil {
		tb.Fatal(err)
	}
	r, err := newReconciler(k, scheme)
	if err != nil {
		tb.Fatal(err)
	}
	owners, children := indexer(), indexer()
	for _, data := range stored {
		obj, err := r.trim(decoded(tb, data))
		if err != nil {
			tb.Fatal(err)
		}
		if err := owners.Add(obj); err != nil {
			tb.Fatal(err)
		}
	}
	ownerLister, err := lister.Over(owners)
	if err != nil {
		tb.Fatal(err)
	}
	childLister, err := lister.Over(children)
	if err != nil {
		tb.Fatal(err)
	}
	r.owners, r.child.cache = ownerLister, childLister
	r.ownWrites, r.child.writes = ownwrites.New[client.Object](nil), ownwrites.New[client.Object](nil)
	now := clocktesting.NewFakeClock(created)
	r.clock, r.readOptions, r.gate, r.log = now, adapter.ReadOptions{Zone: time.UTC}, loadgate.New(clock.RealClock{}), logr.Discard()
	r.recorder = events.NewRecorder(events.Options{Component: "cronjob-controller", Clock: now, Logger: r.log})
	r.timers = wallclock.NewTimers(now)
	r.begin()
	for _, key := range owners.ListKeys() {
		namespace, name, _ := toolscache.SplitMetaNamespaceKey(key)
		if _, err := r.Reconcile(tb.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}); err != nil {
			tb.Fatal(err)
		}
	}
	if open := r.statusQueue.waiting(); open > 0 {
		tb.Fatalf("%d CronJobs are to be written to: nothing is due in what was made", open)
	}
	return r
}

// A CronJob that waits for its time takes at most half of the memory that its typed object alone would take in the
// store of an informer, with all that the controller remembers of it.
func TestMemoryOfWaitingCronJobs(t *testing.T) {
	const n = 3000
	stored := [][]byte{}
	for i := range n {
		stored = append(stored, assorted(t, i))
	}
	typed := alive(func() any {
		store := indexer()
		for _, data := range stored {
			cj := decoded(t, data)
			cj.ManagedFields = nil
			if err := store.Add(cj); err != nil {
				t.Fatal(err)
			}
		}
		return store
	})
	ours := alive(func() any { return served(t, stored) })
	t.Logf("%.0f bytes for each CronJob, %.0f in a store of typed objects: %.2f", ours/n, typed/n, ours/typed)
	if ours > typed/2 {
		t.Errorf("%.0f bytes for each CronJob, which is more than half of the %.0f bytes of its typed object", ours/n, typed/n)
	}
	if path := os.Getenv("CARILLON_HEAP_PROFILE"); path != "" {
		profile(t, path, stored)
	}
}

func profile(t *testing.T, path string, stored [][]byte) {
	r := served(t, stored)
	runtime.GC()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := pprof.Lookup("heap").WriteTo(f, 0); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	runtime.KeepAlive(r)
}

// What a start pays for the form of cached CronJobs.
func BenchmarkBuild(b *testing.B) {
	k := kinds.Kind{}
	start := adapter.Start{Start: cron.Start{Name: "daily-00000-29631610", Stamp: "2026-05-04T03:00:00Z", Time: created}}
	for n, size := range []string{"short", "nightly", "4 KB"} {
		whole := decoded(b, assorted(b, n))
		for form, obj := range map[string]client.Object{"typed": whole, "cached": k.Compact(whole)} {
			b.Run(size+"/"+form, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := k.Build(obj, start); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// What a cache pays for it.
func BenchmarkTrim(b *testing.B) {
	data := assorted(b, 2)
	for b.Loop() {
		if _, err := trim(decoded(b, data)); err != nil {
			b.Fatal(err)
		}
	}
}
