// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import "github.com/carillon-dev/carillon/internal/plan/workload"

// SimulateStepwise is Simulate with a decision after each step, as the controller makes them.
func SimulateStepwise(object *workload.Scheduled, options Options) *Result {
	w := newWorld(object, options)
	w.stepwise = true
	w.run()
	return w.result
}

// Arithmetic that has to be the same on every machine.
var (
	Ln         = ln
	Exp        = exp
	Below      = below
	Deviations = deviations
)
