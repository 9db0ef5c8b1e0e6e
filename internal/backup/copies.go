// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package backup

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/carillon-dev/carillon/internal/datadir"
	"github.com/carillon-dev/carillon/internal/journal"
)

const (
	storeCopy   = "store.snapshot"
	journalCopy = "runs.db" // as the journal names it: the copy is opened as one
)

// copyAll copies what must not be held for long: a reader that is slow, such as a network, would make store and journal
// grow meanwhile.
func (b *creation) copyAll(ctx context.Context, m *moment) error {
	need := m.size
	if info, err := os.Lstat(datadir.JournalDatabase(b.dir)); err == nil && m.journal != nil {
		need += info.Size()
	}
	disk := space{b.work.path, spareBytes, "the store and the journal are copied there while the backup is made; free some space", freeBytes}
	if err := disk.check(need); err != nil {
		return err
	}
	if err := b.copyStore(ctx, m); err != nil {
		return fmt.Errorf("copy the store: %w", err)
	}
	if m.journal == nil {
		return nil
	}
	return b.copyJournal(ctx, m)
}

// copyJournal copies the journal and lets go of it. A damaged one is not in the backup, which has everything else.
func (b *creation) copyJournal(ctx context.Context, m *moment) error {
	b.o.Progress("copying the journal", 0)
	err := m.journal.CopyTo(ctx, b.work.file(journalCopy))
	cerr := m.journal.Close()
	m.journal = nil
	if err == nil {
		err = cerr
	}
	if err == nil {
		b.o.Progress("checking the journal", 0)
		err = journal.Verify(ctx, b.work.path)
	}
	switch {
	case err == nil:
		b.hasJournal = true
	case journal.IsDamage(err):
		b.leaveJournal(err)
	default:
		return fmt.Errorf("copy the journal: %w", err)
	}
	return nil
}

// freezeJournal holds the journal, unless that is damaged.
func (b *creation) freezeJournal(ctx context.Context) (frozenJournal, error) {
	frozen, err := b.freeze(ctx, datadir.Journal(b.dir))
	if journal.IsDamage(err) {
		b.leaveJournal(err)
		return nil, nil
	}
	return frozen, err
}

// leaveJournal makes the backup one without the journal.
func (b *creation) leaveJournal(why error) {
	b.made.JournalDamage = why.Error()
	b.o.Warn("the history is not in this backup: " + why.Error())
}

func (b *creation) copyStore(ctx context.Context, m *moment) error {
	f, err := os.OpenFile(b.work.file(storeCopy), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, &watched{ctx, m.store, b.step("copying the store")})
	m.store.Close()
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}
