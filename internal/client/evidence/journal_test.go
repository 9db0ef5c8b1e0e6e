// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/carillon-dev/carillon/internal/datadir"
)

func TestStopped(t *testing.T) {
	now := time.Date(2026, 11, 2, 11, 0, 0, 0, time.UTC)
	dir := t.TempDir()
	of := Stopped(dir, now)
	if !of.Stopped || !of.StoppedAt.IsZero() || of.Unasked != "the Carillon on "+dir+" does not run" {
		t.Errorf("without a log: %+v", of)
	}
	if err := os.MkdirAll(filepath.Dir(datadir.Log(dir)), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(datadir.Log(dir), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	last := now.Add(-3 * time.Hour)
	if err := os.Chtimes(datadir.Log(dir), last, last); err != nil {
		t.Fatal(err)
	}
	of = Stopped(dir, now)
	if !of.Stopped || !of.StoppedAt.Equal(last) || of.Unasked != "the Carillon on "+dir+" does not run since 2026-11-02 08:00 UTC (3h ago)" {
		t.Errorf("with a log: %+v", of)
	}
}
