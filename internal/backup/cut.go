// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/carillon-dev/carillon/internal/controlplane"
)

// longestFreeze bounds how long the journal is kept from being written: what is recorded meanwhile waits.
const longestFreeze = 5 * time.Second

// frozenJournal is a journal at one moment. Until Thaw nobody writes to it; until Close it can be copied as it was
// then.
type frozenJournal interface {
	Thaw() error
	CopyTo(ctx context.Context, path string) error
	Close() error
}

// snapshotter is a store of which a snapshot can be begun.
type snapshotter interface {
	Snapshot(ctx context.Context) (*controlplane.Snapshot, error)
}

// moment is a Carillon at one moment, open for being read.
type moment struct {
	at      time.Time
	store   io.ReadCloser
	size    int64         // of the store, about
	journal frozenJournal // nil: there is none
	ended   *endedContainers
	froze   time.Duration // how long the journal could not be written to
}

// take holds a Carillon at one moment. A controller that is about to let a finished run go asks the journal first,
// which has its end only when the store has: so with the journal held, what it knows to have ended has ended in the
// snapshot that begins then. A container that the snapshot knows to have ended has left its record before: in the
// journal, or among those that are listed before the journal is let go.
func take(ctx context.Context, store snapshotter, freeze func(context.Context) (frozenJournal, error), endedPath string, now func() time.Time) (_ *moment, err error) {
	m := &moment{}
	defer func() {
		if err != nil {
			m.close()
		}
	}()
	if m.ended, err = openEnded(endedPath); err != nil {
		return nil, err
	}
	began := now()
	if m.journal, err = freeze(ctx); err != nil {
		return nil, err
	}
	thawed := m.journal == nil
	defer func() {
		if !thawed {
			err = errors.Join(err, m.journal.Thaw())
		}
	}()
	if err = m.ended.look(); err != nil {
		return nil, err
	}
	if err = m.begin(ctx, store); err != nil {
		return nil, err
	}
	m.at = now().UTC()
	if err = m.ended.look(); err != nil {
		return nil, err
	}
	if !thawed {
		thawed = true
		if err = m.journal.Thaw(); err != nil {
			return nil, err
		}
		m.froze = now().Sub(began)
	}
	return m, nil
}

// begin begins the snapshot of the store, within the bound.
func (m *moment) begin(ctx context.Context, store snapshotter) error {
	ctx, cancel := context.WithCancelCause(ctx)
	bound := time.AfterFunc(longestFreeze, func() {
		cancel(fmt.Errorf("it did not begin within %s; try again when there is less to do", longestFreeze))
	})
	defer bound.Stop()
	snapshot, err := store.Snapshot(ctx)
	if err != nil {
		if why := context.Cause(ctx); why != nil {
			return fmt.Errorf("take a snapshot of the store: %w", why)
		}
		return err
	}
	m.store, m.size = snapshot, snapshot.Size()
	return nil
}

func (m *moment) close() {
	if m.store != nil {
		m.store.Close()
	}
	if m.journal != nil {
		_ = m.journal.Close() // what was copied is checked
	}
	if m.ended != nil {
		m.ended.close()
	}
}
