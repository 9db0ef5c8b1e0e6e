// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-logr/logr"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	authorization "k8s.io/client-go/kubernetes/typed/authorization/v1"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/kube/lister"
)

// childVerbs are what a controller does to children: a kind is granted if all of them are.
var childVerbs = []string{"create", "delete", "get", "list", "watch"}

// childOpener opens watches of children on the API server of a manager.
type childOpener struct {
	mgr     ctrl.Manager
	chooser adapter.ChildChooser
	reviews authorization.SelfSubjectAccessReviewInterface
	// handlers and queue are those of the controller.
	handlers func(*childKind) handlers
	queue    func() *queue
	// takeover keeps watches from counting as filled before they show what a leader before this one did; nil if there was
	// none.
	takeover *takeover
	log      logr.Logger
}

// open is an openWatch. Each kind has a cache of its own, which ends with its watch, and holds only what carries the
// owner's label.
func (o *childOpener) open(ctx context.Context, k *childKind) (*lister.Lister, <-chan adapter.ChildTrouble, *adapter.ChildTrouble, error) {
	if trouble, err := o.allowed(ctx, k.gvk); trouble != nil || err != nil {
		return nil, nil, trouble, err
	}
	labelled, err := labels.NewRequirement(o.chooser.Info().OwnerLabel, selection.Exists, nil)
	if err != nil {
		return nil, nil, nil, err
	}
	selector := labels.NewSelector().Add(*labelled)
	broken := make(chan adapter.ChildTrouble, 1)
	failed := make(chan error, 1)
	watched, err := crcache.New(o.mgr.GetConfig(), crcache.Options{
		HTTPClient: o.mgr.GetHTTPClient(), Scheme: o.mgr.GetScheme(), Mapper: o.mgr.GetRESTMapper(),
		DefaultLabelSelector: selector,
		DefaultTransform:     trimChildren(k),
		DefaultWatchErrorHandler: func(ctx context.Context, r *toolscache.Reflector, err error) {
			toolscache.DefaultWatchErrorHandler(ctx, r, err)
			if trouble := troubleOf(err); trouble != nil {
				offer(broken, *trouble)
			}
			offer(failed, err)
		},
	})
	if err != nil {
		return nil, nil, nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- watched.Start(ctx) }()
	l, err := lister.For(ctx, watched, k.new())
	if err != nil {
		return nil, nil, nil, err
	}
	q := o.queue()
	if q == nil {
		return nil, nil, nil, errors.New("the controller has not begun yet")
	}
	src := source.Kind(watched, k.new(), o.handlers(k))
	if err := src.Start(ctx, *q); err != nil {
		return nil, nil, nil, err
	}
	opening := watchOpening{fill: src.WaitForSync, broken: broken, failed: failed, ended: ended}
	if o.takeover != nil {
		opening.follow = func(ctx context.Context) {
			select {
			case <-o.mgr.Elected():
				o.takeover.follow(ctx, followed{gvk: k.gvk, progress: l.Progress, selector: selector}, o.log)
			case <-ctx.Done():
			}
		}
	}
	if trouble, err := opening.wait(ctx); trouble != nil || err != nil {
		return nil, nil, trouble, err
	}
	return l, broken, nil, nil
}

// watchOpening is a watch whose cache is being filled.
type watchOpening struct {
	// fill returns when the cache has been filled once, and follow when it shows what a leader before this one did, which
	// may take until this process leads; nil if there was none.
	fill   func(context.Context) error
	follow func(context.Context)
	// broken and failed tell of errors of the watch, those that will not pass by themselves and all; ended of its end.
	broken        <-chan adapter.ChildTrouble
	failed, ended <-chan error
}

// wait returns when the cache can be relied on. A cache that was filled once recovers from what may pass by itself: a
// process that waits for leadership does not begin anew, and so is not found trying when it comes to lead.
func (o *watchOpening) wait(ctx context.Context) (*adapter.ChildTrouble, error) {
	filled := make(chan error, 1)
	go func() { filled <- o.fill(ctx) }()
	followed, failed := make(chan struct{}), o.failed
	for {
		select {
		case err := <-filled:
			if err != nil || ctx.Err() != nil {
				return nil, cmp.Or(err, ctx.Err())
			}
			failed = nil
			go func() {
				defer close(followed)
				if o.follow != nil {
					o.follow(ctx)
				}
			}()
		case <-followed:
			return nil, ctx.Err()
		case trouble := <-o.broken:
			return &trouble, nil
		case err := <-failed:
			return troubleOf(err), err
		case err := <-o.ended:
			return nil, fmt.Errorf("the cache has ended: %w", cmp.Or(err, ctx.Err(), errors.New("nobody ended it")))
		}
	}
}

// offer puts a value into a channel that has room for it, and drops it otherwise.
func offer[T any](c chan<- T, value T) {
	select {
	case c <- value:
	default:
	}
}

// allowed finds out whether objects of a kind can be children.
func (o *childOpener) allowed(ctx context.Context, gvk schema.GroupVersionKind) (*adapter.ChildTrouble, error) {
	mapping, err := o.mgr.GetRESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return troubleOf(err), err
	}
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		return &adapter.ChildTrouble{NotNamespaced: true, Why: "objects of this kind belong to no namespace"}, nil
	}
	if !o.chooser.MayBeChild(gvk) {
		return &adapter.ChildTrouble{Why: "objects of this kind are not started by others"}, nil
	}
	var denied []string
	for _, verb := range childVerbs {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Verb: verb, Group: mapping.Resource.Group, Version: mapping.Resource.Version, Resource: mapping.Resource.Resource,
			},
		}}
		answer, err := o.reviews.Create(ctx, review, metav1.CreateOptions{})
		if apierrors.IsForbidden(err) {
			break // whoever may not ask finds out by trying
		}
		if err != nil {
			return nil, fmt.Errorf("asking whether this controller may %s %s: %w", verb, mapping.Resource.Resource, err)
		}
		if !answer.Status.Allowed {
			denied = append(denied, verb)
		}
	}
	if len(denied) > 0 {
		return &adapter.ChildTrouble{Why: fmt.Sprintf("the controller may not %s %s in all namespaces", strings.Join(denied, ", "), mapping.Resource.GroupResource())}, nil
	}
	return nil, nil
}

// troubleOf is what an error says of a kind that will not pass by itself; nil if it may.
func troubleOf(err error) *adapter.ChildTrouble {
	switch {
	case meta.IsNoMatchError(err), apierrors.IsNotFound(err):
		return &adapter.ChildTrouble{NotServed: true, Why: "the API server does not serve it"}
	case apierrors.IsForbidden(err):
		return &adapter.ChildTrouble{Why: "the controller may not list and watch it in all namespaces"}
	}
	return nil
}

// trimChildren is the transform for a cache of children: nobody reads managed fields of children.
func trimChildren(k *childKind) toolscache.TransformFunc {
	trim := func(obj any) any {
		child, ok := obj.(client.Object)
		if !ok {
			return obj
		}
		if len(child.GetManagedFields()) > 0 {
			child.SetManagedFields(nil)
		}
		return k.kept(child)
	}
	return func(obj any) (any, error) {
		if tombstone, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
			tombstone.Obj = trim(tombstone.Obj)
			return tombstone, nil
		}
		return trim(obj), nil
	}
}
