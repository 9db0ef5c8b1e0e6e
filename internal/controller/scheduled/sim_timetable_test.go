// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/internal/testkit/replay"
)

// timetableWorlds is how many worlds of Timetables an ordinary run sees.
const timetableWorlds = 100

// Timetables with Calendars, children of several kinds, users, processes that die and take over, and everything that can
// go wrong in between: what the contract guarantees (timetable.md 1.2) holds in every one of these worlds. Each write is
// judged when it happens, each few seconds whether what is due was served, and when the trouble is over the statuses are
// right, history is kept, and nothing is done any more but scheduled runs.
//
// A failure tells the story of the smallest such world that rapid finds; its seed shows it again:
//
//	go test ./internal/controller/scheduled -run TestSimulationOfTimetables -rapid.seed=…
func TestSimulationOfTimetables(t *testing.T) {
	replay.Checks(t, timetableWorlds)
	rapid.Check(t, func(rt *rapid.T) {
		s := newTimetableWorld(drawTimetablePlan(rt))
		if broken := s.run(); broken != "" {
			rt.Fatalf("%s\n\nThe world:\n%s\nIts story:\n%s", broken, s.plan, s.world.Story)
		}
	})
}

// The same plan makes the same world, to the letter: or no failure could be shown again.
func TestSimulationOfTimetablesIsDeterministic(t *testing.T) {
	for seed := range 15 {
		plan := rapid.Custom(drawTimetablePlan).Example(seed)
		first, second := newTimetableWorld(plan), newTimetableWorld(plan)
		first.run()
		second.run()
		if a, b := first.world.Story.String(), second.world.Story.String(); a != b {
			t.Fatalf("seed %d: two stories of one plan:\n%s\nand\n%s", seed, a, b)
		}
	}
}
