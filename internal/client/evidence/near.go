// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/carillon-dev/carillon/internal/client/cluster"
	"github.com/carillon-dev/carillon/internal/client/reference"
	"github.com/carillon-dev/carillon/internal/plan/diagnosis"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// Near collects what an API server knows of a CronJob or Timetable, as Ask does. Of what it has started it reads the
// objects of these names alone, the most important first; a journal knows the others. Nil reads all of them, which
// takes long where a namespace has many. The error is NotThere when there is no such object.
func Near(ctx context.Context, server *cluster.Server, owner schema.GroupVersionKind, namespace, name string, runs []string, now time.Time) (*diagnosis.Evidence, error) {
	q := &inquiry{Server: within(server, namespace), kinds: []schema.GroupVersionKind{owner}, near: runs}
	return q.ask(ctx, reference.Reference{Kind: strings.ToLower(owner.Kind), Name: name}, now)
}

// Scheduled reads a CronJob or Timetable, with the Calendars of its namespace if it is one of the latter. Nil says that
// there is none, or that the API server does not serve its kind.
func Scheduled(ctx context.Context, server *cluster.Server, owner schema.GroupVersionKind, namespace, name string) (*workload.Scheduled, error) {
	q := &inquiry{Server: within(server, namespace), near: []string{}}
	object, err := q.get(ctx, owner, namespace, name)
	if err != nil || object == nil {
		return nil, err
	}
	q.objects = append(q.objects, *object)
	if err := q.children(ctx, q.objects[:1]); err != nil {
		return nil, err
	}
	all, err := workload.Read(q.objects, q.options())
	if err != nil {
		return nil, err
	}
	if len(all.Scheduled) != 1 {
		return nil, errors.New(object.Content.GetKind() + " " + name + " has no schedule")
	}
	return all.Scheduled[0], nil
}

// within is the server, of which a namespace is looked at.
func within(server *cluster.Server, namespace string) *cluster.Server {
	one := *server
	one.Namespace = namespace
	return &one
}

// addNear reads the objects that have the names that are near.
func (q *inquiry) addNear(ctx context.Context, gvk schema.GroupVersionKind, ours func(workload.Object) bool) error {
	for _, name := range q.near[:min(len(q.near), maxClose)] {
		object, err := q.get(ctx, gvk, q.Namespace, name)
		switch {
		case apierrors.IsForbidden(err):
			q.unread = append(q.unread, fmt.Sprintf("%ss: %v", gvk.Kind, err))
			q.read.Jobs = false
			return nil
		case err != nil:
			return err
		case object != nil && ours(*object):
			q.objects = append(q.objects, *object)
		}
	}
	return nil
}
