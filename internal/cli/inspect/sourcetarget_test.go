// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/carillon-dev/carillon/internal/cli/cluster"
	"github.com/carillon-dev/carillon/internal/cli/exitcode"
	"github.com/carillon-dev/carillon/internal/datadir"
	"github.com/carillon-dev/carillon/internal/journal"
)

// What the user has written wrongly is told, and is no Carillon that does not run.
func TestOpenLocal(t *testing.T) {
	none, stopped := filepath.Join(t.TempDir(), "none"), t.TempDir()
	written, err := journal.Open(datadir.Journal(stopped), journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := written.Close(); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		flags cluster.Flags
		down  bool
		found bool
	}{
		"no Carillon":           {cluster.Flags{DataDir: none}, true, false},
		"two that are excluded": {cluster.Flags{DataDir: stopped, Context: "x"}, false, false},
		"one that is stopped":   {cluster.Flags{DataDir: stopped}, false, true},
	} {
		target := target{cluster: test.flags}
		s, _, err := target.open(t.Context())
		if test.found {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			} else if err := s.Close(); err != nil {
				t.Error(err)
			}
			continue
		}
		if err == nil || codeOf(err) != exitcode.Usage || errors.Is(err, cluster.ErrNotRunning) != test.down {
			t.Errorf("%s: %v", name, err)
		}
	}
}
