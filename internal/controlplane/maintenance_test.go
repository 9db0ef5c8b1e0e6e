// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package controlplane

import (
	"testing"
	"time"
)

const mib = 1 << 20

// used is a store with a quota of 1000 MiB and a disk with plenty of room.
func used(size, inUse int64) StoreUsage {
	return StoreUsage{Size: size * mib, InUse: inUse * mib, Quota: 1000 * mib, DiskFree: 100_000 * mib, Revision: 500}
}

func full(u StoreUsage) StoreUsage {
	u.Full = true
	return u
}

func disk(u StoreUsage, free int64) StoreUsage {
	u.DiskFree = free * mib
	return u
}

// History is dropped when the file is large: that of before the last look, and all of it when nothing else helps.
func TestCompaction(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		usage   StoreUsage
		history storeHistory
		want    int64
	}{
		"plenty of room":                  {used(690, 10), storeHistory{revision: 400}, 0},
		"tight":                           {used(700, 10), storeHistory{revision: 400}, 400},
		"tight at the start":              {used(700, 10), storeHistory{}, 500},
		"tight, and nothing new":          {used(700, 10), storeHistory{revision: 400, compacted: 400}, 0},
		"tight, done a moment ago":        {used(700, 10), storeHistory{revision: 400, compacted: 300, compactedAt: now.Add(-time.Second)}, 0},
		"tight, done some time ago":       {used(700, 10), storeHistory{revision: 400, compacted: 300, compactedAt: now.Add(-time.Hour)}, 400},
		"full":                            {full(used(10, 10)), storeHistory{revision: 400, compacted: 400, compactedAt: now}, 500},
		"full, and nothing to be dropped": {full(used(1000, 10)), storeHistory{revision: 500, compacted: 500}, 0},
	} {
		if got := compaction(now, test.usage, test.history); got != test.want {
			t.Errorf("%s: up to %d, want %d", name, got, test.want)
		}
	}
}

// The file is written anew when that gives much, in a quiet moment while there is time, at once when there is none, and
// never without the disk space for a copy.
func TestDefragmentation(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	quiet, busy := storeHistory{revision: 499}, storeHistory{revision: 400}
	justTried := storeHistory{revision: 499, defragmented: now.Add(-time.Minute)}
	for name, test := range map[string]struct {
		usage   StoreUsage
		history storeHistory
		want    bool
		short   int64
	}{
		"little to gain":                           {used(500, 300), quiet, false, 0},
		"half of a large file":                     {used(500, 250), quiet, true, 0},
		"half of a small file":                     {used(100, 50), quiet, false, 0},
		"half of a large file, busy":               {used(500, 250), busy, false, 0},
		"at the start all is quiet":                {used(500, 250), storeHistory{}, true, 0},
		"tight":                                    {used(700, 600), quiet, true, 0},
		"tight, busy":                              {used(700, 600), busy, false, 0},
		"tight, little to gain":                    {used(700, 601), quiet, false, 0},
		"tight, tried a moment ago":                {used(700, 100), justTried, false, 0},
		"short of room, busy":                      {used(850, 800), busy, true, 0},
		"short of room, little to gain":            {used(850, 801), busy, false, 0},
		"short of room, tried a moment ago":        {used(850, 100), justTried, false, 0},
		"full, tried a moment ago":                 {full(used(1000, 100)), justTried, true, 0},
		"full, little to gain, tried a moment ago": {full(used(1000, 990)), justTried, false, 0},
		"full, little to gain":                     {full(used(1000, 990)), quiet, true, 0},
		"full, nothing to gain":                    {full(used(1000, 1000)), quiet, false, 0},
		"no disk for the copy":                     {disk(full(used(1000, 500)), 500), quiet, false, 32 * mib},
		"no disk, and nothing to do anyway":        {disk(used(100, 90), 1), quiet, false, 0},
		"just enough disk":                         {disk(full(used(1000, 500)), 532), quiet, true, 0},
	} {
		do, short := defragmentation(now, test.usage, test.history)
		if do != test.want || short != test.short {
			t.Errorf("%s: %t, %d short; want %t, %d", name, do, short, test.want, test.short)
		}
	}
}

// The alarm is lifted only with room for more than the next few writes, and for the largest.
func TestDisarms(t *testing.T) {
	small := func(size int64) StoreUsage { return StoreUsage{Size: size, InUse: size, Quota: LeastQuota, Full: true} }
	for name, test := range map[string]struct {
		usage StoreUsage
		want  bool
	}{
		"room":        {full(used(940, 940)), true},
		"hardly any":  {full(used(950, 10)), false},
		"no alarm":    {used(10, 10), false},
		"a new quota": {full(StoreUsage{Size: LeastQuota, InUse: LeastQuota, Quota: 2 * LeastQuota}), true},

		"a small store, room for the largest write": {small(LeastQuota - largestWrite), true},
		"a small store, room for smaller ones":      {small(LeastQuota - largestWrite + 1), false},
	} {
		if got := disarms(test.usage); got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
	}
}

// The user is told at 70 %, at 85 % and when nothing can be written, once each, again every six hours while it lasts,
// and not each time that the share trembles at a mark.
func TestWarnings(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var room told
	for i, step := range []struct {
		after time.Duration
		usage StoreUsage
		want  bool
	}{
		{time.Minute, used(900, 699), false}, // only what is in use counts
		{time.Minute, used(900, 700), true},
		{time.Minute, used(900, 710), false},
		{time.Minute, used(900, 690), false},
		{time.Minute, used(900, 700), false}, // it trembled
		{6 * time.Hour, used(900, 700), true},
		{time.Minute, used(900, 850), true},
		{time.Minute, full(used(1000, 851)), true},
		{time.Minute, full(used(1000, 851)), false},
		{time.Minute, used(900, 640), false},
		{time.Minute, used(900, 700), true}, // it was gone
		{time.Minute, full(used(1000, 10)), true},
	} {
		now = now.Add(step.after)
		var tell bool
		if tell, room = tells(now, roomLevel(step.usage, room.level), room); tell != step.want {
			t.Errorf("step %d: told %t, want %t (level %d)", i, tell, step.want, room.level)
		}
	}

	var low told
	for i, step := range []struct {
		free int64
		want bool
	}{{200, false}, {127, true}, {100, false}, {150, false}, {127, false}, {192, false}, {127, true}} {
		var tell bool
		if tell, low = tells(now, diskLevel(disk(used(1, 1), step.free), low.level), low); tell != step.want {
			t.Errorf("disk, step %d: told %t, want %t", i, tell, step.want)
		}
	}
}
