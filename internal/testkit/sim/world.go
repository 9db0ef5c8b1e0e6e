// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"container/heap"
	"fmt"
	"time"
)

// World is where everything happens. Make one with [NewWorld].
type World struct {
	// Dice decide what is left to chance.
	Dice Dice
	// Story is what happened so far.
	Story *Story
	// Start is what a clock that is right shows when the world begins.
	Start time.Time

	now    time.Duration
	agenda agenda
	serial uint64
	// horizons are the ends of the spans that pass right now, the innermost last.
	horizons []time.Duration
	broken   []string
}

// NewWorld returns a world at its beginning.
func NewWorld(dice Dice) *World {
	w := &World{Dice: dice, Start: Start}
	w.Story = &Story{world: w}
	return w
}

// Now is how much time has gone by since the world began: true time, which no
// clock shows.
func (w *World) Now() time.Duration { return w.now }

// After puts something on the agenda. What stands there for the same time
// happens in the order in which it was put there.
func (w *World) After(d time.Duration, do func()) { w.At(w.now+max(0, d), do) }

// At puts something on the agenda for a time since the world began.
func (w *World) At(at time.Duration, do func()) {
	w.serial++
	heap.Push(&w.agenda, item{at: max(at, w.now), order: w.serial, do: do})
}

// Run lets time go by until the given time since the world began, or until
// something is broken.
func (w *World) Run(until time.Duration) {
	for len(w.agenda) > 0 && w.agenda[0].at <= until && len(w.broken) == 0 {
		next := heap.Pop(&w.agenda).(item)
		w.now = max(w.now, next.at)
		next.do()
	}
	if len(w.broken) == 0 {
		w.now = max(w.now, until)
	}
}

// Pass lets a span go by in the middle of something, such as a request.
func (w *World) Pass(d time.Duration) {
	if d <= 0 {
		return
	}
	w.horizons = append(w.horizons, w.now+d)
	w.Run(w.now + d)
	w.horizons = w.horizons[:len(w.horizons)-1]
}

// Idle reports whether nothing stands on the agenda before the given time.
func (w *World) Idle(until time.Duration) bool {
	return len(w.agenda) == 0 || w.agenda[0].at > until
}

// depth is how many requests are under way.
func (w *World) depth() int { return len(w.horizons) }

// horizon is when the last one of all spans that pass now will be over.
func (w *World) horizon() time.Duration {
	end := w.now
	for _, h := range w.horizons {
		end = max(end, h)
	}
	return end
}

// Break notes that something is not as it has to be. The world stands still after it.
func (w *World) Break(format string, args ...any) {
	why := fmt.Sprintf(format, args...)
	w.broken = append(w.broken, why)
	w.Story.Tell("BROKEN", "%s", why)
}

// Broken is what was found first, "" if all is well.
func (w *World) Broken() string {
	if len(w.broken) == 0 {
		return ""
	}
	return w.broken[0]
}

// item is one thing that will happen.
type item struct {
	at    time.Duration
	order uint64
	do    func()
}

// agenda is a heap by time, then by order.
type agenda []item

func (a agenda) Len() int { return len(a) }
func (a agenda) Less(i, j int) bool {
	return a[i].at < a[j].at || a[i].at == a[j].at && a[i].order < a[j].order
}
func (a agenda) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *agenda) Push(x any)   { *a = append(*a, x.(item)) }
func (a *agenda) Pop() any {
	old := *a
	last := old[len(old)-1]
	old[len(old)-1] = item{}
	*a = old[:len(old)-1]
	return last
}
