// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir

import "path/filepath"

// Journal holds what is remembered of runs: the database, and what waits to be written to it.
func Journal(dir string) string { return filepath.Join(dir, "journal") }

// JournalDatabase is the database of the journal.
func JournalDatabase(dir string) string { return filepath.Join(Journal(dir), "runs.db") }

// EndedContainers holds what the node tells of containers that have ended, with their logs, until the journal has it.
func EndedContainers(dir string) string { return filepath.Join(Journal(dir), "ended") }
