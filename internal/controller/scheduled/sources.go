// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	authorization "k8s.io/client-go/kubernetes/typed/authorization/v1"
	toolscache "k8s.io/client-go/tools/cache"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/carillon-dev/carillon/internal/kind"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/kube/lister"
	"github.com/carillon-dev/carillon/internal/kube/ownwrites"
)

// watchedKinds are the API types that a kind is watched by all the time, and without which it cannot be served.
func watchedKinds(k kind.Kind) []schema.GroupVersionKind {
	kinds := []schema.GroupVersionKind{k.Info().Owner}
	if _, chooses := k.(adapter.ChildChooser); !chooses {
		kinds = append(kinds, k.Info().Child)
	}
	if dependent, ok := k.(adapter.Dependent); ok {
		kinds = append(kinds, dependent.DependencyKinds()...)
	}
	return kinds
}

// otherSources sets up what is watched beside the CronJobs: their children, and what they depend on. The cache is for all
// that is watched from the beginning.
func (s *starter) otherSources(ctx context.Context, r *reconciler, owners *lister.Lister, cache crcache.Cache) ([]source.Source, error) {
	var sources []source.Source
	if r.child != nil {
		children, err := lister.For(ctx, cache, r.child.new())
		if err != nil {
			return nil, err
		}
		r.child.cache, r.child.writes = children, ownwrites.New[client.Object](children.Progress)
		if r.takeover != nil {
			r.takeover.caches = append(r.takeover.caches, followed{gvk: r.child.gvk, progress: children.Progress})
		}
		sources = append(sources, source.Kind(cache, r.child.new(), r.childHandlers(r.child)))
	} else if err := s.addWatches(ctx, r); err != nil {
		return nil, err
	}
	dependent, ok := s.kind.(adapter.Dependent)
	if !ok {
		return sources, nil
	}
	others, err := dependencySources(ctx, dependent, r, owners, s.ownCache, s.mgr.Elected(), s.mgr.GetScheme())
	return append(sources, others...), err
}

// ownCache gives a cache for one type, which tells of the errors of its watch.
func (s *starter) ownCache(failed func(error)) (crcache.Cache, error) {
	own, err := crcache.New(s.mgr.GetConfig(), crcache.Options{
		HTTPClient: s.mgr.GetHTTPClient(), Scheme: s.mgr.GetScheme(), Mapper: s.mgr.GetRESTMapper(), DefaultTransform: Trim(s.kind),
		DefaultWatchErrorHandler: func(ctx context.Context, r *toolscache.Reflector, err error) {
			toolscache.DefaultWatchErrorHandler(ctx, r, err)
			failed(err)
		},
	})
	if err != nil {
		return nil, err
	}
	return own, s.mgr.Add(warm{own})
}

// dependencySources sets up what is watched because CronJobs are read together with it, each kind in a cache of its own,
// for which nobody else waits. elected is closed when this process leads.
func dependencySources(ctx context.Context, kind adapter.Dependent, r *reconciler, owners *lister.Lister, newCache func(failed func(error)) (crcache.Cache, error),
	elected <-chan struct{}, scheme *runtime.Scheme) ([]source.Source, error) {
	depend, err := newDependencies(kind, owners)
	if err != nil {
		return nil, err
	}
	r.depends, r.readOptions.Dependency, r.readOptions.DependencyTrouble = depend, depend.get, depend.trouble
	var sources []source.Source
	for _, gvk := range kind.DependencyKinds() {
		empty, err := maker(scheme, gvk)
		if err != nil {
			return nil, err
		}
		w := &dependencyWatch{gvk: gvk, changed: func() { r.enqueueAll(depend.on(gvk)) }, log: r.log}
		cache, err := newCache(w.failed)
		if err != nil {
			return nil, err
		}
		others, err := lister.For(ctx, cache, empty())
		if err != nil {
			return nil, err
		}
		if takeover := r.takeover; takeover != nil { // the leader before this one may have held back a start because of them
			w.follow = func(ctx context.Context) {
				select {
				case <-elected:
					takeover.follow(ctx, followed{gvk: gvk, progress: others.Progress}, r.log)
				case <-ctx.Done():
				}
			}
		}
		w.from = source.Kind(cache, empty(), depend.handlers(gvk))
		depend.caches[gvk], depend.watches[gvk] = others, w
		sources = append(sources, w)
	}
	return sources, nil
}

// addWatches sets up the watches of the kinds that objects choose.
func (s *starter) addWatches(ctx context.Context, r *reconciler) error {
	reviews, err := authorization.NewForConfigAndClient(s.mgr.GetConfig(), s.mgr.GetHTTPClient())
	if err != nil {
		return err
	}
	opener := &childOpener{mgr: s.mgr, chooser: r.chooser, reviews: reviews.SelfSubjectAccessReviews(), handlers: r.childHandlers,
		queue: r.queue.Load, takeover: r.takeover, log: r.log}
	r.watches = newChildWatches(ctx, r.chooser, opener.open, r.enqueueAll, r.clock, r.log)
	return s.mgr.Add(r.watches)
}

// enqueueAll calls for a sync over each of these CronJobs.
func (r *reconciler) enqueueAll(keys []types.NamespacedName) {
	for _, key := range keys {
		r.enqueue(reconcile.Request{NamespacedName: key}, 0)
	}
}
