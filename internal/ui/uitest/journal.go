// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package uitest

import (
	"context"
	"io"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/client/lookup"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// Extent makes it a journal, for those who ask one (evidence.Journal).
func (m *memory) Extent(context.Context) (journal.Extent, error) {
	return journal.Extent{Oldest: time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC)}, m.world.Fails
}

// remembered is a memory as lookup asks a journal.
type remembered struct{ *memory }

func (m remembered) Attempts(ctx context.Context, uid types.UID) ([]run.Attempt, error) {
	return m.memory.Attempts(ctx, &run.Run{UID: uid})
}

func (m remembered) Log(ctx context.Context, containerID string) (io.ReadCloser, error) {
	return m.memory.Log(ctx, &run.Attempt{ContainerID: containerID})
}

func (m remembered) Tail(ctx context.Context, containerID string, lines int) ([]byte, error) {
	return m.memory.Tail(ctx, &run.Attempt{ContainerID: containerID}, lines)
}

func (m remembered) Owners(ctx context.Context, q journal.Query) ([]journal.OwnerIn, error) {
	return lookup.Owners(ctx, m.memory, q)
}

func (m remembered) Tally(ctx context.Context, q journal.Query, width time.Duration) ([]journal.Tally, error) {
	return lookup.Tally(ctx, m.memory, q, width)
}

func (m remembered) Names(_ context.Context, namespace, kind string, most int) ([]string, error) {
	var names []string
	for i := range m.world.Runs {
		switch r := &m.world.Runs[i]; {
		case namespace != "" && r.Namespace != namespace:
		case r.Owner.Kind == kind:
			names = append(names, r.Owner.Name)
		case r.Kind == kind:
			names = append(names, r.Name)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return names[:min(most, len(names))], m.world.Fails
}
