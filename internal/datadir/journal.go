// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir

import "path/filepath"

// Journal holds what is remembered of runs: the database, and what waits to be written to it.
func Journal(dir string) string { return filepath.Join(dir, "journal") }
