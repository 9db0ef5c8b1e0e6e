// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/carillon-dev/carillon/internal/client/cluster"
)

var reviews = schema.GroupVersionResource{Group: "authorization.k8s.io", Version: "v1", Resource: "selfsubjectaccessreviews"}

// refused says why the user may not do something, in a sentence; "" if he may, or if the API server does not tell: then
// it says so when it is done.
func refused(ctx context.Context, server *cluster.Server, verb string, gvk schema.GroupVersionKind, namespace, name string) string {
	mapping, err := server.Mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return fmt.Sprintf("The API server does not serve %s of %s.", gvk.Kind, gvk.GroupVersion())
	}
	attributes := map[string]any{
		"verb": verb, "group": gvk.Group, "version": gvk.Version, "resource": mapping.Resource.Resource, "namespace": namespace,
	}
	if name != "" {
		attributes["name"] = name
	}
	review := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
		"spec": map[string]any{"resourceAttributes": attributes},
	}}
	answer, err := server.Client.Resource(reviews).Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return ""
	}
	if allowed, found, _ := unstructured.NestedBool(answer.Object, "status", "allowed"); !found || allowed {
		return ""
	}
	text := fmt.Sprintf("You are not allowed to %s %s in namespace %s", verb, mapping.Resource.GroupResource(), namespace)
	if reason, _, _ := unstructured.NestedString(answer.Object, "status", "reason"); reason != "" {
		text += " (" + reason + ")"
	}
	return text + ". Ask who administers the cluster for the right, or use credentials that have it."
}

// mayNot is refused, for the object of the request itself.
func (r *request) mayNot(ctx context.Context, verb string) string {
	return refused(ctx, r.server, verb, r.gvk, r.live.GetNamespace(), r.live.GetName())
}
