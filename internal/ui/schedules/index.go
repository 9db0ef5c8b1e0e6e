// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedules

import (
	"log/slog"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/client/task"
	"github.com/carillon-dev/carillon/internal/plan/explanation"
	"github.com/carillon-dev/carillon/internal/plan/workload"
	"github.com/carillon-dev/carillon/internal/ui/page"
)

// entry is a schedule with what it is found by.
type entry struct {
	*workload.Scheduled
	// Kind is its Kind in small letters.
	Kind string
	// Zone is the time zone that it names; "" if it names none.
	Zone string
	// said is what it says; nil as long as nobody asked for it.
	*said
	// Next is its next time, zero if there is none, or if nobody asked for it.
	Next time.Time

	name string // in small letters
}

// said is what a schedule says.
type said struct {
	// Expressions are its schedules as they are written, Words what they say, one for each.
	Expressions, Words []string
	text               string // in small letters, for searches
}

func (e *entry) url() string {
	owner := e.Scheduled.Kind.Info().Owner
	return page.ScheduleURL(owner.GroupVersion().String(), owner.Kind, e.Owner.Namespace, e.Owner.Name)
}

// index keeps what is worked out of schedules for as long as they do not change: a list is read again and again.
type index struct {
	log *slog.Logger

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

// of gives the entries of schedules, in their order: with what they say if there are words to search for, and with
// their next times if these order them. Of a fleet that takes a moment the first time. The error is that of a panic.
func (x *index) of(all []*workload.Scheduled, words, next bool, now time.Time) ([]entry, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	kept := make(map[key]*entry, len(all))
	entries := make([]*entry, len(all))
	var unsaid, past []int
	for n, s := range all {
		k := keyOf(s)
		e := x.entries[k]
		if e == nil {
			e = entryOf(s)
		}
		kept[k], entries[n] = e, e
		if words && e.said == nil {
			unsaid = append(unsaid, n)
		}
		// What has passed has a next one; what had none, because it was paused, may have one since.
		if next && !e.Next.After(now) {
			past = append(past, n)
		}
	}
	x.entries = kept
	if err := x.inParallel("putting schedules into words", unsaid, func(n int) { entries[n].said = sayingsOf(entries[n]) }); err != nil {
		return nil, err
	}
	if err := x.inParallel("the next times of schedules", past, func(n int) { entries[n].Next = nextOf(all[n], now) }); err != nil {
		return nil, err
	}
	out := make([]entry, len(all))
	for n, e := range entries {
		out[n] = *e
	}
	return out, nil
}

// complete fills in what an entry lacks that is shown.
func (x *index) complete(e *entry, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	known := x.entries[keyOf(e.Scheduled)]
	if known == nil { // it has changed since
		known = entryOf(e.Scheduled)
	}
	if known.said == nil {
		known.said = sayingsOf(known)
	}
	if !known.Next.After(now) {
		known.Next = nextOf(known.Scheduled, now)
	}
	*e = *known
}

// inParallel does something with each, two at once.
func (x *index) inParallel(work string, all []int, do func(n int)) error {
	half := len(all) / 2
	tasks := task.NewGroup(x.log)
	for _, part := range [][]int{all[:half], all[half:]} {
		tasks.Go(work, func() {
			for _, n := range part {
				do(n)
			}
		})
	}
	return tasks.Wait()
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

func entryOf(s *workload.Scheduled) *entry {
	return &entry{Scheduled: s, Kind: strings.ToLower(s.Kind.Info().Owner.Kind), Zone: s.Policy.Timing.ZoneName, name: strings.ToLower(s.Owner.Name)}
}

func sayingsOf(e *entry) *said {
	what := &said{}
	var text strings.Builder
	for _, one := range explanation.Schedules(e.Scheduled) {
		what.Expressions, what.Words = append(what.Expressions, one.Text), append(what.Words, one.Words)
		text.WriteString(one.Text + "\n" + one.Words + "\n")
	}
	text.WriteString(e.Kind + "/" + e.Owner.Name + "\n" + e.Owner.Namespace + "/" + e.Owner.Name + "\n" + e.Zone + "\n")
	for name, value := range e.Typed.GetLabels() {
		text.WriteString(name + "=" + value + "\n")
	}
	what.text = strings.ToLower(text.String())
	return what
}
