// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/client/cluster"
	"github.com/carillon-dev/carillon/internal/client/reference"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/kind"
	"github.com/carillon-dev/carillon/internal/kind/timetable"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/workload"
	"github.com/carillon-dev/carillon/internal/ui/page"
)

// subject is the object that an act is about, as the API server has it now.
type subject struct {
	server *cluster.Server
	gvk    schema.GroupVersionKind
	live   *unstructured.Unstructured
	// scheduled is the object as a CronJob or Timetable, run as what one has started; one of them is nil.
	scheduled *workload.Scheduled
	run       *run.Run
	// owner is the CronJob or Timetable that a run belongs to; nil if there is none any more.
	owner *workload.Scheduled
}

// named is what a page says of it.
type named struct {
	Kind, Namespace, Name, URL, Query string
}

func (s *subject) named() named {
	return named{s.gvk.Kind, s.live.GetNamespace(), s.live.GetName(), s.url(), s.query()}
}

// kindWord names its kind so that no other one is meant: that of batch by its name alone.
func (s *subject) kindWord() string {
	word := strings.ToLower(s.gvk.Kind)
	if s.scheduled != nil && (s.scheduled.Timetable() != nil || s.gvk.Group == batchv1.GroupName) ||
		s.gvk.Group == batchv1.GroupName || s.gvk.Group == "" {
		return word
	}
	return word + "." + s.gvk.Group
}

// query is that of the acts on it.
func (s *subject) query() string {
	return url.Values{"kind": {s.kindWord()}, "namespace": {s.live.GetNamespace()}, "name": {s.live.GetName()}}.Encode()
}

// act is the address of another act on it.
func (s *subject) act(name string) string { return "/act/" + name + "?" + s.query() }

func (s *subject) url() string {
	if s.run != nil {
		return page.RunURL(s.run)
	}
	return page.ScheduleURL(s.gvk.GroupVersion().String(), s.gvk.Kind, s.live.GetNamespace(), s.live.GetName())
}

func (s *subject) crumbs() []page.Crumb {
	crumbs := []page.Crumb{{Text: "Schedules", URL: "/schedules"}}
	if s.run != nil && s.run.Owner.Name != "" {
		crumbs = append(crumbs, page.Crumb{Text: s.run.Owner.Name, URL: page.OwnerURL(s.run)})
	}
	return append(crumbs, page.Crumb{Text: s.live.GetName(), URL: s.url()})
}

func (s *subject) resource() (dynamic.ResourceInterface, error) {
	return s.server.Resource(s.gvk, s.live.GetNamespace())
}

// kinds are those that the kind in an address may mean, and whether they have schedules. A word with a group
// ("cronjob.batch.volcano.sh") means that one alone.
func kinds(word, group string) (found []schema.GroupVersionKind, schedules bool) {
	if name, of, ok := strings.Cut(word, "."); ok {
		word, group = name, of
	}
	word = strings.ToLower(word)
	switch word {
	case "cronjob", "timetable":
		for _, gvk := range reference.KindsOf(word) {
			if group == "" || gvk.Group == group {
				found = append(found, gvk)
			}
		}
		return found, true
	case "job":
		if group == "" || group == batchv1.GroupName {
			return reference.KindsOf("job"), false
		}
		for _, k := range kind.All {
			if child := k.Info().Child; child.Group == group {
				return []schema.GroupVersionKind{child}, false
			}
		}
	case "pod":
		return []schema.GroupVersionKind{{Version: "v1", Kind: "Pod"}}, false
	}
	return nil, false
}

// find reads the object that an address names.
func find(ctx context.Context, s *page.Site, query url.Values) (*subject, error) {
	word, namespace, name := query.Get("kind"), query.Get("namespace"), query.Get("name")
	if word == "" || namespace == "" || name == "" {
		return nil, page.BadInput("The address must name the kind, the namespace and the name of what is meant.")
	}
	wanted, schedules := kinds(word, query.Get("group"))
	for _, gvk := range wanted {
		live, err := get(ctx, s.Server, gvk, namespace, name)
		switch {
		case err != nil:
			return nil, err
		case live == nil:
			continue
		case schedules:
			scheduled, err := readScheduled(ctx, s.Server, live)
			return &subject{server: s.Server, gvk: gvk, live: live, scheduled: scheduled}, err
		}
		return runSubject(ctx, s.Server, gvk, live)
	}
	if !schedules { // of another kind, as only those know who saw it
		const mostSameName = 20
		runs, err := s.Source.Runs(ctx, journal.Query{Namespace: namespace, Name: name, Limit: mostSameName})
		if err != nil {
			return nil, err
		}
		of, _, _ := strings.Cut(word, ".")
		runs = slices.DeleteFunc(slices.Clone(runs), func(r run.Run) bool { return !strings.EqualFold(r.Kind, of) })
		if len(runs) > 0 {
			gvk := schema.FromAPIVersionAndKind(runs[0].APIVersion, runs[0].Kind)
			live, err := get(ctx, s.Server, gvk, namespace, name)
			if err != nil {
				return nil, err
			}
			if live != nil {
				return runSubject(ctx, s.Server, gvk, live)
			}
			return nil, goneRun(&runs[0])
		}
	}
	return nil, page.NotFound("There is no %s %s in namespace %s. It may have been deleted.", word, name, namespace)
}

// goneRun says what can be done about a run whose object was cleaned up.
func goneRun(r *run.Run) *page.Fault {
	f := page.NotFound("The %s %s is not there any more: it was deleted, or cleaned up by the history limits.", r.Kind, r.Name)
	f.Title = "Nothing left to act on"
	if r.Owner.Name != "" {
		f.Cure = fmt.Sprintf("What is remembered of it stays on its page. To do the work again, start %s %s now.", r.Owner.Kind, r.Owner.Name)
	}
	return f
}

// get reads an object; nil if it is not there, or its kind is not served.
func get(ctx context.Context, server *cluster.Server, gvk schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	resource, err := server.Resource(gvk, namespace)
	if meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	live, err := resource.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err == nil && live.GroupVersionKind().Empty() {
		live.SetGroupVersionKind(gvk)
	}
	return live, err
}

func runSubject(ctx context.Context, server *cluster.Server, gvk schema.GroupVersionKind, live *unstructured.Unstructured) (*subject, error) {
	s := &subject{server: server, gvk: gvk, live: live}
	r := run.FromObject(live, nil)
	if r.Owner.Name != "" {
		of := schema.FromAPIVersionAndKind(r.Owner.APIVersion, r.Owner.Kind)
		owner, err := get(ctx, server, of, r.Namespace, r.Owner.Name)
		if err != nil && !apierrors.IsForbidden(err) {
			return nil, err
		}
		if owner != nil && owner.GetUID() == r.Owner.UID {
			if s.owner, err = readScheduled(ctx, server, owner); err != nil {
				return nil, err
			}
			r = run.FromObject(live, s.owner.Typed)
		}
	}
	s.run = &r
	return s, nil
}

var calendarKind = v1alpha1.GroupVersion.WithKind("Calendar")

// readScheduled reads a CronJob or Timetable, with the Calendars that it names.
func readScheduled(ctx context.Context, server *cluster.Server, live *unstructured.Unstructured) (*workload.Scheduled, error) {
	objects := []workload.Object{{Content: live}}
	options := workload.Options{Namespace: live.GetNamespace()}
	all, err := workload.Read(objects, options)
	if err != nil {
		return nil, err
	}
	if len(all.Scheduled) != 1 {
		return nil, fmt.Errorf("%s has no schedule", objects[0])
	}
	tt := all.Scheduled[0].Timetable()
	if tt == nil || len(timetable.Calendars(&tt.Spec)) == 0 {
		return all.Scheduled[0], nil
	}
	for _, name := range timetable.Calendars(&tt.Spec) {
		calendar, err := get(ctx, server, calendarKind, live.GetNamespace(), name)
		switch {
		case apierrors.IsForbidden(err):
			options.CalendarsUnread = "you may not read Calendars: " + err.Error()
		case err != nil:
			return nil, err
		case calendar != nil:
			objects = append(objects, workload.Object{Content: calendar})
		}
	}
	if all, err = workload.Read(objects, options); err != nil {
		return nil, err
	}
	return all.Scheduled[0], nil
}

// activeRuns are those of a schedule that have not ended, newest first, at most some; none if that may not be known.
func activeRuns(ctx context.Context, s *page.Site, of *workload.Scheduled) []run.Run {
	const most = 50
	runs, err := s.Source.Runs(ctx, journal.Query{
		Namespace: of.Owner.Namespace, OwnerKind: of.Kind.Info().Owner.Kind, OwnerName: of.Owner.Name, OwnerUID: of.Owner.UID,
		Outcomes: []run.Outcome{run.Active}, Limit: most,
	})
	if err != nil {
		return nil
	}
	return runs
}

// started is when a run began, as a sentence says it.
func started(r *run.Run, now time.Time) string {
	if r.Started.IsZero() {
		return "not started yet"
	}
	return "since " + cmp.Or(durationText(now.Sub(r.Begun())), "now")
}
