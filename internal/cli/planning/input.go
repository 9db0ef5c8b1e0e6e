// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/cli/manifest"
	"github.com/carillon-dev/carillon/internal/client/cluster"
	"github.com/carillon-dev/carillon/internal/client/exitcode"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

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

// load reads what was named: the objects of the files, with the Calendars that the API server has if one was named,
// too; or the CronJobs and Timetables of the API server, that of this machine if nothing was named. tell gets a line
// for each thing that the user should know beside that.
func (i *input) load(ctx context.Context, streams Streams, tell func(string)) (*workload.Objects, error) {
	options := workload.Options{Namespace: i.cluster.Namespace, Zone: i.zone, KeepUnreadable: i.keepUnreadable}
	objects, err := i.fromFiles(ctx, streams, tell)
	if err != nil {
		return nil, err
	}
	if len(i.files) == 0 || i.cluster.Named() {
		server, err := i.cluster.Connect()
		if err != nil {
			return nil, err
		}
		options.Namespace = server.Namespace
		var live []workload.Object
		if len(i.files) == 0 {
			if live, err = server.Scheduled(ctx, i.allNamespaces, tell); err != nil {
				return nil, err
			}
		}
		calendars, err := server.List(ctx, calendarKind, i.allNamespaces)
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
