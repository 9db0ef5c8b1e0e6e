// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package controlplane

import (
	"time"

	"go.etcd.io/etcd/server/v3/embed"
)

// The quota limits the store's file. What is deleted or changed stays in it as history until a compaction, and after
// that as free pages until they are used again or a defragmentation writes the file anew. So a store can be full that
// holds little, and what keeps it from that is decided here.

// DefaultQuota is the store's quota in bytes unless Options.QuotaBackendBytes says otherwise: etcd's own default.
// LeastQuota leaves an empty plane some room.
const (
	DefaultQuota = 2 << 30
	LeastQuota   = 16 << 20
)

// Shares of the quota in percent.
const (
	shareTight = 70 // history is dropped sooner than the API server does it, and the user is told
	shareShort = 85 // nothing waits for a quiet moment any more
	shareFull  = 95 // the alarm stays raised: a few writes would raise it again
	shareCalm  = 5  // how far the share must fall below a mark before that counts as left
)

const (
	// quietWrites is the number of writes between two looks up to which the moment is quiet. An idle plane makes about
	// one.
	quietWrites = 10
	// compactPause and defragmentPause keep what helped little from being tried again and again.
	compactPause    = time.Minute
	defragmentPause = 10 * time.Minute
	// tidyLeast is how much must be free in the file to defragment a store that has plenty of room.
	tidyLeast = 64 << 20
	// largestWrite is more than etcd takes in one request.
	largestWrite = embed.DefaultMaxRequestBytes + 512<<10
	// diskSpare is what a defragmentation, which writes a copy, leaves free on the disk.
	diskSpare = 32 << 20
	// diskLow is the free disk space in bytes below which the user is told.
	diskLow = 2 * leastFree
	// tellAgain is how often a lasting warning is repeated.
	tellAgain = 6 * time.Hour
)

// StoreUsage is what a look at the store found.
type StoreUsage struct {
	// Size is that of the store's file, which Quota limits; InUse is what of it is not free for new data.
	Size, InUse, Quota int64
	// DiskFree is the free space of the disk.
	DiskFree int64
	// Full says that the store refuses to be written to.
	Full bool
	// Revision is the number of the latest write.
	Revision int64
}

// share is n in percent of the quota.
func (u StoreUsage) share(n int64) int64 { return n * 100 / u.Quota }

// storeHistory is what decisions know of earlier looks.
type storeHistory struct {
	revision     int64 // of the last look; 0: this is the first
	compacted    int64 // up to this revision
	compactedAt  time.Time
	defragmented time.Time // tried, at least
	room, disk   told
}

// told is how bad something was when the user was told of it last.
type told struct {
	level int
	at    time.Time
}

// compaction gives the revision up to which history is to be dropped now, 0 for none. Lists and watches in progress
// need the latest history, so it is kept until the next look unless the store is full.
func compaction(now time.Time, u StoreUsage, h storeHistory) int64 {
	to := h.revision
	switch {
	case u.Full || h.revision == 0 && u.share(u.Size) >= shareTight:
		to = u.Revision
	case u.share(u.Size) < shareTight || now.Sub(h.compactedAt) < compactPause:
		return 0
	}
	if to <= h.compacted {
		return 0
	}
	return to
}

// defragmentation tells whether the file is to be written anew now. It blocks the store for about a second a GiB, so it
// waits for a quiet moment while there is time. short is how much disk is missing for one that should be.
func defragmentation(now time.Time, u StoreUsage, h storeHistory) (do bool, short int64) {
	gain := u.Size - u.InUse
	quiet := h.revision == 0 || u.Revision-h.revision <= quietWrites
	rested := now.Sub(h.defragmented) >= defragmentPause
	switch share := u.share(u.Size); {
	case u.Full:
		do = gain >= u.Quota/50 || (gain > 0 && rested)
	case share >= shareShort:
		do = gain >= u.Quota/20 && rested
	case share >= shareTight:
		do = gain >= u.Quota/10 && rested && quiet
	default:
		do = gain >= tidyLeast && gain >= u.Size/2 && rested && quiet
	}
	if short = u.InUse + diskSpare - u.DiskFree; do && short > 0 {
		return false, short
	}
	return do, 0
}

// disarms tells whether a full store has room enough again: for more than a few writes, and for any that may come.
// Otherwise the one that is tried again and again would fill a small store again at once, for ever, and the user would
// be told that there is room.
func disarms(u StoreUsage) bool {
	return u.Full && u.share(u.Size) < shareFull && u.Size+largestWrite <= u.Quota
}

// roomLevel is how little room is left: 0 enough, 1 tight, 2 short, 3 none. It falls only when the share has fallen
// some way.
func roomLevel(u StoreUsage, before int) int {
	if u.Full {
		return 3
	}
	level, share := 0, u.share(u.InUse)
	for i, mark := range []int64{shareTight, shareShort} {
		if share >= mark || (before > i && share >= mark-shareCalm) {
			level = i + 1
		}
	}
	return level
}

// diskLevel is 1 when the disk is nearly full.
func diskLevel(u StoreUsage, before int) int {
	if u.DiskFree < diskLow || (before > 0 && u.DiskFree < diskLow+diskLow/2) {
		return 1
	}
	return 0
}

// tells gives whether the user is to be told of a level now, and what is to be remembered of that.
func tells(now time.Time, level int, before told) (bool, told) {
	if level > before.level || (level > 0 && now.Sub(before.at) >= tellAgain) {
		return true, told{level, now}
	}
	return false, told{level, before.at}
}
