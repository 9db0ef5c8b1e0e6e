// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"os"
	"testing"

	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/internal/testkit/replay"
)

// An ordinary run replays the same worlds; see package replay.
func TestMain(m *testing.M) { os.Exit(replay.Run(m, 0)) }

// simWorlds is how many worlds an ordinary run sees.
const simWorlds = 1000

// Several CronJobs, one or two processes of the controller, users, Jobs that
// run and end, and everything that can go wrong: what the controller promises
// holds in every one of these worlds. Each write is judged when it happens
// (sim_truth_test.go says which promise holds when), and when the trouble is
// over the statuses are right, history is kept, and nothing is done any more but
// scheduled runs.
//
// A failure tells the story of the smallest such world that rapid finds; its
// seed shows it again:
//
//	go test ./internal/controller/scheduled -run TestSimulation -rapid.seed=…
func TestSimulation(t *testing.T) {
	replay.Checks(t, simWorlds)
	rapid.Check(t, func(rt *rapid.T) {
		s := newSimulation(drawPlan(rt))
		if broken := s.run(); broken != "" {
			rt.Fatalf("%s\n\nThe world:\n%s\nIts story:\n%s", broken, s.plan, s.world.Story)
		}
	})
}

// The same plan makes the same world, to the letter: or no failure could be shown again.
func TestSimulationIsDeterministic(t *testing.T) {
	for seed := range 30 {
		plan := rapid.Custom(drawPlan).Example(seed)
		first, second := newSimulation(plan), newSimulation(plan)
		first.run()
		second.run()
		if a, b := first.world.Story.String(), second.world.Story.String(); a != b {
			t.Fatalf("seed %d: two stories of one plan:\n%s\nand\n%s", seed, a, b)
		}
	}
}
