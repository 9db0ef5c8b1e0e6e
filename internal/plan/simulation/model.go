// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import "time"

// Model is how runs go.
type Model struct {
	Durations Durations
	// Fail is how probable it is that an attempt fails, from 0 to 1. It takes as long as one that succeeds.
	Fail float64
	// Overhead is what an attempt takes beyond its duration: until its Pod runs, and until its end is seen.
	Overhead time.Duration
	// Stopping is how long a run that is stopped goes on.
	Stopping time.Duration
	// Seed tells one course of chance from another.
	Seed uint64
}

// Fate is what becomes of one attempt of a run: how long it takes if nobody stops it, and whether it fails.
type Fate struct {
	Duration time.Duration
	Fails    bool
}

// Fate draws the fate of an attempt, which counts from 1, of the run of a scheduled time.
func (m Model) Fate(kind, namespace, name string, scheduled time.Time, attempt int) Fate {
	return m.fate(hashed(kind, namespace, name), scheduled, attempt)
}

func (m Model) fate(object uint64, scheduled time.Time, attempt int) Fate {
	s := chance(m.Seed, object, scheduled.Unix(), max(1, attempt))
	return Fate{Fails: s.fraction() < m.Fail, Duration: m.Durations.draw(&s)}
}
