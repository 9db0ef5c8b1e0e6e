// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Client is a client of the server: a [client.Client] whose requests take time,
// during which the world goes on, and which may meet a mishap. It reads from the
// server, as an API reader does; what a process reads from caches, it reads from
// a [Cache].
type Client struct {
	server *Server
	// process whose client it is; its requests end with it.
	process *Process
	// Mishap, if set, says what becomes of a request.
	Mishap func(Request) Mishap
	// Latency, if set, says how long a request is under way before its effect, and its answer after it.
	Latency func(Request) (there, back time.Duration)
}

var _ client.Client = (*Client)(nil)

var errNotSimulated = errors.New("sim: this call is not simulated")

// boundTo gives the preconditions in a patch.
func boundTo(patch []byte) (types.UID, string) {
	var p struct {
		Metadata struct {
			UID             types.UID `json:"uid"`
			ResourceVersion string    `json:"resourceVersion"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(patch, &p); err != nil {
		return "", "" // a JSON patch
	}
	return p.Metadata.UID, p.Metadata.ResourceVersion
}

func (c *Client) die() { c.process.Kill("in the middle of a request") }

// do sends a request: it goes there, has its effect, and the answer comes back.
func (c *Client) do(ctx context.Context, r Request, effect func() error) error {
	p, w := c.process, c.server.World
	if err := c.stopped(ctx); err != nil {
		return err
	}
	*p.requests++
	r.By, r.Number = p.Name, *p.requests
	var there, back time.Duration
	if c.Latency != nil {
		there, back = c.Latency(r)
	}
	w.Pass(there)
	if err := c.stopped(ctx); err != nil {
		return err
	}
	m := None
	if c.Mishap != nil {
		m = c.Mishap(r)
	}
	err := c.befall(r, m, func() error {
		if c.server.asking != nil {
			c.server.asking(r)
		}
		err := effect()
		switch {
		case err != nil:
			w.Story.Tell(r.By, "%s: %v", r, err)
		case r.Verb == "get" || r.Verb == "list":
			w.Story.Tell(r.By, "%s", r)
		}
		p.did++
		return err
	})
	w.Pass(back)
	w.Pass(p.paused - w.now)
	if stopped := c.stopped(ctx); stopped != nil {
		return stopped
	}
	return err
}

func (c *Client) stopped(ctx context.Context) error {
	if c.process.dead || c.server.World.Broken() != "" {
		return context.Canceled
	}
	return ctx.Err()
}

// Get reads an object from the server.
func (c *Client) Get(ctx context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	kind := KindOf(obj)
	return c.get(ctx, obj, Request{Verb: "get", Kind: kind, Namespace: key.Namespace, Name: key.Name}, func() (client.Object, error) {
		if found := c.server.store.get(kind, key); found != nil {
			return found, nil
		}
		return nil, apierrors.NewNotFound(resource(kind), key.Name)
	})
}

// get sends a request and lets into be the answer, if one comes.
func (c *Client) get(ctx context.Context, into client.Object, r Request, effect func() (client.Object, error)) error {
	var answer client.Object
	err := c.do(ctx, r, func() (err error) {
		answer, err = effect()
		return err
	})
	if err != nil {
		return err
	}
	return c.server.fill(into, answer)
}

// List reads objects from the server. It knows the options InNamespace and label selectors.
func (c *Client) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(opts)
	items := reflect.ValueOf(list).Elem().FieldByName("Items")
	example := reflect.New(items.Type().Elem()).Interface().(client.Object)
	kind := KindOf(example)
	return c.do(ctx, Request{Verb: "list", Kind: kind, Namespace: o.Namespace}, func() error {
		found := reflect.MakeSlice(items.Type(), 0, 8)
		for _, obj := range c.server.store.list(kind) {
			if o.Namespace != "" && o.Namespace != obj.GetNamespace() ||
				o.LabelSelector != nil && !o.LabelSelector.Matches(labels.Set(obj.GetLabels())) {
				continue
			}
			found = reflect.Append(found, reflect.ValueOf(duplicate(obj)).Elem())
		}
		items.Set(found)
		list.SetResourceVersion(fmt.Sprint(c.server.store.version))
		return nil
	})
}

// Create makes an object. A dry run, whose verb is "dry run", makes none.
func (c *Client) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	sent := duplicate(obj)
	var o client.CreateOptions
	o.ApplyOptions(opts)
	if len(o.DryRun) > 0 {
		return c.get(ctx, obj, Request{Verb: "dry run", Kind: KindOf(obj), Namespace: obj.GetNamespace(), Name: obj.GetName()}, func() (client.Object, error) {
			return c.server.dryRun(sent)
		})
	}
	name := obj.GetName()
	if name == "" {
		name = obj.GetGenerateName() + "?"
	}
	return c.get(ctx, obj, Request{Verb: "create", Kind: KindOf(obj), Namespace: obj.GetNamespace(), Name: name}, func() (client.Object, error) {
		return c.server.create(c.process.Name, sent)
	})
}

// Delete deletes an object. It knows propagation, grace and preconditions.
func (c *Client) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	var o client.DeleteOptions
	o.ApplyOptions(opts)
	var d Deletion
	if o.PropagationPolicy != nil {
		d.Propagation = *o.PropagationPolicy
	}
	if p := o.Preconditions; p != nil && p.UID != nil {
		d.UID = *p.UID
	}
	if p := o.Preconditions; p != nil && p.ResourceVersion != nil {
		d.Version = *p.ResourceVersion
	}
	d.Grace = o.GracePeriodSeconds
	r := Request{Verb: "delete", Kind: KindOf(obj), Namespace: obj.GetNamespace(), Name: obj.GetName(), UID: d.UID, Version: d.Version}
	return c.do(ctx, r, func() error {
		return c.server.Delete(c.process.Name, r.Kind, r.Namespace, r.Name, d)
	})
}

// Update replaces an object, all but its status.
func (c *Client) Update(ctx context.Context, obj client.Object, _ ...client.UpdateOption) error {
	return c.replace(ctx, "update", obj, c.server.update)
}

func (c *Client) replace(ctx context.Context, verb string, obj client.Object, with func(string, client.Object) (client.Object, error)) error {
	sent := duplicate(obj)
	r := Request{Verb: verb, Kind: KindOf(obj), Namespace: obj.GetNamespace(), Name: obj.GetName(), UID: obj.GetUID(), Version: obj.GetResourceVersion()}
	return c.get(ctx, obj, r, func() (client.Object, error) { return with(c.process.Name, sent) })
}

// Patch patches an object: strategic merge, merge and JSON patches.
func (c *Client) Patch(ctx context.Context, obj client.Object, patch client.Patch, _ ...client.PatchOption) error {
	return c.patch(ctx, obj, patch, false)
}

func (c *Client) patch(ctx context.Context, obj client.Object, patch client.Patch, status bool) error {
	body, err := patch.Data(obj)
	if err != nil {
		return err
	}
	verb := "patch"
	if status {
		verb = "status"
	}
	r := Request{Verb: verb, Kind: KindOf(obj), Namespace: obj.GetNamespace(), Name: obj.GetName()}
	r.UID, r.Version = boundTo(body)
	return c.get(ctx, obj, r, func() (client.Object, error) {
		return c.server.patch(c.process.Name, r.Kind, client.ObjectKeyFromObject(obj), patch.Type(), body, status)
	})
}

// Status gives the client of the status subresource.
func (c *Client) Status() client.SubResourceWriter { return statusClient{c} }

// SubResource gives the same; there is no other one.
func (c *Client) SubResource(name string) client.SubResourceClient {
	if name != "status" {
		panic("sim: the subresource " + name + " is not simulated")
	}
	return statusClient{c}
}

type statusClient struct{ *Client }

func (s statusClient) Get(context.Context, client.Object, client.Object, ...client.SubResourceGetOption) error {
	return errNotSimulated
}

func (s statusClient) Create(context.Context, client.Object, client.Object, ...client.SubResourceCreateOption) error {
	return errNotSimulated
}

func (s statusClient) Update(ctx context.Context, obj client.Object, _ ...client.SubResourceUpdateOption) error {
	return s.replace(ctx, "status", obj, s.server.updateStatus)
}

func (s statusClient) Patch(ctx context.Context, obj client.Object, patch client.Patch, _ ...client.SubResourcePatchOption) error {
	return s.patch(ctx, obj, patch, true)
}

func (s statusClient) Apply(context.Context, runtime.ApplyConfiguration, ...client.SubResourceApplyOption) error {
	return errNotSimulated
}

// Apply is not simulated.
func (c *Client) Apply(context.Context, runtime.ApplyConfiguration, ...client.ApplyOption) error {
	return errNotSimulated
}

// DeleteAllOf is not simulated.
func (c *Client) DeleteAllOf(context.Context, client.Object, ...client.DeleteAllOfOption) error {
	return errNotSimulated
}

// Scheme is that of client-go.
func (c *Client) Scheme() *runtime.Scheme { return clientgoscheme.Scheme }

// RESTMapper is not simulated.
func (c *Client) RESTMapper() meta.RESTMapper { return nil }

// GroupVersionKindFor is that of the scheme.
func (c *Client) GroupVersionKindFor(obj runtime.Object) (schema.GroupVersionKind, error) {
	if o, ok := obj.(*metav1.PartialObjectMetadata); ok {
		return o.GroupVersionKind(), nil
	}
	kinds, _, err := clientgoscheme.Scheme.ObjectKinds(obj)
	if err != nil {
		return schema.GroupVersionKind{}, err
	}
	return kinds[0], nil
}

// IsObjectNamespaced says that all are.
func (c *Client) IsObjectNamespaced(runtime.Object) (bool, error) { return true, nil }
