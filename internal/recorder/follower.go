// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// pageSize is how many objects are in memory at once while all are listed.
const pageSize = 200

// watchSeconds is how long a watch is asked for; the server ends it then, and it goes on where it was.
const watchSeconds = 20 * 60

// A follower sees all objects of one kind: those that are there, and each change. It keeps none.
type follower struct {
	client client.WithWatch
	list   func() client.ObjectList
	choose []client.ListOption
	log    logr.Logger
	// listing is called before all objects that are there are seen, and listed after that; seen with each object, gone
	// with the last state of one that was deleted. All are called by one goroutine.
	seen, gone      func(client.Object)
	listing, listed func()
	// reached is told how a request went; forbidden once that objects may not be read, until they were.
	reached   func(error)
	forbidden func(error)
	told      bool // of forbidden
	// again has a token when all objects are to be seen again.
	again chan struct{}
}

// errAgain ends a watch after which all objects are listed again.
var errAgain = errors.New("all objects are to be seen again")

// errEndedAtOnce ends a watch that the server ended as it began.
var errEndedAtOnce = errors.New("the server ended the watch at once")

// run follows until ctx ends or the server does not have the kind, which it tells.
func (f *follower) run(ctx context.Context) error {
	var wait backoff
	for {
		err := f.listAndWatch(ctx, &wait)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case notServed(err):
			return err
		case errors.Is(err, errAgain), apierrors.IsResourceExpired(err), apierrors.IsGone(err):
			continue
		}
		f.log.Info("Runs cannot be looked at and are tried again", "reason", err.Error())
		if !pause(ctx, wait.after()) {
			return ctx.Err()
		}
	}
}

// listAndWatch sees all objects and then their changes until it has to begin anew.
func (f *follower) listAndWatch(ctx context.Context, wait *backoff) error {
	version, err := f.listAll(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	f.answered(err)
	if err != nil {
		return err
	}
	wait.reset()
	f.listed()
	for {
		next, err := f.watch(ctx, version)
		if ctx.Err() == nil {
			f.answered(err)
		}
		if err == nil || next != version {
			wait.reset()
		}
		version = next
		switch {
		case err == nil:
			continue
		case ctx.Err() != nil, notServed(err), errors.Is(err, errAgain), apierrors.IsResourceExpired(err), apierrors.IsGone(err):
			return err
		}
		f.log.V(1).Info("A watch ended and begins again", "reason", err.Error())
		if !pause(ctx, wait.after()) {
			return ctx.Err()
		}
	}
}

// answered takes in how a request went.
func (f *follower) answered(err error) {
	f.reached(err)
	switch forbidden := apierrors.IsForbidden(err); {
	case forbidden && !f.told:
		f.told = true
		f.forbidden(err)
	case err == nil:
		f.told = false
	}
}

func notServed(err error) bool { return meta.IsNoMatchError(err) || apierrors.IsNotFound(err) }

// listAll sees all objects, page by page, and gives the version from which to watch.
func (f *follower) listAll(ctx context.Context) (version string, err error) {
	select {
	case <-f.again: // that is now
	default:
	}
	f.listing()
	next := ""
	for {
		list := f.list()
		options := append([]client.ListOption{client.Limit(pageSize), client.Continue(next)}, f.choose...)
		if err := f.client.List(ctx, list, options...); err != nil {
			return "", err
		}
		err := meta.EachListItem(list, func(item runtime.Object) error {
			if object, ok := item.(client.Object); ok {
				f.seen(object)
			}
			return nil
		})
		if err != nil {
			return "", err
		}
		if next = list.GetContinue(); next == "" {
			return list.GetResourceVersion(), nil
		}
	}
}

// watch sees changes after a version until the watch ends, and gives the version from which to go on.
func (f *follower) watch(ctx context.Context, version string) (string, error) {
	options := append([]client.ListOption{&client.ListOptions{Raw: &metav1.ListOptions{
		ResourceVersion: version, AllowWatchBookmarks: true, TimeoutSeconds: new(int64(watchSeconds)),
	}}}, f.choose...)
	w, err := f.client.Watch(ctx, f.list(), options...)
	if err != nil {
		return version, err
	}
	defer w.Stop()
	f.reached(nil)
	began := time.Now()
	for {
		select {
		case <-ctx.Done():
			return version, ctx.Err()
		case <-f.again:
			return version, errAgain
		case event, open := <-w.ResultChan():
			if !open {
				if time.Since(began) < time.Second {
					return version, errEndedAtOnce
				}
				return version, nil
			}
			if event.Type == watch.Error {
				return version, apierrors.FromObject(event.Object)
			}
			object, ok := event.Object.(client.Object)
			if !ok {
				return version, fmt.Errorf("the server sent a %T, which has no metadata", event.Object)
			}
			version = object.GetResourceVersion()
			switch event.Type {
			case watch.Added, watch.Modified:
				f.seen(object)
			case watch.Deleted:
				f.gone(object)
			}
		}
	}
}
