// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/cron"
)

// tracked holds, for each CronJob of the cache, what one sync leaves for the next one of the same UID. What a crash
// loses with it is said at cron.Memory and at gone; the rest repeats a log line or an event.
type tracked struct {
	mu    sync.Mutex
	byKey map[types.NamespacedName]*trackedCronJob
}

type trackedCronJob struct {
	uid     types.UID
	carried cron.Memory
	// gone are the children that the watch showed to have ended and to be gone, until the status shows how they ended.
	// After a crash they count as missing, and their successes are lost.
	gone []cron.Child
	// misconfigured is what the gauge says.
	misconfigured cron.Misconfiguration
	// trouble is nil for a CronJob that had none, as nearly all of them.
	trouble *trouble
}

// trouble is what was told of a CronJob that could not be served.
type trouble struct {
	// unanswered are status writes whose answers did not arrive and whose outcomes are not counted.
	unanswered unansweredWrites
	// logged is the last error that was logged, and when.
	logged   string
	loggedAt time.Time
	// unreadable is what of the object could not be read, and since when.
	unreadable      string
	unreadableSince time.Time
	// left is the first of the scheduled times that are due and left to another controller; zero if none is.
	left time.Time
}

// troubles gives its trouble to be changed.
func (c *trackedCronJob) troubles() *trouble {
	if c.trouble == nil {
		c.trouble = &trouble{}
	}
	return c.trouble
}

func newTracked() *tracked { return &tracked{byKey: map[types.NamespacedName]*trackedCronJob{}} }

// track returns what an earlier sync over this object handed on. An object of the same name but with another UID is
// another one; departed is told the UID of the former.
func (t *tracked) track(key types.NamespacedName, uid types.UID, departed func(types.UID)) cron.Memory {
	t.mu.Lock()
	known := t.byKey[key]
	if known != nil && known.uid == uid {
		defer t.mu.Unlock()
		return known.carried
	}
	t.byKey[key] = &trackedCronJob{uid: uid}
	if known != nil {
		t.byKey[key].misconfigured = known.misconfigured // the gauge names the name
	}
	t.mu.Unlock()
	if known != nil {
		departed(known.uid)
	}
	return cron.Memory{}
}

// uid is that of the object that the key was last known to have.
func (t *tracked) uid(key types.NamespacedName) (types.UID, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	known, ok := t.byKey[key]
	if !ok {
		return "", false
	}
	return known.uid, true
}

// keys are those of all CronJobs that were met.
func (t *tracked) keys() []types.NamespacedName {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Keys(t.byKey))
}

// forget drops the key.
func (t *tracked) forget(key types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.byKey, key)
}

// update changes what is held of the object, if it is still there as far as the cache has shown, and reports that.
func (t *tracked) update(key types.NamespacedName, uid types.UID, change func(*trackedCronJob)) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	known := t.byKey[key]
	if known == nil || known.uid != uid {
		return false
	}
	change(known)
	return true
}

// has reports whether the object is still there, as far as the cache has shown.
func (t *tracked) has(key types.NamespacedName, uid types.UID) bool {
	return t.update(key, uid, func(*trackedCronJob) {})
}

// setCarried keeps what a sync hands on.
func (t *tracked) setCarried(key types.NamespacedName, uid types.UID, carried cron.Memory) {
	t.update(key, uid, func(c *trackedCronJob) { c.carried = carried })
}

// keepGone notes a finished child that is gone, perhaps before the first sync over its CronJob. lacked tells what is
// not recorded yet; the rest is forgotten, also by a process that makes no syncs because it does not lead.
func (t *tracked) keepGone(key types.NamespacedName, uid types.UID, child cron.Child, lacked func(cron.Child) bool) {
	t.mu.Lock()
	if t.byKey[key] == nil {
		t.byKey[key] = &trackedCronJob{uid: uid}
	}
	t.mu.Unlock()
	t.update(key, uid, func(c *trackedCronJob) { c.gone = append(c.gone, child) })
	t.goneChildren(key, uid, lacked)
}

// goneChildren are the children that are gone and of which something is not recorded yet, as lacked tells.
func (t *tracked) goneChildren(key types.NamespacedName, uid types.UID, lacked func(cron.Child) bool) (gone []cron.Child) {
	t.update(key, uid, func(c *trackedCronJob) {
		c.gone = slices.DeleteFunc(c.gone, func(child cron.Child) bool { return !lacked(child) })
		gone = slices.Clone(c.gone)
	})
	return gone
}

// leftToOther notes that starts are due and left to another controller, or that none is, and returns the first of
// those that have not been made since.
func (t *tracked) leftToOther(key types.NamespacedName, uid types.UID, starts []cron.Start) (first time.Time) {
	t.update(key, uid, func(c *trackedCronJob) {
		if len(starts) == 0 && c.trouble == nil {
			return
		}
		t := c.troubles()
		if len(starts) == 0 {
			t.left = time.Time{}
		} else if t.left.IsZero() {
			t.left = starts[0].Time
		}
		first = t.left
	})
	return first
}

// unreadableSince notes what of an object cannot be read, and returns since when it is so.
func (t *tracked) unreadableSince(key types.NamespacedName, uid types.UID, what string, now time.Time) time.Time {
	since := now
	t.update(key, uid, func(c *trackedCronJob) {
		t := c.troubles()
		if t.unreadable != what || now.Before(t.unreadableSince) {
			t.unreadable, t.unreadableSince = what, now
		}
		since = t.unreadableSince
	})
	return since
}

// setMisconfigured notes what the gauge is to say of an object, and reports whether it says something else.
func (t *tracked) setMisconfigured(key types.NamespacedName, uid types.UID, reason cron.Misconfiguration) (changed bool) {
	t.update(key, uid, func(c *trackedCronJob) { changed, c.misconfigured = c.misconfigured != reason, reason })
	return changed
}

// logEvery is how often the same error of the same CronJob is logged.
const logEvery = time.Minute

// worthLogging reports whether the error is worth a log line: another one than the last, or a minute later.
func (t *tracked) worthLogging(key types.NamespacedName, err string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	known := t.byKey[key]
	if known == nil {
		return true
	}
	last := known.troubles()
	if last.logged == err && now.Sub(last.loggedAt) < logEvery && !now.Before(last.loggedAt) {
		return false
	}
	last.logged, last.loggedAt = err, now
	return true
}
