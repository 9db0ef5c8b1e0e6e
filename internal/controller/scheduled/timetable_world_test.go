// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/kind/timetable"
	"github.com/carillon-dev/carillon/internal/kube/events"
	"github.com/carillon-dev/carillon/internal/kube/lister"
	"github.com/carillon-dev/carillon/internal/kube/loadgate"
	"github.com/carillon-dev/carillon/internal/kube/ownwrites"
	"github.com/carillon-dev/carillon/internal/testkit/sim"
)

// timetabled is a reconciler of Timetables in a synctest bubble, between a simulated server and caches that follow it
// whenever the test looks away.
type timetabled struct {
	*reconciler
	t      testing.TB
	server client.WithWatch
	owners toolscache.Indexer
	jobs   toolscache.Indexer
	queued *queued
	uids   int
	// answer is how the next status write goes.
	answer writeAnswer
	// refuses, if set, may refuse a status write, by its JSON.
	refuses func(written []byte) error
	// strict, if set, is the answer to dry runs that allow no unknown field.
	strict error
	// said are the events.
	said heard
}

// heard is a sink that keeps what is said.
type heard struct {
	mu   sync.Mutex
	list []corev1.Event
}

// Create implements events.Sink.
func (h *heard) Create(_ context.Context, e *corev1.Event) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.list = append(h.list, *e)
	return nil
}

// Patch implements events.Sink: a repetition is not counted here.
func (h *heard) Patch(context.Context, string, string, []byte) error { return nil }

// says gives the messages of the events of this reason so far.
func (w *timetabled) says(reason string) (messages []string) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := w.recorder.Start(ctx); err != nil {
		w.t.Fatal(err)
	}
	for _, e := range w.said.list {
		if e.Reason == reason {
			messages = append(messages, e.Type+": "+e.Message)
		}
	}
	return messages
}

// writeAnswer is what becomes of a status write.
type writeAnswer int

const (
	asAsked writeAnswer = iota
	notWritten
	// writtenUnanswered is made, and the answer gets lost.
	writtenUnanswered
	// refusedAsStale comes after somebody else has changed the object.
	refusedAsStale
)

// serveTimetable runs a test with a Timetable that is due each minute.
func serveTimetable(t *testing.T, spec func(*v1alpha1.TimetableSpec), test func(*timetabled)) {
	synctest.Test(t, func(t *testing.T) {
		tt := &timetable.Object{}
		tt.ObjectMeta = metav1.ObjectMeta{Namespace: tickKey.Namespace, Name: tickKey.Name, UID: "tt-1", Generation: 1, CreationTimestamp: metav1.Now()}
		tt.Spec.Schedules = []v1alpha1.Schedule{{Name: "main", Cron: minute}}
		tt.Spec.Template.Spec = runtime.RawExtension{Raw: []byte(`{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}`)}
		if spec != nil {
			spec(&tt.Spec)
		}
		scheme := runtime.NewScheme()
		for _, add := range []func(*runtime.Scheme) error{batchv1.AddToScheme, timetable.AddToScheme} {
			if err := add(scheme); err != nil {
				t.Fatal(err)
			}
		}
		w := &timetabled{t: t, queued: &queued{}}
		raw := fake.NewClientBuilder().WithScheme(scheme).WithObjects(tt).WithStatusSubresource(&timetable.Object{}).Build()
		w.server = interceptor.NewClient(raw, w.intercept(raw))
		ctx, cancel := context.WithCancel(t.Context())
		w.begin(ctx, scheme)
		test(w)
		cancel()
		if err := w.watches.Start(ctx); err != nil {
			t.Error(err)
		}
	})
}

// begin is a new process.
func (w *timetabled) begin(ctx context.Context, scheme *runtime.Scheme) {
	r, err := newReconciler(timetable.Kind{}, scheme)
	if err != nil {
		w.t.Fatal(err)
	}
	w.reconciler = r
	w.owners = toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{})
	if r.owners, err = lister.Over(w.owners); err != nil {
		w.t.Fatal(err)
	}
	r.ownWrites, r.log = ownwrites.New[client.Object](nil), logr.Discard()
	r.live, r.writer = w.server, w.server
	r.clock, r.gate, r.readOptions = clock.RealClock{}, loadgate.New(clock.RealClock{}), adapter.ReadOptions{Zone: time.UTC}
	r.recorder = events.NewRecorder(events.Options{Sink: &w.said, Component: "timetable-controller", Clock: r.clock, Logger: r.log})
	r.timers = &sim.Timers{}
	open := func(context.Context, *childKind) (*lister.Lister, <-chan adapter.ChildTrouble, *adapter.ChildTrouble, error) {
		w.jobs = toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{})
		w.seeJobs()
		l, err := lister.Over(w.jobs)
		return l, nil, nil, err
	}
	r.watches = newChildWatches(ctx, timetable.Kind{}, open, r.enqueueAll, r.clock, r.log)
	r.begin()
	q := queue(w.queued)
	r.queue.Store(&q)
}

// intercept gives children UIDs, deletes them as propagation Foreground does, and answers status writes as the test says.
func (w *timetabled) intercept(raw client.WithWatch) interceptor.Funcs {
	return interceptor.Funcs{
		Create: func(ctx context.Context, next client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			var asked client.CreateOptions
			asked.ApplyOptions(opts)
			if w.strict != nil && len(asked.DryRun) > 0 && asked.FieldValidation == metav1.FieldValidationStrict {
				return w.strict
			}
			w.uids++
			obj.SetUID(types.UID(fmt.Sprintf("child-%d", w.uids)))
			obj.SetCreationTimestamp(metav1.Now())
			return next.Create(ctx, obj, opts...)
		},
		Delete: func(ctx context.Context, next client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			var o client.DeleteOptions
			if o.ApplyOptions(opts); o.PropagationPolicy != nil && *o.PropagationPolicy == metav1.DeletePropagationForeground {
				held := obj.DeepCopyObject().(client.Object)
				patch := []byte(`{"metadata":{"finalizers":["foregroundDeletion"]}}`)
				if err := raw.Patch(ctx, held, client.RawPatch(types.MergePatchType, patch)); err != nil {
					return err
				}
			}
			return next.Delete(ctx, obj, opts...)
		},
		SubResourcePatch: func(ctx context.Context, next client.Client, sub string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			if w.refuses != nil {
				data, err := patch.Data(obj)
				if err != nil {
					w.t.Fatal(err)
				}
				if err := w.refuses(data); err != nil {
					return err
				}
			}
			answer := w.answer
			w.answer = asAsked
			broken := apierrors.NewInternalError(errors.New("the store did not answer"))
			switch answer {
			case notWritten:
				return broken
			case refusedAsStale:
				tt := w.stored()
				metav1.SetMetaDataAnnotation(&tt.ObjectMeta, "theirs", tt.ResourceVersion)
				if err := raw.Update(ctx, tt); err != nil {
					w.t.Error(err)
				}
			}
			err := next.SubResource(sub).Patch(ctx, obj, patch, opts...)
			if answer == writtenUnanswered && err == nil {
				err = broken
			}
			return err
		},
	}
}

// stored is the Timetable as the server has it.
func (w *timetabled) stored() *timetable.Object {
	tt := &timetable.Object{}
	if err := w.server.Get(w.t.Context(), tickKey, tt); err != nil {
		w.t.Fatal(err)
	}
	return tt
}

func (w *timetabled) seeJobs() {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(jobKind)
	if err := w.server.List(w.t.Context(), list, client.HasLabels{v1alpha1.LabelTimetableUID}); err != nil {
		w.t.Error(err)
	}
	var all []any
	for i := range list.Items {
		all = append(all, &list.Items[i])
	}
	if err := w.jobs.Replace(all, ""); err != nil {
		w.t.Error(err)
	}
}

// sync makes a sync with fresh caches, both halves, and another one if it has to wait for the watch of Jobs.
func (w *timetabled) sync() {
	for range 2 {
		if err := w.owners.Replace([]any{w.stored()}, ""); err != nil {
			w.t.Fatal(err)
		}
		if w.jobs != nil {
			w.seeJobs()
		}
		w.queued.forget()
		if _, err := w.Reconcile(w.t.Context(), reconcile.Request{NamespacedName: tickKey}); err != nil {
			w.t.Fatal(err)
		}
		for w.statusQueue.waiting() > 0 {
			w.statusQueue.next(w.t.Context())
		}
		if synctest.Wait(); !slices.Contains(w.queued.keys, tickKey.String()) {
			return
		}
	}
}

// next lets minutes pass and makes a sync.
func (w *timetabled) next(minutes int) {
	time.Sleep(time.Duration(minutes) * time.Minute)
	w.sync()
}

// finish ends all Jobs that run.
func (w *timetabled) finish(condition batchv1.JobConditionType) {
	var jobs batchv1.JobList
	if err := w.server.List(w.t.Context(), &jobs); err != nil {
		w.t.Fatal(err)
	}
	for i := range jobs.Items {
		job := &jobs.Items[i]
		if len(job.Status.Conditions) > 0 {
			continue
		}
		job.Status.Conditions = []batchv1.JobCondition{{Type: condition, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
		if err := w.server.Status().Update(w.t.Context(), job); err != nil {
			w.t.Fatal(err)
		}
	}
}

// edit changes the spec.
func (w *timetabled) edit(change func(*v1alpha1.TimetableSpec)) {
	tt := w.stored()
	change(&tt.Spec)
	tt.Generation++
	if err := w.server.Update(w.t.Context(), tt); err != nil {
		w.t.Fatal(err)
	}
}
