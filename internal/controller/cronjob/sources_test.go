// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cronjob

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/carillon-dev/carillon/internal/kind/volcano"
)

// listening is a cache whose only informer hands its handler to the test.
type listening struct {
	crcache.Cache
	crcache.Informer
	heard chan toolscache.ResourceEventHandler
}

func (l listening) GetInformer(context.Context, client.Object, ...crcache.InformerGetOption) (crcache.Informer, error) {
	return l, nil
}

func (l listening) WaitForCacheSync(context.Context) bool { return true }
func (l listening) HasSynced() bool                       { return true }
func (l listening) HasSyncedChecker() toolscache.DoneChecker {
	return nil
}

func (l listening) AddEventHandlerWithOptions(h toolscache.ResourceEventHandler, _ toolscache.HandlerOptions) (toolscache.ResourceEventHandlerRegistration, error) {
	l.heard <- h
	return l, nil
}

// hear gives what an informer would call, for handlers as the controller sets them up.
func (a *api) hear(obj client.Object, h handlers) toolscache.ResourceEventHandler {
	a.Helper()
	l := listening{heard: make(chan toolscache.ResourceEventHandler, 1)}
	src := source.Kind[client.Object](l, obj, h)
	if err := src.Start(a.Context(), apiQueue{api: a}); err != nil {
		a.Fatal(err)
	}
	return <-l.heard
}

// A watch that missed a delete tells of it by a tombstone: one that holds a Job calls for a pass over its CronJob, one
// that holds anything else is passed over (CJ-054). A resync calls for a pass in kinds K and T, and for none in V
// (CJ-041, CJ-042).
func TestWhatInformersSend(t *testing.T) {
	for _, letter := range []string{"K", "V", "T"} {
		a := serve(t, letter)
		a.put(a.cronJob("tick", nil))
		a.has(run{at: "12:10:00"})
		a.see()
		owner, _ := a.owners.Get(tickKey)
		job, _ := a.children.Get(types.NamespacedName{Namespace: "batch", Name: a.jobName("12:10:00")})
		jobs, cronJobs := a.hear(a.newChild(), a.childHandlers()), a.hear(a.newOwner(), a.ownerHandlers())
		resync := []string{"tick"}
		if letter == "V" {
			resync = nil
		}
		changed := owner.DeepCopyObject().(client.Object)
		changed.SetResourceVersion("99")
		foreign := job.DeepCopyObject().(client.Object)
		refs := foreign.GetOwnerReferences()
		refs[0].APIVersion = map[string]string{"K": "batch.volcano.sh/v1alpha1", "V": "batch/v1", "T": "batch/v1"}[letter]
		foreign.SetOwnerReferences(refs)
		for name, c := range map[string]struct {
			send func()
			want []string
		}{
			"CJ-054 a tombstone with a Job": {func() { jobs.OnDelete(toolscache.DeletedFinalStateUnknown{Key: "batch/x", Obj: job}) }, []string{"tick"}},
			"CJ-054 a tombstone with something else": {func() {
				jobs.OnDelete(toolscache.DeletedFinalStateUnknown{Key: "batch/x", Obj: "a Job, once"})
				jobs.OnDelete(toolscache.DeletedFinalStateUnknown{Key: "batch/x"})
				jobs.OnDelete("not even a tombstone")
			}, nil},
			"CJ-040 a tombstone with a CronJob": {func() {
				cronJobs.OnDelete(toolscache.DeletedFinalStateUnknown{Key: "batch/tick", Obj: owner})
			}, []string{"tick"}},
			"CJ-041 CJ-042 a resync":                    {func() { cronJobs.OnUpdate(owner, owner) }, resync},
			"CJ-043 an update":                          {func() { cronJobs.OnUpdate(owner, changed) }, []string{"tick"}},
			"CJ-050 a resync of a Job":                  {func() { jobs.OnUpdate(job, job) }, nil},
			"CJ-055 a Job of a CronJob of another kind": {func() { jobs.OnAdd(foreign, false) }, nil},
			"a Job of ours":                             {func() { jobs.OnAdd(job, false) }, []string{"tick"}},
		} {
			t.Run(letter+" "+name, func(t *testing.T) {
				clear(a.pending)
				c.send()
				var got []string
				for key := range a.pending {
					got = append(got, key.Name)
				}
				if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("called for (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// Fewer workers than one is a mistake that is told before anything runs; none asked for is the default (CJ-167).
func TestWorkers(t *testing.T) {
	for workers, ok := range map[int]bool{-1: false, 0: true, 1: true, 500: true} {
		o := Options{Workers: workers}
		if err := o.complete(); (err == nil) != ok {
			t.Errorf("%d workers: %v", workers, err)
		}
		if ok && (o.Workers < 1 || workers > 0 && o.Workers != workers) {
			t.Errorf("%d workers asked for, %d taken", workers, o.Workers)
		}
	}
	for _, wrong := range []Options{{Workers: -1}, {Bookkeepers: -1}} {
		if err := Add(nil, wrong); err == nil {
			t.Errorf("%d workers and %d bookkeepers were accepted", wrong.Workers, wrong.Bookkeepers)
		}
	}
}

// absent is a manager of an API server that serves these kinds. Nothing else of it may be asked for.
type absent struct {
	ctrl.Manager
	meta.RESTMapper
	served map[string]bool
	asked  int
}

func (m *absent) GetLogger() logr.Logger         { return logr.Discard() }
func (m *absent) GetRESTMapper() meta.RESTMapper { return m }
func (m *absent) RESTMapping(gk schema.GroupKind, _ ...string) (*meta.RESTMapping, error) {
	m.asked++
	if !m.served[gk.Kind] {
		return nil, &meta.NoKindMatchError{GroupKind: gk}
	}
	return &meta.RESTMapping{}, nil
}

// Volcano switches its CronJob and its Job off one by one. Unless both are served nothing of kind V runs, nothing fails,
// and it is looked for again (CJ-168).
func TestHalfAnAPI(t *testing.T) {
	for _, served := range []map[string]bool{{}, {"CronJob": true}, {"Job": true}} {
		t.Run(fmt.Sprint(served), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &absent{served: served}
				s := &starter{mgr: m, kind: volcano.Kind{}, options: Options{Discovery: time.Second}}
				ctx, stop := context.WithTimeout(t.Context(), time.Minute)
				defer stop()
				if err := s.Start(ctx); err != nil {
					t.Error(err)
				}
				if m.asked < 60 {
					t.Errorf("looked for %d times in a minute", m.asked)
				}
			})
		})
	}
}
