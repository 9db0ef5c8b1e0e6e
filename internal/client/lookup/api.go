// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"cmp"
	"context"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/carillon-dev/carillon/internal/client/cluster"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// apiSource answers from the objects that an API server has.
type apiSource struct {
	server *cluster.Server
	client kubernetes.Interface
	// namespace is the one that is asked about where a question names none, "" for all.
	namespace string
	// name says whose objects they are, why says why there is no journal, "" on a cluster.
	name, why string
	most      int
	now       func() time.Time

	mu     sync.Mutex
	known  map[scope]listing
	limits []string
}

// listing is what a scope had at a time.
type listing struct {
	at   time.Time
	runs []run.Run
}

// fresh is how long a listing answers further questions: a command asks several at once, and watches for longer.
const fresh = 2 * time.Second

// newAPI gives the source for the objects that an API server has in a namespace, "" for all. name says to the user
// which one it is, why what there is no journal for; "" if nobody expects one.
func newAPI(server *cluster.Server, namespace, name, why string) (Source, error) {
	client, err := TypedClient(server)
	if err != nil {
		return nil, err
	}
	return &apiSource{server: server, client: client, namespace: namespace, name: name, why: why, most: mostJobs, now: time.Now, known: map[scope]listing{}}, nil
}

// Close implements Source.
func (s *apiSource) Close() error { return nil }

// scopeOf is what has to be read to answer a question.
func (s *apiSource) scopeOf(q *journal.Query) scope {
	c := scope{namespace: q.Namespace, name: q.Name, kind: q.OwnerKind, all: q.OwnerName != "" || q.OwnerUID != "" || q.UID != ""}
	if c.kind == timetableKind.Kind {
		c.uid = q.OwnerUID
	} else {
		c.kind = ""
	}
	return c
}

// read gives the runs of a scope, as they are now or were a moment ago.
func (s *apiSource) read(ctx context.Context, c scope) ([]run.Run, error) {
	s.mu.Lock()
	have, ok := s.known[c]
	s.mu.Unlock()
	if at := s.now(); ok && at.Sub(have.at) < fresh && !at.Before(have.at) {
		return have.runs, nil
	}
	at := s.now()
	runs, err := s.list(ctx, c)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(runs, NewestFirst)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[c] = listing{at, runs}
	return runs, nil
}

// NewestFirst orders runs as a journal gives them.
func NewestFirst(a, b run.Run) int {
	return cmp.Or(b.Time().Compare(a.Time()), b.Created.Compare(a.Created), strings.Compare(string(b.UID), string(a.UID)))
}

// Runs implements Source.
func (s *apiSource) Runs(ctx context.Context, q journal.Query) ([]run.Run, error) {
	runs, err := s.read(ctx, s.scopeOf(&q))
	if err != nil {
		return nil, err
	}
	chosen := Choose(&q, runs)
	return chosen, s.sum(ctx, chosen)
}

// Choose gives those that a question is about, in their order, of runs that are all that are known of their scheduled
// times. The argument is not modified.
func Choose(q *journal.Query, runs []run.Run) []run.Run {
	if q.LastTries {
		runs = run.LastOfTries(runs)
	}
	var chosen []run.Run
	for i := range runs {
		if q.Limit > 0 && len(chosen) == q.Limit {
			break
		}
		if Chooses(q, &runs[i]) {
			chosen = append(chosen, runs[i])
		}
	}
	return chosen
}

// Chooses tells whether a question is about a run, but for its Limit and LastTries, which are about others, too.
func Chooses(q *journal.Query, r *run.Run) bool {
	return (q.Namespace == "" || r.Namespace == q.Namespace) &&
		(q.OwnerKind == "" || r.Owner.Kind == q.OwnerKind) &&
		(q.OwnerName == "" || r.Owner.Name == q.OwnerName) &&
		(q.OwnerUID == "" || r.Owner.UID == q.OwnerUID) &&
		(len(q.OwnerUIDs) == 0 || slices.Contains(q.OwnerUIDs, r.Owner.UID)) &&
		(q.Name == "" || r.Name == q.Name) &&
		(q.UID == "" || r.UID == q.UID) &&
		(len(q.Outcomes) == 0 || slices.Contains(q.Outcomes, r.Outcome)) &&
		Between(r.Time(), q) &&
		(q.EndedFrom.IsZero() || !r.Ended.IsZero() && !r.Ended.Before(q.EndedFrom))
}

// Between tells whether a time is in the span of a question.
func Between(t time.Time, q *journal.Query) bool {
	return (q.From.IsZero() || !t.Before(q.From)) && (q.Until.IsZero() || t.Before(q.Until))
}

// Runs of which Pods are read, and for how many at once.
const (
	mostSummed   = 500
	summedAtOnce = 50
)

// sum adds what the Pods of the newest runs tell: how many attempts there were, their exit codes, and how long they
// took.
func (s *apiSource) sum(ctx context.Context, runs []run.Run) error {
	runs = runs[:min(len(runs), mostSummed)]
	for batch := range slices.Chunk(runs, summedAtOnce) {
		attempts, err := pods{s.client}.attemptsOfAll(ctx, batch)
		if apierrors.IsForbidden(err) {
			s.leftOut("Pods", err)
			return nil
		}
		if err != nil {
			return err
		}
		for i := range batch {
			batch[i].Sum(attempts[batch[i].UID])
		}
	}
	return nil
}

// Attempts implements Source.
func (s *apiSource) Attempts(ctx context.Context, r *run.Run) ([]run.Attempt, error) {
	attempts, err := pods{s.client}.attempts(ctx, r)
	if apierrors.IsForbidden(err) {
		s.leftOut("Pods", err)
		return nil, nil
	}
	return attempts, err
}

// Log implements Source.
func (s *apiSource) Log(ctx context.Context, a *run.Attempt) (io.ReadCloser, error) {
	return pods{s.client}.log(ctx, a, 0)
}

// Tail implements Source.
func (s *apiSource) Tail(ctx context.Context, a *run.Attempt, lines int) ([]byte, error) {
	log, err := pods{s.client}.log(ctx, a, lines)
	if apierrors.IsForbidden(err) {
		s.leftOut("logs", err)
		return nil, nil
	}
	return lastLines(log, lines, err)
}

const (
	// usualOf is how many successful runs tell what is usual, as in a journal.
	usualOf = 20
	// mostExact is of how many of these the Pods are read for it, the newest; of the others the Jobs' whole seconds do.
	mostExact = 100
)

// Usual implements Source.
func (s *apiSource) Usual(ctx context.Context, owners []types.UID) (map[types.UID]journal.Usual, error) {
	runs, err := s.read(ctx, scope{namespace: s.namespace})
	if err != nil {
		return nil, err
	}
	counts := map[types.UID]int{}
	for _, uid := range owners {
		counts[uid] = 0
	}
	var chosen []run.Run // newest first
	for i := range runs {
		r := &runs[i]
		if n, ok := counts[r.Owner.UID]; ok && r.Outcome == run.Succeeded && r.Owner.UID != "" && n < usualOf {
			counts[r.Owner.UID]++
			chosen = append(chosen, *r)
		}
	}
	if err := s.sum(ctx, chosen[:min(len(chosen), mostExact)]); err != nil {
		return nil, err
	}
	all := map[types.UID][]time.Duration{}
	for i := range chosen {
		all[chosen[i].Owner.UID] = append(all[chosen[i].Owner.UID], chosen[i].Duration(chosen[i].Ended))
	}
	usual := map[types.UID]journal.Usual{}
	for uid, took := range all {
		n := len(took)
		slices.Sort(took)
		usual[uid] = journal.Usual{Runs: n, Median: (took[(n-1)/2] + took[n/2]) / 2, Most: took[n-1]}
	}
	return usual, nil
}

// leftOut says that something may not be read.
func (s *apiSource) leftOut(what string, err error) { s.limit(what + " are left out: " + err.Error()) }

func (s *apiSource) limit(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.limits, text) {
		s.limits = append(s.limits, text)
	}
}

// Origin implements Source.
func (s *apiSource) Origin(context.Context) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	parts := []string{"the objects of " + s.name}
	if s.why != "" {
		parts = append(parts, s.why)
	}
	parts = append(parts, "Jobs that were cleaned up are not known")
	return strings.Join(append(parts, s.limits...), "; ")
}
