// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
)

// lookPeriod is how often the store is looked at. A look costs microseconds.
const lookPeriod = 5 * time.Second

// maintainer keeps the store within its quota, and tells the user when that will not last. A crash at any point of it
// leaves a store that the next start looks after in the same way.
type maintainer struct {
	store   *store
	dir     string
	quota   int64
	log     logr.Logger
	warn    func(string)
	history storeHistory
	// refused says that the store was full, and that its user was not told yet that it is no more.
	refused bool

	usage atomic.Pointer[StoreUsage] // of the last look, for others
}

// look measures the store.
func (m *maintainer) look() (StoreUsage, error) {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(m.dir, &disk); err != nil {
		return StoreUsage{}, unusableDir(m.dir, err)
	}
	server := m.store.server.Server
	u := StoreUsage{
		Size: server.Backend().Size(), InUse: server.Backend().SizeInUse(), Quota: m.quota,
		DiskFree: int64(disk.Bavail) * int64(disk.Bsize), Revision: server.KV().Rev(),
	}
	for _, alarm := range server.Alarms() {
		u.Full = u.Full || alarm.Alarm == etcdserverpb.AlarmType_NOSPACE
	}
	m.refused = m.refused || u.Full
	m.usage.Store(&u)
	return u, nil
}

// open brings a store that is full, or nearly so, into a state in which it can be used, or says why it cannot be.
func (m *maintainer) open(ctx context.Context, now time.Time) error {
	u, short, err := m.tidy(ctx, now)
	if err != nil || !u.Full {
		return err
	}
	if short > 0 {
		return fmt.Errorf("the store in %s is full, and %s of disk are missing to give its free pages back: free some space and start again, or start with --quota-backend-bytes %s", m.dir, sizeOf(short), largerQuota(u))
	}
	return fmt.Errorf("the store in %s is full with %s of %s, and nothing can be written to it: start with --quota-backend-bytes %s, and then delete what is not needed; it holds %s",
		m.dir, sizeOf(u.InUse), sizeOf(u.Quota), largerQuota(u), m.holds(ctx))
}

// largerQuota is twice what there is or is needed, as the flag takes it.
func largerQuota(u StoreUsage) string { return fmt.Sprintf("%dMi", 2*max(u.Quota, u.InUse)>>20) }

// run looks after the store until ctx ends.
func (m *maintainer) run(ctx context.Context) {
	ticker := time.NewTicker(lookPeriod)
	defer ticker.Stop()
	failed := ""
	for now := time.Now(); ; {
		err := m.pass(ctx, now)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			failed = ""
		} else if err.Error() != failed {
			failed = err.Error()
			m.log.Error(err, "Cannot look after the store; trying again")
		}
		select {
		case now = <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// pass is one look with what follows from it.
func (m *maintainer) pass(ctx context.Context, now time.Time) error {
	u, short, err := m.tidy(ctx, now)
	if m.refused && !u.Full && err == nil {
		m.refused = false
		m.warn(fmt.Sprintf("the store was full and refused to be written to; it was compacted and has room again: %s of %s are in use", sizeOf(u.InUse), sizeOf(u.Quota)))
	}
	if u.Quota == 0 {
		return err
	}
	var tell bool
	tell, m.history.room = tells(now, roomLevel(u, m.history.room.level), m.history.room)
	if tell {
		m.warn(m.roomMessage(ctx, u, short))
	}
	tell, m.history.disk = tells(now, diskLevel(u, m.history.disk.level), m.history.disk)
	if tell {
		m.warn(fmt.Sprintf("only %s are free on the disk of %s, and the store stops when it is full: free some space", sizeOf(u.DiskFree), m.dir))
	}
	return err
}

// tidy compacts, defragments and disarms as far as that is due. short is the disk space that was missing.
func (m *maintainer) tidy(ctx context.Context, now time.Time) (u StoreUsage, short int64, err error) {
	if u, err = m.look(); err != nil {
		return u, 0, err
	}
	seen := u.Revision
	defer func() { m.history.revision = seen }()
	server := m.store.server.Server
	if to := compaction(now, u, m.history); to > 0 {
		// The API server compacts too, and may have come first.
		if _, err := server.Compact(ctx, &etcdserverpb.CompactionRequest{Revision: to, Physical: true}); err != nil && !errors.Is(err, mvcc.ErrCompacted) {
			return u, 0, fmt.Errorf("compact the store: %w", err)
		}
		m.history.compacted, m.history.compactedAt = to, now
		m.log.Info("Compacted the store", "revision", to)
		m.settle(ctx)
		if u, err = m.look(); err != nil {
			return u, 0, err
		}
	}
	var do bool
	if do, short = defragmentation(now, u, m.history); do {
		m.history.defragmented = now
		before := u.Size
		if err := server.Backend().Defrag(); err != nil {
			return u, 0, fmt.Errorf("defragment the store: %w", err)
		}
		if u, err = m.look(); err != nil {
			return u, 0, err
		}
		m.log.Info("Defragmented the store", "before", sizeOf(before), "after", sizeOf(u.Size))
	}
	if disarms(u) {
		request := &etcdserverpb.AlarmRequest{Action: etcdserverpb.AlarmRequest_DEACTIVATE, Alarm: etcdserverpb.AlarmType_NOSPACE, MemberID: uint64(server.MemberID())}
		if _, err := server.Alarm(ctx, request); err != nil {
			return u, short, fmt.Errorf("let the store be written to again: %w", err)
		}
		m.log.Info("The store has room again", "size", sizeOf(u.Size), "quota", sizeOf(u.Quota))
		u, err = m.look()
	}
	return u, short, err
}

// settleCommits and settlePause are how often settle commits, and what it leaves for readers to let go in between.
const (
	settleCommits = 8
	settlePause   = 5 * time.Millisecond
)

// settle makes a look tell what a compaction has freed. Pages become free with the second commit after readers of what
// was there before have ended, and are counted as free with the next; and each commit leaves the readers of before to
// a goroutine of its own. Without this a look finds the pages in use, and a file that could be small is left as it is.
func (m *maintainer) settle(ctx context.Context) {
	for range settleCommits {
		m.store.server.Server.Backend().ForceCommit()
		select {
		case <-time.After(settlePause):
		case <-ctx.Done():
			return
		}
	}
}

func (m *maintainer) roomMessage(ctx context.Context, u StoreUsage, short int64) string {
	state := fmt.Sprintf("is %d %% full", u.share(u.InUse))
	if u.Full {
		state = "is full and nothing can be written to it"
	}
	message := fmt.Sprintf("the store %s: %s of %s are in use; it holds %s; delete what is not needed, or start again with --quota-backend-bytes %s", state, sizeOf(u.InUse), sizeOf(u.Quota), m.holds(ctx), largerQuota(u))
	if short > 0 {
		message += fmt.Sprintf("; %s could be given back if the disk had %s more free", sizeOf(u.Size-u.InUse), sizeOf(short))
	}
	return message
}

// holds names what fills the store.
func (m *maintainer) holds(ctx context.Context) string {
	uses, err := contents(ctx, m.store.server.Server)
	if err != nil {
		return "what could not be read: " + err.Error()
	}
	return inWords(uses)
}
