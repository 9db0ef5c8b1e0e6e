// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"math"

	"github.com/carillon-dev/carillon/internal/cron"
)

// A runModel is how runs of an object use time: each takes equally long, and its concurrency policy says what becomes
// of a start that finds no room.
type runModel struct {
	takes int64 // seconds, at least 1
	room  cron.Room
	// deadline is how late a start may be, in seconds.
	deadline int64
}

func modelOf(m *member) runModel {
	model := runModel{takes: m.takes, room: m.Policy.Room, deadline: math.MaxInt64}
	if m.Policy.Deadline != nil {
		model.deadline = *m.Policy.Deadline
	}
	if model.room.Limit == 0 {
		model.deadline = math.MaxInt64 // nothing waits, so that models are the same
	}
	return model
}

// walk calls run for each span in which a run is active, given the starts in their order. What has not ended at until
// is told to the end it would have.
func (m *runModel) walk(starts []int64, until int64, run func(begin, end int64)) {
	if m.room.Limit == 0 {
		for _, s := range starts {
			run(s, s+m.takes)
		}
		return
	}
	w := walker{runModel: m, run: run}
	for _, s := range starts {
		w.release(s)
		w.start(s)
	}
	w.release(until)
	for _, begin := range w.active {
		run(begin, begin+m.takes)
	}
}

// walker is the state of one walk: when the active runs have begun, and the starts that wait, both in their order.
type walker struct {
	*runModel
	run             func(begin, end int64)
	active, waiting []int64
}

// release ends the runs that end until now, each with the start that has waited for it.
func (w *walker) release(now int64) {
	for len(w.active) > 0 && w.active[0]+w.takes <= now {
		end := w.active[0] + w.takes
		w.run(w.active[0], end)
		w.active = append(w.active[:0], w.active[1:]...)
		for len(w.waiting) > 0 {
			late := end - w.waiting[0]
			w.waiting = append(w.waiting[:0], w.waiting[1:]...)
			if late < w.deadline {
				w.active = append(w.active, end)
				break
			}
		}
	}
}

func (w *walker) start(s int64) {
	switch {
	case len(w.active) < w.room.Limit:
		w.active = append(w.active, s)
	case w.room.Stops:
		w.run(w.active[0], s)
		w.active = append(append(w.active[:0], w.active[1:]...), s)
	case len(w.waiting) < w.room.WaitLimit:
		w.waiting = append(w.waiting, s)
	case !w.room.Queues && w.room.WaitLimit > 0: // the newest takes the place of the oldest
		w.waiting = append(append(w.waiting[:0], w.waiting[1:]...), s)
	}
}
