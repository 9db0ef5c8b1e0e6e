// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/carillon-dev/carillon/internal/client/evidence"
	"github.com/carillon-dev/carillon/internal/client/lookup"
	"github.com/carillon-dev/carillon/internal/client/reference"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/diagnosis"
	"github.com/carillon-dev/carillon/internal/plan/duration"
	"github.com/carillon-dev/carillon/internal/plan/paragraph"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/workload"
	"github.com/carillon-dev/carillon/internal/ui/page"
)

// How much is read.
const (
	mostRuns      = 100
	mostOmissions = 100
	closeRuns     = 6 // newest runs whose objects are read, and so many around the time
	closeBy       = time.Hour
	// askWithin bounds how long an API server may take to tell what it knows.
	askWithin = 10 * time.Second
)

// known is what is known before the time of the question is.
type known struct {
	now     time.Time
	subject page.Subject
	// scheduled is nil if the object is gone, or could not be read: absent says why.
	scheduled *workload.Scheduled
	absent    string
	// runs and omissions are the newest.
	runs      []run.Run
	omissions []run.Omission
	origin    string
}

// ask reads the schedule, its newest runs and times without one. The error says that nothing is known of it.
func ask(ctx context.Context, s *page.Site, subject page.Subject, now time.Time) (*known, error) {
	k := &known{now: now, subject: subject}
	var err error
	if s.Server == nil {
		k.absent = "no API server could be asked"
	} else if k.scheduled, err = evidence.Scheduled(ctx, s.Server, subject.Kind.Info().Owner, subject.Namespace, subject.Name); err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		k.absent = "the object cannot be read: " + err.Error()
		if apierrors.IsForbidden(err) {
			k.absent = "not allowed: " + err.Error()
		}
	}
	q := k.query()
	q.Limit = mostRuns
	if k.runs, err = s.Source.Runs(ctx, q); err != nil {
		return nil, err
	}
	q.Limit = mostOmissions
	if k.omissions, err = s.Source.Omissions(ctx, q); err != nil {
		return nil, err
	}
	k.origin = s.Source.Origin(ctx)
	if k.scheduled == nil && len(k.runs)+len(k.omissions) == 0 {
		fault := page.NotFound("There is no %s %s in the namespace %s, and nothing is remembered of one.", subject.Word(), subject.Name, subject.Namespace)
		if k.absent != "" {
			fault.Message += " " + paragraph.Sentence(k.absent)
		}
		return nil, fault
	}
	return k, nil
}

// query chooses what is known of the schedule.
func (k *known) query() journal.Query {
	return journal.Query{Namespace: k.subject.Namespace, OwnerKind: k.subject.OwnerKind(), OwnerName: k.subject.Name}
}

// zone is that of the schedule.
func (k *known) zone() *time.Location { return (&diagnosis.Evidence{Scheduled: k.scheduled}).Zone() }

// answer answers the question of a page. Where no evidence can be had that is said in the answer.
func (k *known) answer(ctx context.Context, s *page.Site, c *content) (*answer, error) {
	var question diagnosis.Question
	var at time.Time
	if !c.Present {
		question.At, at = &c.read, c.read.From
	}
	e, err := k.evidence(ctx, s, at)
	if err != nil {
		return nil, err
	}
	if remembers, ok := s.Source.(evidence.Journal); ok {
		evidence.Remember(ctx, remembers, e, at)
	}
	a := answerOf(k.subject, diagnosis.Explain(e, question))
	if !c.Present {
		a.Earlier = k.earlier(question.At)
	}
	return a, nil
}

// earlier says what is known of a time of an object that had the name before this one.
func (k *known) earlier(at *diagnosis.At) string {
	if k.scheduled == nil {
		return ""
	}
	uid := k.scheduled.Owner.UID
	for i := range k.runs {
		if r := &k.runs[i]; r.Owner.UID != "" && r.Owner.UID != uid && !r.ScheduledTime.IsZero() && at.Contains(r.ScheduledTime) {
			return "it had a run then, " + r.Name + ": " + page.OutcomeOf(r).Text
		}
	}
	for i := range k.omissions {
		o := &k.omissions[i]
		covers := at.Contains(o.ScheduledTime) || !o.ScheduledTime.After(at.From) && !o.Until.Before(at.From)
		if o.Owner.UID != "" && o.Owner.UID != uid && covers {
			word := "skipped"
			if o.Missed {
				word = "missed"
			}
			return "the time was " + word + ": " + whyOf(o)
		}
	}
	return ""
}

// evidence collects what is known for the time that is asked about; zero is the present.
func (k *known) evidence(ctx context.Context, s *page.Site, at time.Time) (*diagnosis.Evidence, error) {
	e, err := k.fromServer(ctx, s, at)
	if err != nil {
		return nil, err
	}
	if e == nil {
		if e, err = k.alone(ctx, s); err != nil {
			return nil, err
		}
	}
	e.Now, e.Kubectl = k.now, s.Kubectl
	e.Standalone = strings.HasPrefix(s.Kubectl, "carillon kubectl")
	return e, nil
}

// fromServer is what the API server knows; nil if it has no such object, or could not be asked.
func (k *known) fromServer(ctx context.Context, s *page.Site, at time.Time) (*diagnosis.Evidence, error) {
	if k.scheduled == nil {
		return nil, nil //nolint:nilnil // documented
	}
	var near []string
	if _, remembers := s.Source.(evidence.Journal); remembers { // which knows the others
		var err error
		if near, err = k.near(ctx, s, at); err != nil {
			return nil, err
		}
	}
	bounded, done := context.WithTimeout(ctx, askWithin)
	defer done()
	e, err := evidence.Near(bounded, s.Server, k.subject.Kind.Info().Owner, k.subject.Namespace, k.subject.Name, near, k.now)
	notThere := (*evidence.NotThere)(nil)
	switch {
	case err == nil:
		return e, nil
	case errors.As(err, &notThere), ctx.Err() != nil:
		return nil, ctx.Err()
	}
	// The object itself is known: what could not be had beside it is said.
	what := err.Error()
	if errors.Is(err, context.DeadlineExceeded) {
		what = "what the API server knows of its runs: it did not answer within " + duration.Short(askWithin)
	}
	return &diagnosis.Evidence{Scheduled: k.scheduled, Unread: []string{what}}, nil
}

// near are the names of the runs whose objects matter most: those around the time, what is active, and the newest.
func (k *known) near(ctx context.Context, s *page.Site, at time.Time) ([]string, error) {
	names := []string{}
	add := func(runs []run.Run, chosen func(*run.Run) bool) {
		for i := range runs {
			if chosen(&runs[i]) && !slices.Contains(names, runs[i].Name) {
				names = append(names, runs[i].Name)
			}
		}
	}
	every := func(*run.Run) bool { return true }
	if !at.IsZero() {
		q := k.query()
		q.From, q.Until, q.Limit = at.Add(-closeBy), at.Add(closeBy), mostRuns
		around, err := s.Source.Runs(ctx, q)
		if err != nil {
			return nil, err
		}
		slices.SortStableFunc(around, func(a, b run.Run) int {
			return int(a.Time().Sub(at).Abs().Seconds()) - int(b.Time().Sub(at).Abs().Seconds())
		})
		add(around[:min(len(around), closeRuns)], every)
	}
	add(k.runs, func(r *run.Run) bool { return !r.Outcome.Ended() })
	add(k.runs[:min(len(k.runs), closeRuns)], every)
	return names, nil
}

// alone is what a journal knows on its own.
func (k *known) alone(ctx context.Context, s *page.Site) (*diagnosis.Evidence, error) {
	of := diagnosis.Journal{Unasked: k.absent}
	if dir := lookup.Stopped(s.Source); dir != "" {
		of = evidence.Stopped(dir, k.now)
	}
	if remembers, ok := s.Source.(evidence.Journal); ok {
		e, err := evidence.Alone(ctx, remembers, reference.Reference{Kind: k.subject.Word(), Name: k.subject.Name}, k.subject.Namespace, of)
		if err != nil || e != nil {
			return e, err
		}
	}
	return &diagnosis.Evidence{Unread: []string{"the object: it is gone, or " + of.Unasked}}, nil
}
