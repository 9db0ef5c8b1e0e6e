// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/carillon-dev/carillon/internal/kind"
	"github.com/carillon-dev/carillon/internal/kind/kindtest"
)

// apiClient is what the controller sees of the API.
type apiClient struct {
	client.Client
	*api
}

func (c apiClient) of(obj client.Object) (objs map[string]map[string]any, gvk schema.GroupVersionKind) {
	c.Helper()
	gvks, _, err := c.scheme.ObjectKinds(obj)
	if err != nil {
		c.Fatal(err)
	}
	if slices.Contains(gvks, c.info.Owner) {
		return c.cronJobs, c.info.Owner
	}
	return c.jobs, c.info.Child
}

// called counts the call for the CronJob that the object is, or is named after, and gives its error if it is to fail.
func (c apiClient) called(verb, name string) error {
	call := verb + " " + name
	c.trail = append(c.trail, call)
	if _, ok := c.cronJobs[name]; !ok {
		name = name[:max(0, strings.LastIndex(name, "-"))]
	}
	c.calls[verb+" "+name]++
	return c.fail[call]
}

func (c apiClient) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.called("get", key.Name); err != nil {
		return err
	}
	objs, gvk := c.of(obj)
	found := objs[key.Name]
	if found == nil {
		return apierrors.NewNotFound(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, key.Name)
	}
	c.convert(found, obj)
	return nil
}

func (c apiClient) Create(_ context.Context, obj client.Object, _ ...client.CreateOption) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.called("create", obj.GetName()); err != nil {
		return err
	}
	objs, gvk := c.of(obj)
	if objs[obj.GetName()] != nil {
		return apierrors.NewAlreadyExists(c.info.ChildResource.GroupResource(), obj.GetName())
	}
	stored := map[string]any{}
	c.convert(obj, &stored)
	stored["apiVersion"], stored["kind"] = gvk.ToAPIVersionAndKind()
	if c.refuse != nil {
		if err := c.refuse(stored); err != nil {
			return err
		}
	}
	c.version++
	metadata := stored["metadata"].(map[string]any)
	metadata["uid"], metadata["resourceVersion"] = fmt.Sprintf("uid-%d", c.version), fmt.Sprint(c.version)
	metadata["creationTimestamp"] = c.time.Now().UTC().Format(time.RFC3339)
	objs[obj.GetName()] = stored
	c.convert(stored, obj)
	return nil
}

func (c apiClient) Delete(_ context.Context, obj client.Object, opts ...client.DeleteOption) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.called("delete", obj.GetName()); err != nil {
		return err
	}
	var o client.DeleteOptions
	o.ApplyOptions(opts)
	if want := c.info.Traits.Propagation; (want == nil) != (o.PropagationPolicy == nil) || want != nil && *want != *o.PropagationPolicy {
		c.Errorf("delete of %s with propagation %v", obj.GetName(), o.PropagationPolicy)
	}
	objs, gvk := c.of(obj)
	found := objs[obj.GetName()]
	if found == nil {
		return apierrors.NewNotFound(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, obj.GetName())
	}
	if uid := found["metadata"].(map[string]any)["uid"]; o.Preconditions == nil || string(*o.Preconditions.UID) != uid {
		c.Errorf("delete of %s without its UID", obj.GetName())
	}
	c.version++
	delete(objs, obj.GetName())
	return nil
}

func (c apiClient) Patch(_ context.Context, obj client.Object, patch client.Patch, _ ...client.PatchOption) error {
	return c.patch("patch", "", obj, patch)
}

func (c apiClient) SubResource(name string) client.SubResourceClient {
	return apiSubresource{client: c, name: name}
}

func (c apiClient) patch(verb, subresource string, obj client.Object, patch client.Patch) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.called(verb, obj.GetName()); err != nil {
		return err
	}
	objs, _ := c.of(obj)
	data, err := patch.Data(obj)
	if err != nil {
		return err
	}
	if objs[obj.GetName()] == nil {
		return apierrors.NewNotFound(c.info.OwnerResource.GroupResource(), obj.GetName())
	}
	server := kindtest.Server{Object: objs[obj.GetName()], RideAlong: c.ride}
	err = server.Patch(kind.CronJobPatch{Subresource: subresource, Type: patch.Type(), Data: data})
	if errors.Is(err, kindtest.ErrConflict) {
		return apierrors.NewConflict(c.info.OwnerResource.GroupResource(), obj.GetName(), err)
	}
	if err != nil {
		c.Errorf("%v", err)
		return err
	}
	var stored map[string]any
	c.convert(server.Object, &stored)
	if c.crd != nil {
		if errs := c.crd.Admit(c.T, stored); len(errs) > 0 && subresource == "status" {
			c.Errorf("the schema refuses the status: %v", errs)
		}
	}
	c.version++
	stored["metadata"].(map[string]any)["resourceVersion"] = fmt.Sprint(c.version)
	objs[obj.GetName()] = stored
	c.convert(stored, obj)
	return nil
}

// apiSubresource patches a subresource.
type apiSubresource struct {
	client.SubResourceClient
	client apiClient
	name   string
}

func (s apiSubresource) Patch(_ context.Context, obj client.Object, patch client.Patch, _ ...client.SubResourcePatchOption) error {
	return s.client.patch(s.name, s.name, obj, patch)
}

// apiSink takes events.
type apiSink struct{ *api }

func (s apiSink) Create(_ context.Context, e *corev1.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = append(s.told, *e)
	return nil
}

func (s apiSink) Patch(context.Context, string, string, []byte) error { return nil }

// apiQueue is a work queue that knows when each key is to be taken.
type apiQueue struct {
	queue
	*api
}

func (q apiQueue) Add(r reconcile.Request) { q.AddAfter(r, 0) }

func (q apiQueue) AddAfter(r reconcile.Request, after time.Duration) {
	at := q.time.Now().Add(after)
	if known, ok := q.pending[r.NamespacedName]; !ok || at.Before(known) {
		q.pending[r.NamespacedName] = at
	}
}
