// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/spf13/cobra"

	"github.com/carillon-dev/carillon/internal/cli/cluster"
	"github.com/carillon-dev/carillon/internal/cli/exitcode"
	"github.com/carillon-dev/carillon/internal/datadir"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// What the user has written wrongly is told, and is no Carillon that does not run.
func TestOpenLocal(t *testing.T) {
	none, stopped := filepath.Join(t.TempDir(), "none"), t.TempDir()
	written, err := journal.Open(datadir.Journal(stopped), journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := backupRun(1, run.Succeeded)
	r.Namespace = "sales"
	if err := errors.Join(written.Record(t.Context(), []run.Run{r}, nil), written.Close()); err != nil {
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
	local := target{cluster: cluster.Flags{DataDir: stopped}}
	cmd := &cobra.Command{}
	cmd.SetContext(t.Context())
	if names, _ := local.completeNamespaces(cmd, nil, ""); !slices.Equal(names, []string{"sales"}) {
		t.Errorf("-n is completed with %q", names)
	}
}
