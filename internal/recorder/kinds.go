// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/kind"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/kind/timetable"
	"github.com/carillon-dev/carillon/internal/outcome"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

var (
	jobKind        = batchv1.SchemeGroupVersion.WithKind("Job")
	podKind        = corev1.SchemeGroupVersion.WithKind("Pod")
	timetableKind  = kind.Timetable{}.Info().Owner
	definitionKind = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}
)

// kinds are those that are followed: what the built-in kinds of CronJob start, and what Timetables do as far as it is
// known.
type kinds struct {
	recorder *Recorder
	// changed has a token when a kind may be served that was not.
	changed chan struct{}
	running sync.WaitGroup

	mu     sync.Mutex
	wanted map[string]*wanted
	// started: it was looked once which kinds are served.
	started bool
	// omitted are the fingerprints of the omissions in the status of each Timetable.
	omitted map[types.UID][]uint64
}

// wanted is a kind to be followed.
type wanted struct {
	gvk    schema.GroupVersionKind
	list   func() client.ObjectList
	choose []client.ListOption
	// read reads an object as a run; false: it is none.
	read func(ctx context.Context, object client.Object) (run.Run, bool)
	// containers reads the containers of the object's Pods; nil where that is not known.
	containers func(client.Object) run.Containers
	// podsByName: Pods tell the name of the run that they belong to, and no UID.
	podsByName bool
	// seen and gone are called instead of read for objects that are no runs.
	seen, gone func(client.Object)

	// follower is nil while nobody follows the kind. kinds.mu guards it.
	follower *follower
	// listedOnce: it has been listed, or is not served any more. kinds.mu guards it.
	listedOnce bool
	// round counts the lists. Recorder.mu guards it.
	round uint32
}

// follow follows all kinds until ctx ends.
func (k *kinds) follow(ctx context.Context) {
	defer k.running.Wait()
	for _, w := range k.atOnce(ctx) {
		k.want(w)
	}
	// What was defined a moment ago is served a little later, so it is looked for some times more.
	const tries = 4
	left, again := tries, time.NewTimer(0)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.changed:
			left = tries
		case <-again.C:
		}
		all, err := k.start(ctx)
		if ctx.Err() != nil {
			continue
		}
		if err != nil { // nobody knows what is served; without an error it need not have been asked
			k.recorder.reached(err)
			left = tries
		}
		every := k.recorder.o.LookForKinds
		switch left--; {
		case !all && left > 0:
			again.Reset(time.Second << (tries - 1 - left))
		case every > 0: // a kind that is followed may cease to be served, too
			again.Reset(every)
		}
		k.tellListed()
	}
}

// atOnce are the kinds that are followed in any case.
func (k *kinds) atOnce(ctx context.Context) []*wanted {
	all := []*wanted{
		{
			gvk: jobKind, list: func() client.ObjectList { return &batchv1.JobList{} },
			read: func(_ context.Context, object client.Object) (run.Run, bool) {
				job, ok := object.(*batchv1.Job)
				if !ok {
					return run.Run{}, false
				}
				return run.FromJob(job), true
			},
			containers: func(object client.Object) run.Containers {
				job, ok := object.(*batchv1.Job)
				if !ok {
					return run.Containers{}
				}
				return run.ContainersOf(&job.Spec.Template.Spec)
			},
		},
		{gvk: timetableKind, list: func() client.ObjectList { return &timetable.ObjectList{} }, seen: k.timetableSeen, gone: k.timetableGone},
	}
	for _, of := range kind.All {
		if info := of.Info(); info.Child != jobKind {
			all = append(all, k.unstructured(info.Child, nil))
		}
	}
	if k.recorder.o.LookForKinds == 0 {
		all = append(all, &wanted{
			gvk: definitionKind, list: metadataList(definitionKind),
			seen: func(client.Object) { signal(k.changed) }, gone: func(client.Object) {},
		})
	}
	if pods := k.recorder.newPodLogs(); pods != nil {
		all = append(all, pods.wanted(ctx))
	}
	return all
}

// unstructured is a kind of which only those objects are runs that a schedule controls.
func (k *kinds) unstructured(gvk schema.GroupVersionKind, choose []client.ListOption) *wanted {
	return &wanted{
		gvk: gvk, choose: choose, podsByName: gvk.Group == "batch.volcano.sh",
		list: func() client.ObjectList {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(listKind(gvk))
			return list
		},
		read: func(ctx context.Context, object client.Object) (run.Run, bool) {
			content, ok := object.(*unstructured.Unstructured)
			if !ok {
				return run.Run{}, false
			}
			state := run.FromObject(content, k.recorder.ownerOf(ctx, content))
			return state, state.Owner != run.Owner{}
		},
	}
}

// ownerOf is the Timetable that controls an object, where only that knows how to tell its end; nil if that is not so,
// or it is not there.
func (r *Recorder) ownerOf(ctx context.Context, object *unstructured.Unstructured) adapter.Object {
	gvk := object.GroupVersionKind()
	ref := metav1.GetControllerOfNoCopy(object)
	if ref == nil || ref.Kind != timetableKind.Kind || outcome.Known(gvk.GroupVersion().String(), gvk.Kind) != nil {
		return nil
	}
	owner := &timetable.Object{}
	if err := r.o.Client.Get(ctx, client.ObjectKey{Namespace: object.GetNamespace(), Name: ref.Name}, owner); err != nil || owner.UID != ref.UID {
		return nil
	}
	return owner
}

func (k *kinds) pods() *wanted {
	return &wanted{
		gvk: podKind, list: func() client.ObjectList { return &corev1.PodList{} }, choose: ofTimetables(),
		read: func(_ context.Context, object client.Object) (run.Run, bool) {
			pod, ok := object.(*corev1.Pod)
			if !ok {
				return run.Run{}, false
			}
			state := run.FromPod(pod)
			return state, state.Owner != run.Owner{}
		},
		containers: func(object client.Object) run.Containers {
			pod, ok := object.(*corev1.Pod)
			if !ok {
				return run.Containers{}
			}
			return run.ContainersOf(&pod.Spec)
		},
	}
}

func ofTimetables() []client.ListOption {
	return []client.ListOption{client.HasLabels{v1alpha1.LabelTimetableUID}}
}

func metadataList(gvk schema.GroupVersionKind) func() client.ObjectList {
	return func() client.ObjectList {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(listKind(gvk))
		return list
	}
}

func listKind(gvk schema.GroupVersionKind) schema.GroupVersionKind {
	gvk.Kind += "List"
	return gvk
}

// want has a kind followed from now on, if it is not yet.
func (k *kinds) want(w *wanted) {
	key := w.gvk.String()
	if w.seen != nil {
		key += " beside" // beside those that are runs
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.wanted[key] == nil {
		k.wanted[key] = w
		signal(k.changed)
	}
}

// start follows the wanted kinds that are served and are not followed; true if nothing is left to be followed. The
// error says that what is served could not be found out.
func (k *kinds) start(ctx context.Context) (all bool, failed error) {
	all = true
	k.mu.Lock()
	defer k.mu.Unlock()
	k.started = true
	for _, w := range k.wanted {
		if w.follower != nil {
			continue
		}
		if _, err := k.recorder.o.Client.RESTMapper().RESTMapping(w.gvk.GroupKind(), w.gvk.Version); err != nil {
			all = false
			if !meta.IsNoMatchError(err) {
				failed = err
			}
			continue
		}
		w.follower = k.newFollower(ctx, w)
		k.running.Go(func() {
			err := w.follower.run(ctx)
			k.mu.Lock()
			w.follower, w.listedOnce = nil, true
			k.mu.Unlock()
			k.tellListed()
			if ctx.Err() == nil {
				k.recorder.o.Logger.V(1).Info("A kind is not served any more", "kind", w.gvk.String(), "reason", err.Error())
			}
		})
	}
	return all, failed
}

func (k *kinds) newFollower(ctx context.Context, w *wanted) *follower {
	r := k.recorder
	f := &follower{
		client: r.o.Client, list: w.list, choose: w.choose, log: r.o.Logger.WithValues("kind", w.gvk.String()), again: make(chan struct{}, 1),
		seen: w.seen, gone: w.gone, listing: func() {}, listed: func() {}, reached: r.reached,
		forbidden: func(err error) {
			r.o.Warn(fmt.Sprintf("%s may not be read and are left out until they may be: %v", w.gvk.GroupKind(), err))
		},
	}
	if r.o.Namespace != "" && w.gvk != definitionKind {
		f.choose = append(slices.Clip(f.choose), client.InNamespace(r.o.Namespace))
	}
	if w.read == nil {
		return f
	}
	f.listing = func() { r.listing(w) }
	f.listed = func() {
		r.listed(w)
		k.mu.Lock()
		w.listedOnce = true
		k.mu.Unlock()
		k.tellListed()
	}
	f.seen = func(object client.Object) {
		state, ok := w.read(ctx, object)
		if !ok {
			return
		}
		var containers run.Containers
		if w.containers != nil {
			containers = w.containers(object)
		}
		r.seen(w, state, containers)
	}
	f.gone = func(object client.Object) {
		if state, ok := w.read(ctx, object); ok {
			r.gone(w, state)
		}
	}
	return f
}

// tellListed closes listedOnce when all kinds of runs that are followed have been listed, after the first look at which
// of them are served.
func (k *kinds) tellListed() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.started || isClosed(k.recorder.listedOnce) {
		return
	}
	for _, w := range k.wanted {
		if w.read != nil && w.follower != nil && !w.listedOnce {
			return
		}
	}
	close(k.recorder.listedOnce)
}

// followsNames tells whether a kind is followed whose Pods tell no more than the name.
func (k *kinds) followsNames() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, w := range k.wanted {
		if w.podsByName && w.follower != nil {
			return true
		}
	}
	return false
}

// lookAgain has all objects of all kinds seen again.
func (k *kinds) lookAgain() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, w := range k.wanted {
		if w.follower != nil {
			signal(w.follower.again)
		}
	}
}

// timetableSeen takes in what the status of a Timetable tells of times that were not started, and follows what it
// starts.
func (k *kinds) timetableSeen(object client.Object) {
	t, ok := object.(*timetable.Object)
	if !ok {
		return
	}
	for _, gvk := range (kind.Timetable{}).ChildKinds(t) {
		switch {
		case gvk == jobKind, gvk.Empty(), !(kind.Timetable{}).MayBeChild(gvk):
		case gvk == podKind:
			k.want(k.pods())
		default:
			k.want(k.unstructured(gvk, ofTimetables()))
		}
	}
	omissions := run.OmissionsOf(&t.Timetable, time.Now())
	marks := make([]uint64, len(omissions))
	for i, o := range omissions {
		o.Seen = time.Time{}
		marks[i] = maphash.Comparable(seed, o)
	}
	k.mu.Lock()
	before := k.omitted[t.UID]
	if len(marks) == 0 {
		delete(k.omitted, t.UID)
	} else {
		k.omitted[t.UID] = marks
	}
	k.mu.Unlock()
	fresh := omissions[:0]
	for i, mark := range marks {
		if !slices.Contains(before, mark) {
			fresh = append(fresh, omissions[i])
		}
	}
	k.recorder.omitted(fresh)
}

func (k *kinds) timetableGone(object client.Object) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.omitted, object.GetUID())
}
