// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedules

import (
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/plan/explanation"
	"github.com/carillon-dev/carillon/internal/plan/workload"
	"github.com/carillon-dev/carillon/internal/ui/page"
)

// entry is a schedule with what it is found by. It is not modified once it is there, but for next.
type entry struct {
	*workload.Scheduled
	// Kind is its Kind in small letters.
	Kind string
	// Expressions are its schedules as they are written, Words what they say, one for each.
	Expressions, Words []string
	// Zone is the time zone that it names; "" if it names none.
	Zone string
	// Next is its next time, zero if there is none.
	Next time.Time

	name, text string // in small letters, for searches
}

func (e *entry) url() string {
	owner := e.Scheduled.Kind.Info().Owner
	return page.ScheduleURL(owner.GroupVersion().String(), owner.Kind, e.Owner.Namespace, e.Owner.Name)
}

// index keeps what is worked out of schedules for as long as they do not change: a list is read again and again.
type index struct {
	mu      sync.Mutex
	entries map[key]*entry
}

// key names one version of an object.
type key struct {
	uid     types.UID
	version string
	object  *workload.Scheduled // where no API server says the version
}

func keyOf(s *workload.Scheduled) key {
	k := key{s.Typed.GetUID(), s.Typed.GetResourceVersion(), nil}
	if k.uid == "" || k.version == "" {
		k.object = s
	}
	return k
}

// of gives the entries of schedules, in their order. Nobody may modify them.
func (x *index) of(all []*workload.Scheduled, now time.Time) []entry {
	x.mu.Lock()
	defer x.mu.Unlock()
	kept := make(map[key]*entry, len(all))
	entries := make([]*entry, len(all))
	var missing []int
	for n, s := range all {
		k := keyOf(s)
		e := x.entries[k]
		if e == nil {
			e = &entry{}
			missing = append(missing, n)
		}
		kept[k], entries[n] = e, e
	}
	x.entries = kept
	inParallel(missing, func(n int) {
		*entries[n] = entryOf(all[n])
		entries[n].Next = nextOf(all[n], now)
	})
	out := make([]entry, len(all))
	for n, e := range entries {
		// What has passed has a next one; what had none then, or was paused, may have one since.
		if !e.Next.After(now) {
			e.Next = nextOf(all[n], now)
		}
		out[n] = *e
	}
	return out
}

// inParallel does something with each, two at once: it is for a fleet that is read for the first time.
func inParallel(all []int, do func(n int)) {
	half := len(all) / 2
	var tasks sync.WaitGroup
	for _, part := range [][]int{all[:half], all[half:]} {
		tasks.Go(func() {
			for _, n := range part {
				do(n)
			}
		})
	}
	tasks.Wait()
}

// nextOf is the next time at which a schedule is due; zero if nothing will start.
func nextOf(s *workload.Scheduled, now time.Time) time.Time {
	until := s.Policy.SuspendUntil
	if s.Policy.Suspend || s.Paused() || s.Owner.Deleting || s.Obstacle() != "" {
		return time.Time{}
	}
	if until != nil && until.After(now) {
		now = *until
	}
	return s.FirstAfter(now)
}

func entryOf(s *workload.Scheduled) entry {
	e := entry{Scheduled: s, Kind: strings.ToLower(s.Kind.Info().Owner.Kind), Zone: s.Policy.Timing.ZoneName}
	var text strings.Builder
	for _, one := range explanation.Schedules(s) {
		e.Expressions, e.Words = append(e.Expressions, one.Text), append(e.Words, one.Words)
		text.WriteString(one.Text + "\n" + one.Words + "\n")
	}
	text.WriteString(e.Kind + "/" + s.Owner.Name + "\n" + s.Owner.Namespace + "/" + s.Owner.Name + "\n" + e.Zone + "\n")
	for name, value := range s.Typed.GetLabels() {
		text.WriteString(name + "=" + value + "\n")
	}
	e.name, e.text = strings.ToLower(s.Owner.Name), strings.ToLower(text.String())
	return e
}
