// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package workload_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/internal/plan/workload"
	"github.com/carillon-dev/carillon/schedule"
	"github.com/carillon-dev/carillon/schedule/timeset"
)

// The offset is that by which the set of times puts starts off, where the next time is far.
func TestJitterOffsetIsThatOfTheSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jitter := time.Duration(rapid.IntRange(0, 20*3600).Draw(t, "seconds")) * time.Second
		hash := schedule.Hash{Namespace: "team", Name: fmt.Sprint("a", rapid.IntRange(0, 1000).Draw(t, "name"))}
		set, err := timeset.Compile(timeset.Spec{Items: []timeset.Item{{Cron: "0 0 * * *"}}, Jitter: jitter, Hash: hash})
		if err != nil {
			t.Fatal(err)
		}
		at := time.Date(2027, 3, 20, 0, 0, 0, 0, time.UTC)
		if got, want := workload.JitterOffset(hash, jitter), set.PlannedStart(at).Sub(at); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}
