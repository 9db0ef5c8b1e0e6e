// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/carillon-dev/carillon/internal/client/task"
)

const (
	// soon and late are how long an API server that does not answer is left alone, at first and at most; a viewer waits
	// for it.
	soon, late = 250 * time.Millisecond, 4 * time.Second
	// unservedWait is how long a kind is left alone that is not served or may not be read.
	unservedWait = 20 * time.Second
)

// subject is what pages count a kind as.
type subject int

// The subjects. Calendars are neither.
const (
	aboutOthers subject = iota
	aboutSchedules
	aboutRuns
)

// watched is one kind that is watched.
type watched struct {
	// name is the kind in words: "CronJobs", "CronJobs of Volcano".
	name string
	// example is an object, list an empty list of the kind.
	example client.Object
	list    func() client.ObjectList
	store   toolscache.TransformingStore
	// optional: few servers have the kind, and nobody misses it where it is not served.
	optional bool
	// about is what pages count it as.
	about subject
	// after is watched first: what is read depends on it. Nil: nothing does.
	after *watched
	// again has a token when all objects are to be read again.
	again chan struct{}

	// settled is closed once it is known what there is, or that it cannot be known.
	settled chan struct{}

	mu      sync.Mutex
	trouble string
}

// isSettled tells whether settled is closed.
func (w *watched) isSettled() bool {
	select {
	case <-w.settled:
		return true
	default:
		return false
	}
}

// settle closes it.
func (w *watched) settle() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.isSettled() {
		close(w.settled)
	}
}

// why says in words why it is not known what there is; "" if it is known.
func (w *watched) why() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.trouble
}

func (w *watched) setTrouble(text string) (changed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	changed = w.trouble != text
	w.trouble = text
	return changed
}

// told is a store that knows when it was filled.
type told struct {
	toolscache.TransformingStore
	filled func()
}

// Replace implements toolscache.ReflectorStore.
func (t told) Replace(all []any, version string) error {
	err := t.TransformingStore.Replace(all, version)
	t.filled()
	return err
}

// run watches until ctx ends. tell hears of trouble that begins, and with "" that it is over.
func (w *watched) run(ctx context.Context, log *slog.Logger, c client.WithWatch, namespace string, tell func(trouble string)) {
	if w.after != nil {
		select {
		case <-w.after.settled:
		case <-ctx.Done():
			return
		}
	}
	filled := func() {
		w.settle()
		if w.setTrouble("") {
			tell("")
		}
	}
	silent := klog.LoggerWithName(klog.Background().V(4), "page") // what goes wrong is told here
	ctx = klog.NewContext(ctx, silent)
	reflector := toolscache.NewReflectorWithOptions(w.listerWatcher(c, namespace), w.example, told{w.store, filled}, toolscache.ReflectorOptions{
		Name: w.name, Backoff: &wait.Backoff{Duration: soon, Cap: late, Factor: 2, Steps: 1000, Jitter: 0.2},
	})
	pause := soon
	for ctx.Err() == nil {
		began := time.Now()
		var again bool
		err := task.Do(log, "watching "+w.name, func() (err error) {
			again, err = w.watchOnce(ctx, reflector)
			return err
		})
		lasted := time.Since(began) > late
		if lasted {
			pause = soon
		}
		switch trouble := ""; {
		case ctx.Err() != nil:
			return
		case err == nil && (lasted || again):
			continue
		case err == nil: // the watch ended as soon as it had begun
			w.pause(ctx, pause)
			pause = min(2*pause, late)
		case meta.IsNoMatchError(err), apierrors.IsNotFound(err):
			if !w.optional {
				trouble = "are not known: the API server does not serve them"
			}
			_ = w.store.Replace(nil, "") // what is not served any more is gone
			w.unknown(trouble, tell)
			w.pause(ctx, unservedWait)
		case apierrors.IsForbidden(err):
			w.unknown("may not be read: "+reason(err), tell)
			w.pause(ctx, unservedWait)
		default:
			if trouble = "cannot be read now, so that they may be out of date: " + reason(err); w.setTrouble(trouble) {
				tell(trouble)
			}
			w.pause(ctx, pause)
			pause = min(2*pause, late)
		}
	}
}

// unknown takes in that it cannot be known what there is.
func (w *watched) unknown(trouble string, tell func(string)) {
	w.settle()
	if w.setTrouble(trouble) {
		tell(trouble)
	}
}

// reason is an error as the API server, or nobody, gave it, without what its client puts around it.
func reason(err error) string {
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		if status, ok := inner.(apierrors.APIStatus); ok {
			return status.Status().Message
		}
	}
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return err.Error()
}

func (w *watched) pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-w.again:
	case <-ctx.Done():
	}
}

// watchOnce lists and watches until that ends, or all is to be read again: again says so.
func (w *watched) watchOnce(ctx context.Context, reflector *toolscache.Reflector) (again bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan struct{})
	once, stop := context.WithCancel(ctx)
	wanted := false
	defer func() {
		stop()
		<-ended
		again = wanted
	}()
	go func() {
		defer close(ended)
		select {
		case <-w.again:
			wanted = true
			stop()
		case <-once.Done():
		}
	}()
	return false, reflector.ListAndWatchWithContext(once)
}

// listerWatcher lists and watches the kind.
func (w *watched) listerWatcher(c client.WithWatch, namespace string) toolscache.ListerWatcher {
	options := func(o metav1.ListOptions) *client.ListOptions {
		return &client.ListOptions{Namespace: namespace, Raw: &o, Limit: o.Limit, Continue: o.Continue}
	}
	return toolscache.ToListWatcherWithWatchListSemantics(&toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			list := w.list()
			return list, c.List(ctx, list, options(o))
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return c.Watch(ctx, w.list(), options(o))
		},
	}, c)
}
