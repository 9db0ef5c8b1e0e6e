// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// takeover keeps a process that has begun to lead from deciding on caches that may not show yet what the leader before
// it did (timetable.md F2). When it begins to lead, nothing that another one sent can have an effect any more (package
// fence); so caches that have come as far as the API server is then show all of it.
//
// How far the server is, one LIST of one object tells. A cache hears of a change at once, but that there was none it
// hears only with the next bookmark, up to a minute later. So that nobody waits for that, a short watch of its own
// asks for what came after the cache's version: it is answered by a change, or by a bookmark within a second or two.
type takeover struct {
	client client.WithWatch
	caches []followed
	// complete is closed when the caches are new enough.
	complete chan struct{}
}

// followed is the cache of one type.
type followed struct {
	gvk schema.GroupVersionKind
	// progress is the resource version that the cache has reached, "" if it cannot tell yet.
	progress func() string
	// selector is what the cache is restricted to; nil: it has all.
	selector labels.Selector
}

func newTakeover(mgr ctrl.Manager, caches ...followed) (*takeover, error) {
	c, err := client.NewWithWatch(mgr.GetConfig(), client.Options{HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return nil, err
	}
	return &takeover{client: c, caches: caches, complete: make(chan struct{})}, nil
}

const (
	// takeoverRecheck is how often a cache is looked at, and takeoverRetry how soon a call that failed is made again.
	takeoverRecheck = 100 * time.Millisecond
	takeoverRetry   = time.Second
	// unchangedTimeout ends the short watch. API servers send a bookmark two seconds before the end of a watch.
	unchangedTimeout = 3 * time.Second
)

// wait returns true when the caches are new enough, and false when ctx ends before that. On nil it returns at once.
func (t *takeover) wait(ctx context.Context) bool {
	if t == nil {
		return true
	}
	select {
	case <-t.complete:
		return true
	default:
	}
	select {
	case <-t.complete:
		return true
	case <-ctx.Done():
		return false
	}
}

// run makes the takeover complete as soon as it can. It is called once, when this process begins to lead.
func (t *takeover) run(ctx context.Context, log logr.Logger) {
	if t == nil {
		return
	}
	begun := time.Now()
	var running sync.WaitGroup
	for _, c := range t.caches {
		running.Go(func() { t.follow(ctx, c, log) })
	}
	running.Wait()
	if ctx.Err() == nil {
		log.Info("The caches show all that a leader before this one did", "after", time.Since(begun).Round(time.Millisecond).String())
		close(t.complete)
	}
}

// follow returns when the cache is as new as the server is now, or ctx ends.
func (t *takeover) follow(ctx context.Context, c followed, log logr.Logger) {
	wanted, err := t.current(ctx, c.gvk)
	for said := ""; err != nil && ctx.Err() == nil; wanted, err = t.current(ctx, c.gvk) {
		if err.Error() != said {
			said = err.Error()
			log.Error(err, "Cannot find out how new the caches have to be before this leader starts anything; trying again")
		}
		pause(ctx, takeoverRetry)
	}
	for ctx.Err() == nil {
		if progress := c.progress(); reached(progress, wanted) || t.unchanged(ctx, c, progress, wanted) {
			return
		}
		pause(ctx, takeoverRecheck)
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// current is the resource version of the server for objects of this type.
func (t *takeover) current(ctx context.Context, gvk schema.GroupVersionKind) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	list := metadataList(gvk)
	if err := t.client.List(ctx, list, client.Limit(1)); err != nil {
		return "", fmt.Errorf("listing one %s: %w", gvk.Kind, err)
	}
	return list.ResourceVersion, nil
}

// unchanged reports whether no object of this cache changed between two resource versions. If it cannot find out it says
// no.
func (t *takeover) unchanged(ctx context.Context, c followed, from, to string) bool {
	if from == "" {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, 2*unchangedTimeout)
	defer cancel()
	changes, err := t.client.Watch(ctx, metadataList(c.gvk), &client.ListOptions{LabelSelector: c.selector, Raw: &metav1.ListOptions{
		ResourceVersion: from, AllowWatchBookmarks: true, TimeoutSeconds: ptr.To(int64(unchangedTimeout / time.Second)),
	}})
	if err != nil {
		return false
	}
	defer changes.Stop()
	for change := range changes.ResultChan() {
		if change.Type != watch.Bookmark {
			return false // the cache is about to show it
		}
		if bookmark, ok := change.Object.(metav1.Object); ok && reached(bookmark.GetResourceVersion(), to) {
			return true
		}
	}
	return false
}

func metadataList(gvk schema.GroupVersionKind) *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	return list
}

// reached reports whether one resource version is not older than the other.
func reached(progress, wanted string) bool {
	order, err := resourceversion.CompareResourceVersion(progress, wanted)
	return err == nil && order >= 0
}
