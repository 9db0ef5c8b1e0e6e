// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"context"
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// fault is what happens to a call: before it, err instead of it; after it, err although it was done.
type fault struct {
	err   error
	after bool
}

func (w *world) fail(call string, faults ...fault) {
	w.faults[call] = append(w.faults[call], faults...)
}

// do notes the call and lets its fault happen.
func (w *world) do(call string, act func() error) error {
	w.mu.Lock()
	w.calls = append(w.calls, call)
	verb, _, _ := strings.Cut(call, " ")
	var f fault
	for _, key := range []string{call, verb} {
		if waiting := w.faults[key]; len(waiting) > 0 {
			f, w.faults[key] = waiting[0], waiting[1:]
			break
		}
	}
	w.mu.Unlock()
	if f.err != nil && !f.after {
		return f.err
	}
	if err := act(); err != nil {
		return err
	}
	return f.err
}

func (w *world) intercept() interceptor.Funcs {
	return interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			return w.do(fmt.Sprintf("get %s", key.Name), func() error { return c.Get(ctx, key, obj, opts...) })
		},
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			return w.do("create "+obj.GetName(), func() error {
				w.uids++
				obj.SetUID(types.UID(fmt.Sprintf("new-%d", w.uids)))
				obj.SetCreationTimestamp(metav1.NewTime(w.time.Now().Truncate(time.Second)))
				err := c.Create(ctx, obj, opts...)
				if err == nil && w.onCreate != nil {
					w.onCreate(obj.GetName())
				}
				return err
			})
		},
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			return w.do("delete "+obj.GetName(), func() error {
				var o client.DeleteOptions
				o.ApplyOptions(opts)
				if o.PropagationPolicy == nil || *o.PropagationPolicy != metav1.DeletePropagationBackground {
					w.Errorf("delete of %s with propagation %v, want Background", obj.GetName(), o.PropagationPolicy)
				}
				var stored batchv1.Job
				if err := c.Get(ctx, client.ObjectKeyFromObject(obj), &stored); err != nil {
					return err
				}
				if o.Preconditions == nil || o.Preconditions.UID == nil {
					w.Errorf("delete of %s without its UID", obj.GetName())
				} else if *o.Preconditions.UID != stored.UID {
					return apierrors.NewConflict(jobs, obj.GetName(), fmt.Errorf("UID differs"))
				}
				return c.Delete(ctx, obj)
			})
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			return w.do("record", func() error { return c.SubResource(sub).Patch(ctx, obj, patch, opts...) })
		},
	}
}

var (
	jobs     = schema.GroupResource{Group: "batch", Resource: "jobs"}
	cronjobs = schema.GroupResource{Group: "batch", Resource: "cronjobs"}
	broken   = apierrors.NewInternalError(fmt.Errorf("the store is on fire"))
	conflict = apierrors.NewConflict(cronjobs, "tick", fmt.Errorf("the object has been modified"))
)
