// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"context"
	"fmt"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// Lock wraps the lock of the process's lease, to see when it is renewed and when it is lost. From now on requests are
// sent only while it is held.
//
// A renewal counts from when it was begun: others count from when they see it, which is later. One that fails may have
// been carried out all the same; it does not count, which is the careful side.
func (f *Fence) Lock(next resourcelock.Interface) resourcelock.Interface {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.elected = true
	return &lock{Interface: next, fence: f}
}

type lock struct {
	resourcelock.Interface
	fence *Fence
}

// Get implements resourcelock.Interface.
func (l *lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if err == nil && record.HolderIdentity != l.Identity() {
		l.fence.lose()
	}
	return record, raw, err
}

// Create implements resourcelock.Interface.
func (l *lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(record, func() error { return l.Interface.Create(ctx, record) })
}

// Update implements resourcelock.Interface. A lease that is given up is another's at once, so that waits until nothing
// that was sent can have an effect any more; if that takes too long, the lease is left to expire.
func (l *lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if record.HolderIdentity != l.Identity() {
		l.fence.lose()
		if err := l.fence.settle(ctx); err != nil {
			return fmt.Errorf("the lease is left to expire, because requests are still under way: %w", err)
		}
	}
	return l.write(record, func() error { return l.Interface.Update(ctx, record) })
}

func (l *lock) write(record resourcelock.LeaderElectionRecord, write func() error) error {
	begun := l.fence.now()
	err := write()
	if err == nil && record.HolderIdentity == l.Identity() {
		l.fence.renew(begun)
	}
	return err
}
