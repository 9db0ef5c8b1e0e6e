// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cronjob

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/cron"
)

// memory holds, for each CronJob of the cache, what one pass leaves for the next one of the same UID. Losing it in a
// crash costs nothing but a repeated log line: an edit is found again in the annotation.
type memory struct {
	mu    sync.Mutex
	byKey map[types.NamespacedName]*remembered
}

type remembered struct {
	uid types.UID
	// timetable is what the last pass decided on (cron.Plan.Timetable).
	timetable string
	// complaint is the last error that was logged, and when.
	complaint   string
	complaintAt time.Time
	// trouble is what of the object could not be read, and since when.
	trouble      string
	troubleSince time.Time
	// open is the first of the scheduled times that are due and left to another controller; zero if none is.
	open time.Time
	// shown is what the gauge of misconfigured CronJobs says.
	shown cron.Misconfiguration
}

func newMemory() *memory { return &memory{byKey: map[types.NamespacedName]*remembered{}} }

// meet returns the timetable that an earlier pass over this object decided on. An object of the same name but with
// another UID is another one; departed is told the UID of the former.
func (m *memory) meet(key types.NamespacedName, uid types.UID, departed func(types.UID)) string {
	m.mu.Lock()
	known := m.byKey[key]
	if known != nil && known.uid == uid {
		defer m.mu.Unlock()
		return known.timetable
	}
	m.byKey[key] = &remembered{uid: uid}
	if known != nil {
		m.byKey[key].shown = known.shown // it has the name, and what is shown is shown of the name
	}
	m.mu.Unlock()
	if known != nil {
		departed(known.uid)
	}
	return ""
}

// uid is that of the object that the key was last known to have.
func (m *memory) uid(key types.NamespacedName) (types.UID, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known, ok := m.byKey[key]
	if !ok {
		return "", false
	}
	return known.uid, true
}

// leave forgets the key.
func (m *memory) leave(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.byKey, key)
}

// knows reports whether the object is still there, as far as the cache has shown.
func (m *memory) knows(key types.NamespacedName, uid types.UID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.byKey[key]
	return known != nil && known.uid == uid
}

// decided notes the timetable of a pass.
func (m *memory) decided(key types.NamespacedName, uid types.UID, timetable string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known := m.byKey[key]; known != nil && known.uid == uid {
		known.timetable = timetable
	}
}

// left notes that a start is due and left to another controller, or that none is (nil), and returns the first of those that
// have not been made since.
func (m *memory) left(key types.NamespacedName, uid types.UID, start *cron.Start) (open time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.byKey[key]
	switch {
	case known == nil || known.uid != uid:
		return time.Time{}
	case start == nil:
		known.open = time.Time{}
	case known.open.IsZero():
		known.open = start.Time
	}
	return known.open
}

// troubled notes what of an object cannot be read, and returns since when it is so.
func (m *memory) troubled(key types.NamespacedName, uid types.UID, trouble string, now time.Time) (since time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.byKey[key]
	if known == nil || known.uid != uid {
		return now
	}
	if known.trouble != trouble || now.Before(known.troubleSince) {
		known.trouble, known.troubleSince = trouble, now
	}
	return known.troubleSince
}

// shows notes what the gauge is to say of an object, and reports whether it says something else.
func (m *memory) shows(key types.NamespacedName, uid types.UID, reason cron.Misconfiguration) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.byKey[key]
	if known == nil || known.uid != uid || known.shown == reason {
		return false
	}
	known.shown = reason
	return true
}

// quietly is how long the same error of the same CronJob is not logged again.
const quietly = time.Minute

// complain reports whether the error is worth a log line: another one than the last, or a minute later.
func (m *memory) complain(key types.NamespacedName, complaint string, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.byKey[key]
	if known == nil {
		return true
	}
	if known.complaint == complaint && now.Sub(known.complaintAt) < quietly && !now.Before(known.complaintAt) {
		return false
	}
	known.complaint, known.complaintAt = complaint, now
	return true
}
