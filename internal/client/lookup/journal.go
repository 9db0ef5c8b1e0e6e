// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/client/cluster"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/journal/ended"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/statistics"
)

// Remembered is what a journalSource asks a journal; journal.Reader is one.
type Remembered interface {
	Runs(ctx context.Context, q journal.Query) ([]run.Run, error)
	Omissions(ctx context.Context, q journal.Query) ([]run.Omission, error)
	Attempts(ctx context.Context, uid types.UID) ([]run.Attempt, error)
	Log(ctx context.Context, containerID string) (io.ReadCloser, error)
	Tail(ctx context.Context, containerID string, lines int) ([]byte, error)
	Usual(ctx context.Context, owners []types.UID) (map[types.UID]journal.Usual, error)
	Statistics(ctx context.Context, q statistics.Query) (*statistics.Statistics, error)
	Extent(ctx context.Context) (journal.Extent, error)
	Names(ctx context.Context, namespace, kind string, most int) ([]string, error)
	Owners(ctx context.Context, q journal.Query) ([]journal.OwnerIn, error)
	Tally(ctx context.Context, q journal.Query, width time.Duration) ([]journal.Tally, error)
	Close() error
}

// journalSource answers from a journal. What that cannot have yet comes from the API server, if there is one: attempts
// that run, and what they write.
type journalSource struct {
	reader Remembered
	// name says which journal it is, note what else is to be said of it.
	name, note string
	// stopped is the data directory of the Carillon whose journal it is, if that does not run; "" otherwise.
	stopped string
	// ended is where the node leaves the logs of ended containers until the journal has them; "" is nowhere.
	ended string
	live  *pods
	// objects has the runs that are still there, and lags tells whether the journal may not have them; nil is never.
	objects Source
	lags    func() bool
}

func (s *journalSource) connect(server *cluster.Server) error {
	client, err := TypedClient(server)
	if err != nil {
		return err
	}
	s.live = &pods{client}
	return nil
}

// Close implements Source.
func (s *journalSource) Close() error { return s.reader.Close() }

// Runs implements Source.
func (s *journalSource) Runs(ctx context.Context, q journal.Query) ([]run.Run, error) {
	runs, err := s.reader.Runs(ctx, q)
	for i := range runs {
		runs[i].Left = s.stopped != "" && !runs[i].Outcome.Ended()
	}
	if err != nil || !s.isLate() {
		return runs, err
	}
	return s.withObjects(ctx, &q, runs), nil
}

// Omissions implements Source.
func (s *journalSource) Omissions(ctx context.Context, q journal.Query) ([]run.Omission, error) {
	return s.reader.Omissions(ctx, q)
}

// Usual implements Source.
func (s *journalSource) Usual(ctx context.Context, owners []types.UID) (map[types.UID]journal.Usual, error) {
	return s.reader.Usual(ctx, owners)
}

// Attempts implements Source.
func (s *journalSource) Attempts(ctx context.Context, r *run.Run) ([]run.Attempt, error) {
	attempts, err := s.reader.Attempts(ctx, r.UID)
	if err != nil || s.live == nil || r.Outcome.Ended() && len(attempts) > 0 && len(attempts) >= r.Attempts {
		return attempts, err
	}
	live, err := s.live.attempts(ctx, r)
	if err != nil {
		return attempts, nil // the journal has answered; what the API server would add is not worth an end
	}
	for _, a := range live {
		if !slices.ContainsFunc(attempts, func(known run.Attempt) bool { return known.ContainerID == a.ContainerID }) {
			attempts = append(attempts, a)
		}
	}
	sortAttempts(attempts)
	return attempts, nil
}

// Log implements Source.
func (s *journalSource) Log(ctx context.Context, a *run.Attempt) (io.ReadCloser, error) {
	log, err := s.reader.Log(ctx, a.ContainerID)
	if !errors.Is(err, fs.ErrNotExist) {
		return log, err
	}
	if waiting, err := s.waitingLog(a); !errors.Is(err, fs.ErrNotExist) {
		return waiting, err
	}
	if s.live == nil {
		return nil, err
	}
	return s.live.log(ctx, a, 0)
}

// Tail implements Source.
func (s *journalSource) Tail(ctx context.Context, a *run.Attempt, lines int) ([]byte, error) {
	tail, err := s.reader.Tail(ctx, a.ContainerID, lines)
	if len(tail) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return tail, err
	}
	if waiting, err := s.waitingLog(a); !errors.Is(err, fs.ErrNotExist) {
		return lastLines(waiting, lines, err)
	}
	if s.live == nil {
		return nil, nil
	}
	log, err := s.live.log(ctx, a, lines)
	return lastLines(log, lines, err)
}

// waitingLog is the log of a container that has ended and waits for the journal to take it.
func (s *journalSource) waitingLog(a *run.Attempt) (io.ReadCloser, error) {
	if s.ended == "" {
		return nil, fs.ErrNotExist
	}
	log, err := ended.OpenLog(s.ended, a.ContainerID)
	if err != nil {
		return nil, fs.ErrNotExist // the journal and the API server are asked, too: this is what lies between them
	}
	return log, nil
}

// Origin implements Source.
func (s *journalSource) Origin(ctx context.Context) string {
	text := s.name
	if extent, err := s.reader.Extent(ctx); err == nil && !extent.Oldest.IsZero() {
		text += ", since " + extent.Oldest.UTC().Format(time.DateOnly)
	}
	if s.note != "" {
		text += "; " + s.note
	}
	if s.isLate() {
		text += "; it cannot be written to now: of what ran lately the objects tell"
	}
	return text
}

// mostNames is how many names are looked for in a journal, when a shell completes one or one is wrong.
const mostNames = 20_000

// names are those of objects that the journal remembers, of the kind that a reference calls by this word.
func (s *journalSource) names(ctx context.Context, word, namespace string) ([]string, error) {
	kinds := map[string]string{"cronjob": "CronJob", "timetable": "Timetable", "job": "Job"}
	names, err := s.reader.Names(ctx, namespace, kinds[word], mostNames)
	if err != nil {
		return names, fmt.Errorf("read the journal: %w", err)
	}
	return names, nil
}

// Extent tells what the journal has.
func (s *journalSource) Extent(ctx context.Context) (journal.Extent, error) {
	return s.reader.Extent(ctx)
}

// NewJournal gives a source for a journal alone; name says to the user which one it is. stopped is the data directory
// of the Carillon that wrote it and does not run now, "" if there is none. Closing the source closes reader.
func NewJournal(reader Remembered, name, stopped string) Source {
	return &journalSource{reader: reader, name: name, stopped: stopped}
}

// Remembers tells whether a source is a journal.
func Remembers(s Source) bool {
	_, remembers := s.(*journalSource)
	return remembers
}

// Stopped is the data directory of the Carillon that remembers runs and does not run now; "" if it does, or is none.
func Stopped(s Source) string {
	if remembers, ok := s.(*journalSource); ok {
		return remembers.stopped
	}
	return ""
}

// WhyGone says what becomes of output where it was looked for.
func WhyGone(ctx context.Context, s Source) string {
	if Remembers(s) {
		return "the journal keeps the newest output only (carillon up --keep-logs)"
	}
	return "output goes with its Pods where there is no journal: " + s.Origin(ctx)
}

// StampOf tells two states of what a source remembers apart (journal.Reader.Stamp); false if it is no journal.
func StampOf(s Source) (stamp journal.Stamp, ok bool) {
	remembers, ok := s.(*journalSource)
	if !ok {
		return journal.Stamp{}, false
	}
	reader := remembers.reader
	if of, ok := reader.(confined); ok {
		reader = of.Remembered
	}
	stamped, ok := reader.(interface{ Stamp() journal.Stamp })
	if !ok {
		return journal.Stamp{}, false
	}
	return stamped.Stamp(), true
}
