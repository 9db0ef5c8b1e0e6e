// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/carillon-dev/carillon/deploy/crds"
	"github.com/carillon-dev/carillon/internal/kind"
)

// FieldManager owns the fields that Carillon applies (server-side apply).
const FieldManager = "carillon"

// Applied is what became of one object.
type Applied struct {
	Object Object
	Verb   string // created, configured, unchanged
	Live   *unstructured.Unstructured
}

// Applier sends manifests to one API server. Not for concurrent use.
type Applier struct {
	client    dynamic.Interface
	mapper    meta.ResettableRESTMapper
	namespace string
}

// NewApplier returns an Applier for the API server of config. Objects that name no namespace go to
// namespace.
func NewApplier(config *rest.Config, namespace string) (*Applier, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	disco, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	return &Applier{
		client:    client,
		mapper:    restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(disco)),
		namespace: namespace,
	}, nil
}

// Apply applies the objects by server-side apply, CustomResourceDefinitions and Namespaces first. If
// the API server would refuse one, none is applied and the error joins a *Fault for each. A fault of
// the connection is returned as it is. A crash in the middle leaves some applied; applying again
// completes it.
func (a *Applier) Apply(ctx context.Context, objects []Object) ([]Applied, error) {
	first, then := split(objects)
	ordered := append(first, then...)
	if err := a.Check(ctx, ordered); err != nil {
		return nil, err
	}
	var done []Applied
	for _, o := range ordered {
		applied, err := a.apply(ctx, o)
		if err != nil {
			return done, AsFault(o, err)
		}
		done = append(done, applied)
	}
	return done, nil
}

func split(objects []Object) (first, then []Object) {
	for _, o := range objects {
		if definesOthers(o) {
			first = append(first, o)
		} else {
			then = append(then, o)
		}
	}
	return first, then
}

func definesOthers(o Object) bool {
	gk := o.GroupVersionKind().GroupKind()
	return gk == schema.GroupKind{Kind: "Namespace"} || gk == schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
}

// Check is the dry run: it asks the API server whether it would take the objects and changes nothing. The
// error is as for Apply. What only makes sense once an earlier object of the same set exists (its
// namespace, its kind) cannot be asked about yet and is let through.
func (a *Applier) Check(ctx context.Context, objects []Object) error {
	namespaces, kinds := map[string]bool{}, map[schema.GroupKind]bool{}
	for _, o := range objects {
		switch {
		case o.GetKind() == "Namespace":
			namespaces[o.GetName()] = true
		case o.GetKind() == "CustomResourceDefinition":
			group, _, _ := unstructured.NestedString(o.Object, "spec", "group")
			kind, _, _ := unstructured.NestedString(o.Object, "spec", "names", "kind")
			kinds[schema.GroupKind{Group: group, Kind: kind}] = true
		}
	}
	var faults []error
	for _, o := range objects {
		if kinds[o.GroupVersionKind().GroupKind()] || namespaces[a.namespaceOf(o)] {
			continue
		}
		r, err := a.resource(o)
		if err == nil {
			_, _, err = a.send(ctx, r, o, []string{metav1.DryRunAll})
		}
		if err == nil {
			continue
		}
		refused := AsFault(o, err)
		var fault *Fault
		if !errors.As(refused, &fault) {
			return refused
		}
		faults = append(faults, refused)
	}
	return errors.Join(faults...)
}

func (a *Applier) namespaceOf(o Object) string {
	if ns := o.GetNamespace(); ns != "" {
		return ns
	}
	return a.namespace
}

// Resource is where objects of a kind are found in a namespace. The error is a no-match error of package meta when the
// API server does not serve the kind.
func (a *Applier) Resource(gvk schema.GroupVersionKind, namespace string) (dynamic.ResourceInterface, error) {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(gvk)
	o.SetNamespace(namespace)
	return a.resource(Object{Unstructured: o})
}

func (a *Applier) resource(o Object) (dynamic.ResourceInterface, error) {
	gvk := o.GroupVersionKind()
	mapping, err := a.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		a.mapper.Reset()
		mapping, err = a.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	}
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		return a.client.Resource(mapping.Resource).Namespace(a.namespaceOf(o)), nil
	}
	return a.client.Resource(mapping.Resource), nil
}

func (a *Applier) apply(ctx context.Context, o Object) (Applied, error) {
	r, err := a.resource(o)
	if err != nil {
		return Applied{}, err
	}
	live, verb, err := a.send(ctx, r, o, nil)
	if err != nil {
		return Applied{}, err
	}
	if o.GetKind() == "CustomResourceDefinition" {
		if err := a.awaitEstablished(ctx, r, o.GetName()); err != nil {
			return Applied{}, err
		}
	}
	return Applied{Object: o, Verb: verb, Live: live}, nil
}

func (a *Applier) send(ctx context.Context, r dynamic.ResourceInterface, o Object, dryRun []string) (*unstructured.Unstructured, string, error) {
	if o.GetName() == "" {
		live, err := r.Create(ctx, o.Unstructured, metav1.CreateOptions{DryRun: dryRun, FieldManager: FieldManager, FieldValidation: metav1.FieldValidationStrict})
		return live, "created", err
	}
	before, err := r.Get(ctx, o.GetName(), metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, "", err
	}
	live, err := r.Apply(ctx, o.GetName(), o.Unstructured, metav1.ApplyOptions{DryRun: dryRun, FieldManager: FieldManager, Force: true})
	switch {
	case err != nil:
		return nil, "", err
	case before == nil:
		return live, "created", nil
	case before.GetResourceVersion() == live.GetResourceVersion():
		return live, "unchanged", nil
	}
	return live, "configured", nil
}

// awaitEstablished waits until the API server serves a new kind, so that its objects can follow.
func (a *Applier) awaitEstablished(ctx context.Context, r dynamic.ResourceInterface, name string) error {
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		crd, err := r.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if Established(crd) && a.maps(crd) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("CustomResourceDefinition %s is not served yet: %w", name, ctx.Err())
		case <-ticker.C:
		}
	}
}

// maps reports whether the API server also lists the kind of a CustomResourceDefinition among those that it serves,
// which it does a moment after it says that the definition is established.
func (a *Applier) maps(crd *unstructured.Unstructured) bool {
	a.mapper.Reset()
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	_, err := a.mapper.RESTMapping(schema.GroupKind{Group: group, Kind: kind})
	return err == nil
}

// Established reports whether the API server serves the kind of a CustomResourceDefinition.
func Established(crd *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		m, ok := c.(map[string]any)
		return ok && m["type"] == "Established" && m["status"] == "True"
	})
}

// source tells where the definition of an API comes from.
func source(group string) string {
	for _, k := range kind.Owners {
		info := k.Info()
		if group != info.Owner.Group && group != info.Child.Group {
			continue
		}
		if file, _, found := crds.Find(info.Name); found {
			return "its CustomResourceDefinition is deploy/crds/" + file + ": apply it first, or with it"
		}
		if info.Install != "" {
			return info.Install
		}
	}
	return "apply its CustomResourceDefinition first"
}

// AsFault turns the API server's no into a *Fault with one line for each field; other errors stay.
func AsFault(o Object, err error) error {
	if meta.IsNoMatchError(err) {
		return &Fault{Where: o.String(), What: fmt.Sprintf("the API server does not serve %s %s; %s", o.GetAPIVersion(), o.GetKind(), source(o.GroupVersionKind().Group))}
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) || apierrors.IsInternalError(err) || apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err) {
		return fmt.Errorf("%s: %w", o, err)
	}
	s := status.Status()
	if s.Details != nil && len(s.Details.Causes) > 0 {
		var lines []string
		for _, c := range s.Details.Causes {
			if c.Field == "" {
				lines = append(lines, c.Message)
				continue
			}
			lines = append(lines, c.Field+": "+c.Message)
		}
		return &Fault{Where: o.String(), What: strings.Join(lines, "\n  "), Cause: err}
	}
	return &Fault{Where: o.String(), What: s.Message, Cause: err}
}
