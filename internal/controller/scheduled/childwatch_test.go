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

	"github.com/go-logr/logr/testr"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/kube/lister"
)

var (
	jobKind    = schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}
	widgetKind = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
)

// watching are childWatches whose watches the test opens and breaks, in the time of a synctest bubble.
type watching struct {
	*childWatches
	t *testing.T

	mu sync.Mutex
	// answers say what becomes of the next attempts to open a watch; one that has none hangs.
	answers map[schema.GroupVersionKind]func() (*adapter.ChildTrouble, error)
	// asked is how often each kind was to be opened, ended how many watches were, open what is.
	asked, ended map[schema.GroupVersionKind]int
	open         map[schema.GroupVersionKind]chan adapter.ChildTrouble
	indexers     map[schema.GroupVersionKind]toolscache.Indexer
	told         []string
}

// watches runs a test in a bubble, and ends the watches at its end.
func watches(t *testing.T, test func(*watching)) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		w := &watching{t: t, answers: map[schema.GroupVersionKind]func() (*adapter.ChildTrouble, error){}, asked: map[schema.GroupVersionKind]int{},
			ended: map[schema.GroupVersionKind]int{}, open: map[schema.GroupVersionKind]chan adapter.ChildTrouble{}, indexers: map[schema.GroupVersionKind]toolscache.Indexer{}}
		w.childWatches = newChildWatches(ctx, series{}, w.attempt, w.changed, clock.RealClock{}, testr.New(t))
		test(w)
		cancel()
		if err := w.Start(ctx); err != nil {
			t.Error(err)
		}
	})
}

// attempt is the openWatch.
func (w *watching) attempt(ctx context.Context, k *childKind) (*lister.Lister, <-chan adapter.ChildTrouble, *adapter.ChildTrouble, error) {
	w.mu.Lock()
	w.asked[k.gvk]++
	answer := w.answers[k.gvk]
	w.mu.Unlock()
	if answer == nil {
		<-ctx.Done()
		return nil, nil, nil, ctx.Err()
	}
	if trouble, err := answer(); trouble != nil || err != nil {
		return nil, nil, trouble, err
	}
	context.AfterFunc(ctx, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.ended[k.gvk]++
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	indexer := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{})
	l, err := lister.Over(indexer)
	w.open[k.gvk], w.indexers[k.gvk] = make(chan adapter.ChildTrouble, 1), indexer
	return l, w.open[k.gvk], nil, err
}

func (w *watching) changed(keys []types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, key := range keys {
		w.told = append(w.told, key.Name)
	}
}

// let says what becomes of attempts to open the watch of a kind.
func (w *watching) let(kind schema.GroupVersionKind, trouble *adapter.ChildTrouble, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answers[kind] = func() (*adapter.ChildTrouble, error) { return trouble, err }
}

// needs asks for an object's kinds and compares what it is told: "waits", "ready", or the trouble.
func (w *watching) wants(object, want string, kinds ...schema.GroupVersionKind) {
	w.t.Helper()
	synctest.Wait()
	_, trouble, ready := w.need(types.NamespacedName{Namespace: "batch", Name: object}, types.UID(object), kinds, false)
	got := "waits"
	if trouble != nil {
		got = trouble.Why
	} else if ready {
		got = "ready"
	}
	if got != want {
		w.t.Errorf("%s: %s, want %s", object, got, want)
	}
	synctest.Wait()
}

// hears compares who has been told to look again since the last time.
func (w *watching) hears(want ...string) {
	w.t.Helper()
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	slices.Sort(w.told)
	if diff := cmp.Diff(want, w.told, cmpopts.EquateEmpty()); diff != "" {
		w.t.Errorf("told to look again (-want +got):\n%s", diff)
	}
	w.told = nil
}

// tries compares how often a kind was to be opened, and how many of its watches have ended.
func (w *watching) tries(kind schema.GroupVersionKind, asked, ended int) {
	w.t.Helper()
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.asked[kind] != asked || w.ended[kind] != ended {
		w.t.Errorf("%s: %d attempts and %d ends, want %d and %d", kind.Kind, w.asked[kind], w.ended[kind], asked, ended)
	}
}

// Children of a kind are watched from the first object that needs it until some time after the last one; objects wait
// for their own kinds only.
func TestChildWatches(t *testing.T) {
	notGranted := &adapter.ChildTrouble{Why: "not granted"}
	notServed := &adapter.ChildTrouble{NotServed: true, Why: "not served"}
	for name, test := range map[string]func(*watching){
		"objects of one kind share its watch, and wait until it is open": func(w *watching) {
			w.wants("a", "waits", jobKind)
			w.wants("b", "waits", jobKind)
			w.tries(jobKind, 1, 0)
			w.hears()
		},
		"those that wait are told when it is open": func(w *watching) {
			w.let(jobKind, nil, nil)
			w.wants("a", "waits", jobKind)
			w.hears("a")
			w.wants("a", "ready", jobKind)
			w.wants("b", "ready", jobKind)
			w.hears()
			w.tries(jobKind, 1, 0)
		},
		"a kind that hangs holds up nobody else": func(w *watching) {
			w.let(jobKind, nil, nil)
			w.wants("stuck", "waits", widgetKind)
			w.wants("a", "waits", jobKind)
			w.wants("a", "ready", jobKind)
			w.wants("stuck", "waits", widgetKind)
			w.hears("a")
		},
		"TT-200 a kind that is not granted is told, and asked for anew at least every five minutes": func(w *watching) {
			w.let(jobKind, notGranted, nil)
			w.wants("a", "waits", jobKind)
			w.hears("a")
			w.wants("a", "not granted", jobKind)
			time.Sleep(5 * time.Second)
			w.tries(jobKind, 2, 0)
			time.Sleep(time.Hour)
			w.hears()
			w.tries(jobKind, 2+5+10, 0) // after 10, 20, 40, 80, 160 s, then each 5 min
			w.let(jobKind, nil, nil)
			time.Sleep(5 * time.Minute)
			w.hears("a")
			w.wants("a", "ready", jobKind)
		},
		"another trouble is news": func(w *watching) {
			w.let(jobKind, notServed, nil)
			w.wants("a", "waits", jobKind)
			w.hears("a")
			w.let(jobKind, notGranted, nil)
			time.Sleep(5 * time.Second)
			w.hears("a")
			w.wants("a", "not granted", jobKind)
		},
		"the kind of an older run that cannot be watched is known": func(w *watching) {
			former := func(want string) {
				w.t.Helper()
				got := ""
				if kind, why := w.formerTrouble("a"); why != nil {
					got = kind.Kind + ": " + why.Why
				}
				if got != want {
					w.t.Errorf("%q, want %q", got, want)
				}
			}
			former("")
			w.let(jobKind, nil, nil)
			w.let(widgetKind, notGranted, nil)
			w.wants("a", "waits", jobKind)
			w.wants("a", "ready", jobKind)
			former("")
			w.wants("a", "waits", jobKind, widgetKind)
			w.wants("a", "ready", jobKind, widgetKind)
			former("Widget: not granted")
			w.wants("a", "ready", jobKind)
			former("")
		},
		"a right that is taken away later is told": func(w *watching) {
			w.let(jobKind, nil, nil)
			w.wants("a", "waits", jobKind)
			w.hears("a")
			w.let(jobKind, notGranted, nil)
			w.open[jobKind] <- *notGranted
			w.hears("a")
			w.wants("a", "not granted", jobKind)
			w.tries(jobKind, 1, 1)
			w.let(jobKind, nil, nil)
			time.Sleep(5 * time.Second)
			w.hears("a")
			w.wants("a", "ready", jobKind)
			w.tries(jobKind, 2, 1)
		},
		"what may pass is told only when it lasts": func(w *watching) {
			w.let(jobKind, nil, errors.New("connection refused"))
			w.wants("a", "waits", jobKind)
			time.Sleep(50 * time.Second)
			w.hears()
			w.wants("a", "waits", jobKind)
			time.Sleep(time.Minute)
			w.hears("a")
			w.wants("a", "it cannot be listed: the API server does not answer", jobKind)
		},
		"it is told without addresses, and once, however often it is tried": func(w *watching) {
			attempts := 0
			w.answers[jobKind] = func() (*adapter.ChildTrouble, error) {
				attempts++
				return nil, fmt.Errorf("read tcp 10.0.0.7:%d->10.96.0.1:443: connection reset by peer", 40000+attempts)
			}
			w.wants("a", "waits", jobKind)
			time.Sleep(5 * time.Minute)
			w.hears("a")
			time.Sleep(time.Hour)
			w.hears()
			w.let(jobKind, nil, apierrors.NewServiceUnavailable("no endpoints for 10.96.0.1"))
			time.Sleep(passingRecheck)
			w.hears("a")
			w.wants("a", "it cannot be listed: the API server answers with ServiceUnavailable", jobKind)
		},
		"what may pass is tried at least every half minute": func(w *watching) {
			w.let(jobKind, nil, errors.New("connection refused"))
			w.wants("a", "waits", jobKind)
			time.Sleep(time.Hour)
			w.let(jobKind, nil, nil)
			time.Sleep(passingRecheck)
			w.wants("a", "ready", jobKind)
		},
		"a watch ends ten minutes after the last object has let go of it": func(w *watching) {
			w.let(jobKind, nil, nil)
			w.wants("a", "waits", jobKind)
			w.wants("b", "ready", jobKind)
			w.forget("a")
			time.Sleep(time.Hour)
			w.tries(jobKind, 1, 0)
			w.forget("b")
			time.Sleep(watchLinger - time.Second)
			w.tries(jobKind, 1, 0)
			time.Sleep(time.Second)
			w.tries(jobKind, 1, 1)
			w.wants("c", "waits", jobKind)
			w.wants("c", "ready", jobKind)
			w.tries(jobKind, 2, 1)
		},
		"a watch that is needed again in time stays": func(w *watching) {
			w.let(jobKind, nil, nil)
			w.wants("a", "waits", jobKind)
			w.forget("a")
			time.Sleep(watchLinger - time.Minute)
			w.wants("b", "ready", jobKind)
			w.forget("b")
			time.Sleep(watchLinger - time.Minute)
			w.tries(jobKind, 1, 0)
			w.wants("c", "ready", jobKind)
			time.Sleep(time.Hour)
			w.tries(jobKind, 1, 0)
		},
		"a kind that nobody needs any more is not asked for": func(w *watching) {
			w.let(widgetKind, notServed, nil)
			w.wants("a", "waits", widgetKind)
			w.forget("a")
			time.Sleep(watchLinger)
			synctest.Wait()
			asked := w.asked[widgetKind]
			time.Sleep(time.Hour)
			w.tries(widgetKind, asked, 0)
		},
		"an object that changes the kind keeps the former one while a child of it lives": func(w *watching) {
			w.let(jobKind, nil, nil)
			w.let(widgetKind, nil, nil)
			w.wants("a", "waits", jobKind)
			old := &unstructured.Unstructured{}
			old.SetGroupVersionKind(jobKind)
			old.SetNamespace("batch")
			old.SetName("a-1")
			old.SetOwnerReferences(controlledBy("a"))
			if err := w.indexers[jobKind].Add(old); err != nil {
				w.t.Fatal(err)
			}
			w.wants("a", "waits", widgetKind)
			w.wants("a", "ready", widgetKind)
			if kinds, _, _ := w.need(types.NamespacedName{Name: "a"}, "a", []schema.GroupVersionKind{widgetKind}, false); len(kinds) != 2 || kinds[0].gvk != widgetKind || kinds[1].gvk != jobKind {
				w.t.Errorf("has %d kinds, want Widget and Job", len(kinds))
			}
			time.Sleep(time.Hour)
			w.tries(jobKind, 1, 0)
			if err := w.indexers[jobKind].Delete(old); err != nil {
				w.t.Fatal(err)
			}
			if kinds, _, _ := w.need(types.NamespacedName{Name: "a"}, "a", []schema.GroupVersionKind{widgetKind}, true); len(kinds) != 2 {
				w.t.Errorf("has %d kinds while something is active, want two", len(kinds))
			}
			w.wants("a", "ready", widgetKind)
			if kinds, _, _ := w.need(types.NamespacedName{Name: "a"}, "a", []schema.GroupVersionKind{widgetKind}, false); len(kinds) != 1 {
				w.t.Errorf("has %d kinds, want Widget alone", len(kinds))
			}
			time.Sleep(watchLinger)
			synctest.Wait()
			w.tries(jobKind, 1, 1)
		},
		"an object waits for the kinds of its older children, too": func(w *watching) {
			w.let(widgetKind, nil, nil)
			w.wants("a", "waits", widgetKind, jobKind)
			w.hears("a")
			w.wants("a", "waits", widgetKind, jobKind)
		},
		"an object that names no kind because it cannot be read waits for none": func(w *watching) {
			w.wants("a", "ready")
			w.tries(jobKind, 0, 0)
		},
	} {
		t.Run(name, func(t *testing.T) { watches(t, test) })
	}
}
