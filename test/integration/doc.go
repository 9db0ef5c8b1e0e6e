// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package integration tests the controllers on a real API server: one control plane in this process, no node. Time is
// a clock that tests step, so no test waits for a schedule.
package integration
