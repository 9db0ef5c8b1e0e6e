// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/carillon-dev/carillon/internal/kind"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// PageSize is how many objects are asked for at once.
const PageSize = 500

// Server is an API server, and the namespace of what names none.
type Server struct {
	Config    *rest.Config
	Namespace string
	Client    dynamic.Interface
	Metadata  metadata.Interface
	Mapper    meta.RESTMapper

	waits *waits // nil: it is not Patient
}

// Connect finds the API server that was named, or else that of this machine. It asks nothing of it yet, but that of
// this machine must listen.
func (f Flags) Connect() (*Server, error) {
	flags := f.OrLocal()
	config, namespace, err := flags.Config()
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	names, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	discover, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(discover))
	return &Server{Config: config, Namespace: namespace, Client: client, Metadata: names, Mapper: mapper}, nil
}

// Resource is where objects of a kind are found; in all namespaces if namespace is "". The error is a no-match error of
// package meta when the API server does not serve the kind.
func (s *Server) Resource(gvk schema.GroupVersionKind, namespace string) (dynamic.ResourceInterface, error) {
	mapping, err := s.Mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace || namespace == "" {
		return s.Client.Resource(mapping.Resource), nil
	}
	return s.Client.Resource(mapping.Resource).Namespace(namespace), nil
}

// List gives all objects of a kind, without their managed fields, in pages.
func (s *Server) List(ctx context.Context, gvk schema.GroupVersionKind, allNamespaces bool) ([]workload.Object, error) {
	namespace := s.Namespace
	if allNamespaces {
		namespace = ""
	}
	resource, err := s.Resource(gvk, namespace)
	if err != nil {
		return nil, err
	}
	var objects []workload.Object
	for options := (metav1.ListOptions{Limit: PageSize}); ; {
		page, err := resource.List(ctx, options)
		if err != nil {
			return nil, err
		}
		for n := range page.Items {
			o := &page.Items[n]
			o.SetManagedFields(nil)
			objects = append(objects, workload.Object{Content: o})
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return objects, nil
		}
	}
}

// Scheduled gives the CronJobs of all kinds and the Timetables. What may not be listed is told and left out, but for
// CronJobs of batch/v1.
func (s *Server) Scheduled(ctx context.Context, allNamespaces bool, tell func(string)) ([]workload.Object, error) {
	var objects []workload.Object
	for _, k := range kind.Owners {
		info := k.Info()
		got, err := s.List(ctx, info.Owner, allNamespaces)
		switch {
		case meta.IsNoMatchError(err):
			continue
		case apierrors.IsForbidden(err) && info.Owner.Group != batchv1.GroupName:
			tell(fmt.Sprintf("%s are left out: %v", info.Name, err))
			continue
		case err != nil:
			return nil, fmt.Errorf("list %s: %w", info.Name, err)
		}
		objects = append(objects, got...)
	}
	return objects, nil
}

// namesPage is how many objects are asked for at once when only their names matter.
const namesPage = 2000

// Names are those of all objects of some kinds, as far as they are served and may be listed. With an error they are
// those that were read until then.
func (s *Server) Names(ctx context.Context, kinds []schema.GroupVersionKind) ([]string, error) {
	var names []string
	var failed []error
	for _, gvk := range kinds {
		mapping, err := s.Mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		if err == nil {
			resource := s.Metadata.Resource(mapping.Resource).Namespace(s.Namespace)
			for options := (metav1.ListOptions{Limit: namesPage}); err == nil; {
				var page *metav1.PartialObjectMetadataList
				if page, err = resource.List(ctx, options); err != nil {
					break
				}
				for i := range page.Items {
					names = append(names, page.Items[i].Name)
				}
				if options.Continue = page.Continue; options.Continue == "" {
					break
				}
			}
		}
		if err != nil && !meta.IsNoMatchError(err) && !apierrors.IsForbidden(err) {
			failed = append(failed, err)
		}
	}
	return names, errors.Join(failed...)
}
