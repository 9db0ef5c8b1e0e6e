// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/cli/cluster"
	"github.com/carillon-dev/carillon/internal/cli/exitcode"
	"github.com/carillon-dev/carillon/internal/cli/manifest"
	"github.com/carillon-dev/carillon/internal/kind"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// pageSize is how many objects are asked for at once.
const pageSize = 500

// input says what a command looks at: the objects of files, or those that an API server has.
type input struct {
	files         []string
	cluster       cluster.Flags
	allNamespaces bool
	// zone is that of CronJobs which name none; nil means UTC.
	zone *time.Location

	// read is how load has read the objects: in which namespace, and without which Calendars.
	read workload.Options
	// keepUnreadable: what is no object of its API is among the objects, and no error.
	keepUnreadable bool
}

func (i *input) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVarP(&i.files, "filename", "f", nil, "manifests: a file, a directory, or - for standard input; may be repeated")
	i.cluster.Add(flags)
	flags.BoolVarP(&i.allNamespaces, "all-namespaces", "A", false, "what an API server has in all namespaces")
}

// given tells whether files or an API server were named.
func (i *input) given() bool { return len(i.files) > 0 || i.cluster.Named() }

// load reads what was named: the objects of the files, with the Calendars that the API server has if one was named, too;
// or the CronJobs and Timetables of the API server, that of this machine if nothing was named. tell gets a line for
// each thing that the user should know beside that.
func (i *input) load(ctx context.Context, streams Streams, tell func(string)) (*workload.Objects, error) {
	options := workload.Options{Namespace: i.cluster.Namespace, Zone: i.zone, KeepUnreadable: i.keepUnreadable}
	objects, err := i.fromFiles(ctx, streams, tell)
	if err != nil {
		return nil, err
	}
	if len(i.files) == 0 || i.cluster.Named() {
		server, err := i.connect()
		if err != nil {
			return nil, err
		}
		options.Namespace = server.namespace
		var live []workload.Object
		if len(i.files) == 0 {
			if live, err = server.scheduled(ctx, i.allNamespaces, tell); err != nil {
				return nil, err
			}
		}
		calendars, err := server.list(ctx, calendarKind, i.allNamespaces)
		if apierrors.IsForbidden(err) {
			options.CalendarsUnread = err.Error()
		} else if err != nil && !meta.IsNoMatchError(err) {
			return nil, err
		}
		objects = append(append(objects, live...), calendars...)
	}
	i.read = options
	all, err := workload.Read(objects, options)
	if err != nil {
		return nil, &exitcode.Error{Code: exitcode.Usage, Err: err}
	}
	return all, nil
}

func (i *input) fromFiles(ctx context.Context, streams Streams, tell func(string)) ([]workload.Object, error) {
	if len(i.files) == 0 {
		return nil, nil
	}
	loaded, err := manifest.Load(ctx, i.files, streams.In, tell)
	if err != nil {
		return nil, err // which joins a Fault for each thing that is wrong
	}
	var objects []workload.Object
	for _, o := range loaded {
		objects = append(objects, workload.Object{Content: o.Unstructured, Source: o.Source.String(), File: o.Source.File, Line: o.Source.Line})
	}
	return objects, nil
}

var calendarKind = v1alpha1.GroupVersion.WithKind("Calendar")

// server is an API server.
type server struct {
	config    *rest.Config
	namespace string
	client    dynamic.Interface
	mapper    meta.RESTMapper
}

// connect reaches the API server that was named, or that of this machine.
func (i *input) connect() (*server, error) {
	flags := i.cluster.OrLocal()
	config, namespace, err := flags.Config()
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	discover, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(discover))
	return &server{config: config, namespace: namespace, client: client, mapper: mapper}, nil
}

// resource is where objects of a kind are found; in all namespaces if namespace is "". The error is a no-match error of
// package meta when the API server does not serve the kind.
func (s *server) resource(gvk schema.GroupVersionKind, namespace string) (dynamic.ResourceInterface, error) {
	mapping, err := s.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace || namespace == "" {
		return s.client.Resource(mapping.Resource), nil
	}
	return s.client.Resource(mapping.Resource).Namespace(namespace), nil
}

// list gives all objects of a kind, without their managed fields, in pages.
func (s *server) list(ctx context.Context, gvk schema.GroupVersionKind, allNamespaces bool) ([]workload.Object, error) {
	namespace := s.namespace
	if allNamespaces {
		namespace = ""
	}
	resource, err := s.resource(gvk, namespace)
	if err != nil {
		return nil, err
	}
	var objects []workload.Object
	for options := (metav1.ListOptions{Limit: pageSize}); ; {
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

// scheduled gives the CronJobs of all kinds and the Timetables. What may not be listed is told and left out, but for
// CronJobs of batch/v1.
func (s *server) scheduled(ctx context.Context, allNamespaces bool, tell func(string)) ([]workload.Object, error) {
	var objects []workload.Object
	for _, k := range kind.Owners {
		info := k.Info()
		got, err := s.list(ctx, info.Owner, allNamespaces)
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

// A reference is kind/name, as kubectl writes it.
type reference struct {
	kind string // cronjob, timetable or job
	name string
}

// referenceKinds are the words for a kind that a reference may have.
var referenceKinds = map[string][]string{
	"cronjob":   {"cronjob", "cronjobs", "cj", "cronjob.batch", "cronjobs.batch"},
	"timetable": {"timetable", "timetables", "tt", "timetables.batch.carillon.dev"},
	"job":       {"job", "jobs", "job.batch", "jobs.batch"},
}

// parseReference reads kind/name; ok is false for what is no reference: an expression, or a bare name.
func parseReference(text string) (ref reference, ok bool) {
	word, name, found := strings.Cut(text, "/")
	if !found || name == "" || strings.ContainsAny(text, " \t*@,") {
		return reference{}, false
	}
	for kind, words := range referenceKinds {
		if slices.Contains(words, strings.ToLower(word)) {
			return reference{kind, name}, true
		}
	}
	return reference{}, false
}

func (r reference) String() string { return r.kind + "/" + r.name }

// find gives the CronJob or Timetable of a reference: that of the namespace, if one was named ("" for none).
func find(all *workload.Objects, ref reference, namespace string) (*workload.Scheduled, error) {
	var found []*workload.Scheduled
	var names, qualified []string
	for _, s := range all.Scheduled {
		if namespace != "" && s.Typed.GetNamespace() != namespace {
			continue
		}
		if s.Reference() == ref.String() {
			found = append(found, s)
			qualified = append(qualified, s.Typed.GetNamespace()+"/"+s.Owner.Name)
		}
		names = append(names, s.Reference())
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		if len(names) == 0 && len(all.Scheduled) > 0 {
			return nil, exitcode.UsageError("there is no %s in the namespace %s, nor any other CronJob or Timetable", ref, namespace)
		}
		if len(names) == 0 {
			return nil, exitcode.UsageError("there is no %s: no CronJob or Timetable was found at all", ref)
		}
		return nil, exitcode.UsageError("there is no %s; there are %s", ref, shortList(names))
	}
	cure := "name one of the namespaces with --namespace"
	if sameNamespace(found) {
		cure = "name a file that has one of them with -f"
	}
	return nil, exitcode.UsageError("%s is the name of %d objects, %s; %s", ref, len(found), shortList(qualified), cure)
}

func sameNamespace(objects []*workload.Scheduled) bool {
	return !slices.ContainsFunc(objects, func(s *workload.Scheduled) bool { return s.Typed.GetNamespace() != objects[0].Typed.GetNamespace() })
}

// shortList is the first of some names.
func shortList(names []string) string {
	const most = 8
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}
