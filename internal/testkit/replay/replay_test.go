// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package replay_test

import (
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/internal/testkit/replay"
)

func TestMain(m *testing.M) { os.Exit(replay.Run(m, 7)) }

// A package's tests see as many cases as it asked for, one test more if it asks, and the same ones each time.
func TestRun(t *testing.T) {
	for _, name := range []string{"checks", "seed"} {
		if os.Getenv("RAPID_"+strings.ToUpper(name)) != "" {
			t.Skip("the environment says what to draw")
		}
	}
	draw := func(t *testing.T) (drawn []uint64) {
		rapid.Check(t, func(rt *rapid.T) { drawn = append(drawn, rapid.Uint64().Draw(rt, "n")) })
		return drawn
	}
	first, second := draw(t), draw(t)
	if len(first) != 7 || len(first) != len(second) {
		t.Errorf("%d and %d cases, want 7", len(first), len(second))
	}
	for i := range first {
		if first[i] != second[i] {
			t.Errorf("case %d: %d, then %d", i, first[i], second[i])
		}
	}
	t.Run("more", func(t *testing.T) {
		replay.Checks(t, 9)
		if n := len(draw(t)); n != 9 {
			t.Errorf("%d cases, want 9", n)
		}
	})
	if n := len(draw(t)); n != 7 {
		t.Errorf("%d cases after a test that saw more, want 7", n)
	}
}
