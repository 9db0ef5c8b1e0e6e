// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/carillon-dev/carillon/internal/client/cluster"
	"github.com/carillon-dev/carillon/internal/client/exitcode"
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
	r := run.Run{UID: "backup-1", APIVersion: "batch/v1", Kind: "Job", Namespace: "sales", Name: "backup-1", Outcome: run.Succeeded, Created: time.Now(), Ended: time.Now()}
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
		target := Target{Cluster: test.flags}
		s, _, err := target.Open(t.Context())
		if test.found {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			} else if err := s.Close(); err != nil {
				t.Error(err)
			}
			continue
		}
		coded, _ := errors.AsType[*exitcode.Error](err)
		if coded == nil || coded.Code != exitcode.Usage || errors.Is(err, cluster.ErrNotRunning) != test.down {
			t.Errorf("%s: %v", name, err)
		}
	}
	local := Target{Cluster: cluster.Flags{DataDir: stopped}}
	cmd := &cobra.Command{}
	cmd.SetContext(t.Context())
	if names, _ := local.CompleteNamespaces(cmd, nil, ""); !slices.Equal(names, []string{"sales"}) {
		t.Errorf("-n is completed with %q", names)
	}
}
