// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron_test

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// ledger is the memory that no process has: what the guarantees are checked against.
type ledger struct {
	runs map[slot]*birth
	// latest is the latest scheduled time with a run, names are those of all children that there ever were.
	latest map[types.UID]time.Time
	names  map[types.UID]map[string]bool
	// claimed is the latest scheduled time of which a run that was started by hand has the name.
	claimed map[types.UID]time.Time
	// silenced: times up to this one may be silent because of an edit, by whatever clock it was made.
	silenced map[types.UID]time.Time
	// unknown is when an edit was made that nobody can know of: the CronJob is seen for the first time after it.
	unknown map[types.UID]time.Time
	// unstarted are scheduled times that have passed and have neither a run nor were told; missed are those that were
	// told, and by whom.
	unstarted map[slot]bool
	missed    map[slot]string
}

// slot is one scheduled time of one CronJob.
type slot struct {
	of        types.UID
	scheduled int64
}

// birth is the child of a run.
type birth struct {
	object
	// told: its maker knows of it. lost: it was gone before its scheduled time was recorded.
	told, lost bool
}

func newLedger() ledger {
	return ledger{runs: map[slot]*birth{}, latest: map[types.UID]time.Time{}, names: map[types.UID]map[string]bool{},
		claimed: map[types.UID]time.Time{}, silenced: map[types.UID]time.Time{},
		unknown: map[types.UID]time.Time{}, unstarted: map[slot]bool{}, missed: map[slot]string{}}
}

func (l *ledger) born(o object) {
	if l.names[o.of] == nil {
		l.names[o.of] = map[string]bool{}
	}
	l.names[o.of][o.Name] = true
	if !o.scheduled.IsZero() {
		l.runs[slot{o.of, o.scheduled.Unix()}] = &birth{object: o}
		l.latest[o.of] = latest(l.latest[o.of], o.scheduled)
		l.settled(o.of, o.scheduled, o.scheduled)
	}
}

func (l *ledger) of(o object) *birth {
	if b := l.runs[slot{o.of, o.scheduled.Unix()}]; b != nil && b.UID == o.UID {
		return b
	}
	return &birth{}
}

func (l *ledger) told(o object) { l.of(o).told = true }

// gone notes that an object has left the server.
func (l *ledger) gone(o object, c cronJob) {
	recorded := c.owner.UID == o.of && c.state.LastSchedule != nil && !c.state.LastSchedule.Before(o.scheduled)
	l.of(o).lost = !recorded
}

func (l *ledger) silence(of types.UID, now time.Time) { l.silenced[of] = latest(l.silenced[of], now) }

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// recordedAt is the version in which lastScheduleTime came to t, zero if it did not.
func (s *server) recordedAt(of types.UID, t time.Time) int {
	for _, c := range s.cronJobs {
		if last := c.state.LastSchedule; c.owner.UID == of && last != nil && !last.Before(t) {
			return c.version
		}
	}
	return 0
}

// nameOf is the name of the child of a scheduled time.
func (w *world) nameOf(t time.Time) string {
	return fmt.Sprintf("tick-%d", t.Unix()/int64(w.traits.NameUnit/time.Second))
}
