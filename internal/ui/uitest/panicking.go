// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package uitest

import (
	"context"

	"github.com/carillon-dev/carillon/internal/client/lookup"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// Panicking is a source in which looking runs up panics with Fault.
type Panicking struct{ lookup.Source }

// Fault is what a Panicking panics with.
const Fault = "a run without sense"

// Runs implements lookup.Source.
func (Panicking) Runs(context.Context, journal.Query) ([]run.Run, error) { panic(Fault) }
