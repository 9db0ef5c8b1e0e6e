// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package standalone

import "time"

// Keep is how much is remembered of runs that have ended.
type Keep struct {
	// Runs is how long a run is remembered after its end; 0 for ever.
	Runs time.Duration
	// Logs is how many bytes what runs wrote may take on the disk, compressed; what ended first goes first. 0 keeps
	// none, less than 0 any number.
	Logs int64
}

// DefaultKeep is what is kept when nobody says otherwise: 90 days, and 1 GiB of logs.
func DefaultKeep() Keep { return Keep{Runs: 90 * 24 * time.Hour, Logs: 1 << 30} }
