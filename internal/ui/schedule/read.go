// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/client/evidence"
	"github.com/carillon-dev/carillon/internal/client/task"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/diagnosis"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/spelling"
	"github.com/carillon-dev/carillon/internal/plan/status"
	"github.com/carillon-dev/carillon/internal/plan/workload"
	"github.com/carillon-dev/carillon/internal/ui/page"
)

// How much is read.
const (
	mostLatest    = 500 // runs that the summary is of
	mostOmissions = 500
	mostEvents    = 200
	closeRuns     = 4 // of which events are read
	// eventsWithin bounds how long events may take: an API server finds them by looking at all.
	eventsWithin = 700 * time.Millisecond
)

// known is what was read.
type known struct {
	now     time.Time
	subject page.Subject
	// scheduled is the object; nil if it is gone or could not be read: absent says so, forbidden that it was not allowed.
	scheduled *workload.Scheduled
	absent    string
	forbidden bool
	// latest are the newest runs, cut tells that there are earlier ones; omissions are of the same time. unreadable says
	// why they could not be read.
	latest     []run.Run
	cut        bool
	omissions  []run.Omission
	unreadable string
	usual      status.Usual
	origin     string
	// asked is which page of runs is shown, with these.
	asked       asked
	page        []run.Run
	pageOmitted []run.Omission
	older       time.Time
	// events are about it and its newest runs; eventsMissing says why some or all could not be read.
	events        []diagnosis.Event
	eventsMissing string
}

// active are the runs that have not ended, the oldest first.
func (k *known) active() []run.Run {
	var active []run.Run
	for i := len(k.latest) - 1; i >= 0; i-- {
		if !k.latest[i].Outcome.Ended() {
			active = append(active, k.latest[i])
		}
	}
	return active
}

// read finds out what is known. The error says that nothing is.
func read(ctx context.Context, s *page.Site, subject page.Subject, asked asked, now time.Time) (*known, error) {
	k := &known{now: now, subject: subject, asked: asked}
	q := journal.Query{Namespace: subject.Namespace, OwnerKind: subject.OwnerKind(), OwnerName: subject.Name}
	objects, runs := task.NewGroup(s.Log), task.NewGroup(s.Log)
	var owner []diagnosis.Event
	events, done := context.WithTimeout(ctx, eventsWithin)
	defer done()
	var missing error
	objects.Go("reading a schedule", func() { k.object(ctx, s) })
	objects.Go("the events of a schedule", func() {
		owner, missing = eventsAbout(events, s, subject.Namespace, subject.OwnerKind(), subject.Name)
	})
	runs.Go("the runs of a schedule", func() { k.runs(ctx, s, q) })
	fault := runs.Wait()
	ofRuns, missingOfRuns := eventsAboutRuns(events, s, k.latest)
	if err := cmp.Or(objects.Wait(), fault); err != nil {
		return nil, err
	}
	k.events = append(owner, ofRuns...)
	if err := errors.Join(missing, missingOfRuns); err != nil {
		k.eventsMissing = unreadEvents(err)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if k.scheduled == nil && len(k.latest)+len(k.omissions) == 0 && k.unreadable == "" {
		if k.absent != "" {
			fault := page.NotFound("Nothing is remembered of %s %s in the namespace %s, and the object is not read: %s.",
				subject.Word(), subject.Name, subject.Namespace, strings.TrimSuffix(k.absent, "."))
			if k.forbidden {
				fault.Code, fault.Title = http.StatusForbidden, "Not allowed"
			}
			return nil, fault
		}
		return nil, notThere(ctx, s, subject)
	}
	return k, nil
}

// notThere says that there is no such schedule, and which ones have nearly its name.
func notThere(ctx context.Context, s *page.Site, subject page.Subject) error {
	fault := page.NotFound("There is no %s %s in the namespace %s, and nothing is remembered of one.", subject.Word(), subject.Name, subject.Namespace)
	all, err := s.Cache.Schedules(ctx)
	if err != nil {
		return fault
	}
	var names, elsewhere []string
	urls := map[string]string{} // by name, and by namespace
	for _, o := range all {
		if o.Reference() != subject.Word()+"/"+o.Owner.Name {
			continue
		}
		switch {
		case o.Owner.Namespace == subject.Namespace:
			names = append(names, o.Owner.Name)
			urls[o.Owner.Name] = page.ReferenceURL(o.Owner.Namespace, o.Reference())
		case o.Owner.Name == subject.Name:
			elsewhere = append(elsewhere, o.Owner.Namespace)
			urls[o.Owner.Namespace] = page.ReferenceURL(o.Owner.Namespace, o.Reference())
		}
	}
	const few = 5
	lead := func(to []string) []string {
		to = to[:min(few, len(to))]
		for _, one := range to {
			fault.Links = append(fault.Links, page.Crumb{Text: one, URL: urls[one]})
		}
		return to
	}
	switch near := spelling.Nearest(subject.Name, names); {
	case len(near) > 0:
		fault.Cure = "Did you mean " + strings.Join(lead(near), " or ") + "?"
	case len(elsewhere) > 0:
		slices.Sort(elsewhere)
		fault.Cure = "One of that name is in " + strings.Join(lead(elsewhere), ", ") + "."
	}
	return fault
}

// object reads the object.
func (k *known) object(ctx context.Context, s *page.Site) {
	if s.Server == nil {
		k.absent = "no API server could be asked, so this is what is remembered"
		return
	}
	var err error
	k.scheduled, err = evidence.Scheduled(ctx, s.Server, k.subject.Kind.Info().Owner, k.subject.Namespace, k.subject.Name)
	switch {
	case apierrors.IsForbidden(err):
		k.absent, k.forbidden = "not allowed: "+err.Error(), true
	case err != nil:
		k.absent = "the API server does not answer as it should: " + err.Error()
	}
}

// runs reads the newest runs, and those of the page that is asked for.
func (k *known) runs(ctx context.Context, s *page.Site, q journal.Query) {
	var err error
	latest := q
	latest.Limit = mostLatest
	k.latest, err = s.Source.Runs(ctx, latest)
	if err == nil {
		k.cut = len(k.latest) == mostLatest
		latest.Limit = mostOmissions
		if k.cut {
			latest.From = k.latest[len(k.latest)-1].Time()
		}
		k.omissions, err = s.Source.Omissions(ctx, latest)
	}
	if err == nil {
		err = k.pageOf(ctx, s, q)
	}
	if err == nil && len(k.latest) > 0 && k.latest[0].Owner.UID != "" {
		owner := k.latest[0].Owner.UID
		var usual map[types.UID]journal.Usual
		usual, err = s.Source.Usual(ctx, []types.UID{owner})
		k.usual = status.Usual{Runs: usual[owner].Runs, Median: usual[owner].Median, Most: usual[owner].Most}
	}
	if err != nil {
		k.unreadable = err.Error()
	}
	k.origin = s.Source.Origin(ctx)
}

// pageOf reads the page of runs that is asked for.
func (k *known) pageOf(ctx context.Context, s *page.Site, q journal.Query) error {
	q.Until = k.asked.until
	if !k.asked.omitted {
		q.Outcomes, q.Limit = k.asked.outcomes, pageSize+1
		runs, err := s.Source.Runs(ctx, q)
		if err != nil {
			return err
		}
		if k.page, k.older = wholeTimes(runs); !k.older.IsZero() && len(k.page) > 0 && k.page[0].Time().Equal(k.older) {
			q.From, q.Until, q.Limit = k.older, k.older.Add(time.Nanosecond), 0 // more tries of one time than a page has
			if k.page, err = s.Source.Runs(ctx, q); err != nil {
				return err
			}
		}
	}
	if len(k.asked.outcomes) > 0 {
		return nil
	}
	q.Outcomes, q.From, q.Until, q.Limit = nil, k.older, k.asked.until, mostOmissions
	if k.asked.omitted {
		q.Limit = pageSize + 1
	}
	omitted, err := s.Source.Omissions(ctx, q)
	if err == nil && k.asked.omitted && len(omitted) > pageSize {
		omitted = omitted[:pageSize]
		k.older = omitted[pageSize-1].ScheduledTime
	}
	k.pageOmitted = omitted
	return err
}

// wholeTimes cuts a page off runs, newest first, so that no tries of one time are torn apart. older is the time before
// which the next page begins; zero if there is none.
func wholeTimes(runs []run.Run) (page []run.Run, older time.Time) {
	if len(runs) <= pageSize {
		return runs, time.Time{}
	}
	n := pageSize
	for n > 0 && runs[n-1].Time().Equal(runs[pageSize].Time()) {
		n--
	}
	if n == 0 {
		return runs, runs[0].Time()
	}
	return runs[:n], runs[n-1].Time()
}

// eventsAboutRuns reads those of the newest runs whose objects may be there.
func eventsAboutRuns(ctx context.Context, s *page.Site, latest []run.Run) ([]diagnosis.Event, error) {
	if s.Server == nil {
		return nil, nil
	}
	var mutex sync.Mutex
	var all []diagnosis.Event
	var failed error
	each := task.NewGroup(s.Log)
	for _, r := range latest[:min(len(latest), closeRuns)] {
		each.Go("the events of a run", func() {
			got, err := eventsAbout(ctx, s, r.Namespace, r.Kind, r.Name)
			mutex.Lock()
			defer mutex.Unlock()
			all = append(all, got...)
			failed = errors.Join(failed, err)
		})
	}
	return all, errors.Join(failed, each.Wait())
}

var eventKind = corev1.SchemeGroupVersion.WithKind("Event")

// eventsAbout reads the events about one object.
func eventsAbout(ctx context.Context, s *page.Site, namespace, kind, name string) ([]diagnosis.Event, error) {
	if s.Server == nil || kind == "" {
		return nil, nil
	}
	resource, err := s.Server.Resource(eventKind, namespace)
	if err != nil {
		return nil, err
	}
	selector := fields.Set{"involvedObject.kind": kind, "involvedObject.name": name}.AsSelector().String()
	list, err := resource.List(ctx, metav1.ListOptions{FieldSelector: selector, Limit: mostEvents})
	if err != nil {
		return nil, err
	}
	var events []diagnosis.Event
	for i := range list.Items {
		if e, ok := diagnosis.ReadEvent(&list.Items[i]); ok && e.Kind == kind && e.Name == name {
			events = append(events, e)
		}
	}
	return events, nil
}

// unreadEvents says why events could not be read.
func unreadEvents(err error) string {
	switch {
	case apierrors.IsForbidden(err):
		return "not allowed: " + err.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return "the API server took too long to find them; this page does not wait for that"
	}
	return err.Error()
}
