// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/carillon-dev/carillon/internal/job"
)

// server makes the fake client do what an API server does and it does not.
func (w *world) server() interceptor.Funcs {
	conflict := func(obj client.Object, why string) error {
		return apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, obj.GetName(), errors.New(why))
	}
	return interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			w.mu.Lock()
			w.uids++
			if obj.GetUID() == "" {
				obj.SetUID(types.UID(fmt.Sprintf("uid-%d", w.uids)))
			}
			w.mu.Unlock()
			if created := obj.GetCreationTimestamp(); created.IsZero() {
				obj.SetCreationTimestamp(metav1.NewTime(w.clock.Now().Truncate(time.Second)))
			}
			uid := obj.GetUID()
			if err := c.Create(ctx, obj, opts...); err != nil {
				return err
			}
			if obj.GetUID() != uid {
				return fmt.Errorf("the fake changed a UID from %s to %s", uid, obj.GetUID())
			}
			return nil
		},
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			var o client.DeleteOptions
			o.ApplyOptions(opts)
			if p := o.Preconditions; p != nil && p.UID != nil {
				live := obj.DeepCopyObject().(client.Object)
				if err := c.Get(ctx, client.ObjectKeyFromObject(obj), live); err != nil {
					return err
				}
				if live.GetUID() != *p.UID {
					return conflict(obj, "the UID in the precondition does not match")
				}
				if live.GetDeletionTimestamp() != nil {
					return nil
				}
			}
			return c.Delete(ctx, obj, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			body, err := patch.Data(obj)
			if err != nil {
				return err
			}
			if kindOf(obj) != "Pod" {
				return c.Patch(ctx, obj, patch, opts...)
			}
			var pod corev1.Pod
			if err := c.Get(ctx, client.ObjectKeyFromObject(obj), &pod); err != nil {
				return err
			}
			if uid := string(pod.UID); strings.Contains(string(body), `"uid"`) && !strings.Contains(string(body), `"uid":"`+uid+`"`) {
				return apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, obj.GetName(),
					field.ErrorList{field.Invalid(field.NewPath("metadata", "uid"), uid, "field is immutable")})
			}
			return c.Patch(ctx, obj, patch, opts...)
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, obj client.Object, opts ...client.SubResourceUpdateOption) error {
			if j, ok := obj.(*batchv1.Job); ok {
				var old batchv1.Job
				if err := c.Get(ctx, client.ObjectKeyFromObject(obj), &old); err != nil {
					return err
				}
				if broken := job.CheckStatus(&old, j); len(broken) > 0 && old.ResourceVersion == j.ResourceVersion {
					w.t.Errorf("an invalid status reached the server: %v", broken)
					return apierrors.NewInvalid(schema.GroupKind{Group: "batch", Kind: "Job"}, j.Name, nil)
				}
			}
			return c.SubResource(sub).Update(ctx, obj, opts...)
		},
	}
}

// counting records the calls of the controller and lets them fail.
func (w *world) counting() interceptor.Funcs {
	do := func(c call, run func() error) error {
		w.mu.Lock()
		w.calls = append(w.calls, c)
		fault, lost := w.fault, w.lost
		w.mu.Unlock()
		if fault != nil {
			if err := fault(c); err != nil {
				return err
			}
		}
		if err := run(); err != nil {
			return err
		}
		if lost != nil {
			return lost(c)
		}
		return nil
	}
	return interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			return do(call{verb: "create", kind: kindOf(obj), name: obj.GetName()}, func() error { return c.Create(ctx, obj, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			return do(call{verb: "delete", kind: kindOf(obj), name: obj.GetName()}, func() error { return c.Delete(ctx, obj, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			body, _ := patch.Data(obj)
			return do(call{verb: "patch", kind: kindOf(obj), name: obj.GetName(), patch: string(body)}, func() error { return c.Patch(ctx, obj, patch, opts...) })
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, obj client.Object, opts ...client.SubResourceUpdateOption) error {
			return do(call{verb: "status", kind: kindOf(obj), name: obj.GetName()}, func() error { return c.SubResource(sub).Update(ctx, obj, opts...) })
		},
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			return do(call{verb: "get", kind: kindOf(obj), name: key.Name}, func() error { return c.Get(ctx, key, obj, opts...) })
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			return do(call{verb: "list", kind: fmt.Sprintf("%T", list)}, func() error { return c.List(ctx, list, opts...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
			return do(call{verb: "update", kind: kindOf(obj), name: obj.GetName()}, func() error { return c.Update(ctx, obj, opts...) })
		},
	}
}

func kindOf(obj client.Object) string {
	switch o := obj.(type) {
	case *corev1.Pod:
		return "Pod"
	case *batchv1.Job:
		return "Job"
	case *metav1.PartialObjectMetadata:
		return o.Kind
	}
	return fmt.Sprintf("%T", obj)
}
