// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package uitest

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/client/lookup"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/statistics"
	"github.com/carillon-dev/carillon/internal/plan/status"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// memory answers by the rules of a journal.
type memory struct {
	world     World
	schedules []*workload.Scheduled
}

func (m *memory) Runs(_ context.Context, q journal.Query) ([]run.Run, error) {
	return lookup.Choose(&q, m.world.Runs), m.world.Fails
}

func (m *memory) Omissions(_ context.Context, q journal.Query) ([]run.Omission, error) {
	var found []run.Omission
	for i := range m.world.Omissions {
		if lookup.Omits(&q, &m.world.Omissions[i]) {
			found = append(found, m.world.Omissions[i])
		}
	}
	return found, m.world.Fails
}

func (m *memory) Attempts(_ context.Context, r *run.Run) ([]run.Attempt, error) {
	if m.world.AttemptsFail != nil {
		return nil, m.world.AttemptsFail
	}
	return slices.DeleteFunc(slices.Clone(m.world.Attempts), func(a run.Attempt) bool { return a.RunUID != r.UID }), m.world.Fails
}

func (m *memory) Usual(_ context.Context, owners []types.UID) (map[types.UID]journal.Usual, error) {
	return m.world.Usual, m.world.Fails
}

func (m *memory) Statistics(_ context.Context, q statistics.Query) (*statistics.Statistics, error) {
	return lookup.Count(q, m.world.Runs, m.world.Omissions), m.world.Fails
}

func (m *memory) Log(_ context.Context, a *run.Attempt) (io.ReadCloser, error) {
	if m.world.LogFails != nil {
		return nil, m.world.LogFails
	}
	text, ok := m.world.Logs[a.ContainerID]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(strings.NewReader(text)), nil
}

func (m *memory) Tail(_ context.Context, a *run.Attempt, lines int) ([]byte, error) {
	if m.world.LogFails != nil {
		return nil, m.world.LogFails
	}
	all := bytes.SplitAfter([]byte(m.world.Logs[a.ContainerID]), []byte("\n"))
	return bytes.Join(all[max(0, len(all)-lines-1):], nil), nil
}

func (m *memory) Origin(context.Context) string { return "the journal of a test, since 2026-09-01" }

func (m *memory) Close() error { return nil }

func (m *memory) Schedules(context.Context) ([]*workload.Scheduled, error) {
	return m.schedules, m.world.Fails
}

func (m *memory) Status(ctx context.Context) (*status.Status, error) {
	if m.world.StatusFails != nil {
		return nil, m.world.StatusFails
	}
	now := m.world.Now
	in := status.Input{Now: now, Since: now.Add(-24 * time.Hour), Within: time.Hour, Schedules: m.schedules, Served: true}
	var err error
	if in.Active, err = m.Runs(ctx, journal.Query{Outcomes: []run.Outcome{run.Active}}); err != nil {
		return nil, err
	}
	in.Failed, _ = m.Runs(ctx, journal.Query{Outcomes: []run.Outcome{run.Failed}, EndedFrom: in.Since})
	in.Omissions, _ = m.Omissions(ctx, journal.Query{From: in.Since})
	in.Usual = map[types.UID]status.Usual{}
	for uid, usual := range m.world.Usual {
		in.Usual[uid] = status.Usual(usual)
	}
	if m.world.Stopped != "" {
		in.Served, in.Facts = false, status.Facts{Carillon: &status.Carillon{DataDir: m.world.Stopped}}
	}
	return status.Of(&in), nil
}

func (m *memory) Find(_ context.Context, group, kind, namespace, name string) (*workload.Scheduled, error) {
	for _, s := range m.schedules {
		owner := s.Kind.Info().Owner
		if strings.EqualFold(owner.Kind, kind) && s.Owner.Namespace == namespace && s.Owner.Name == name &&
			(owner.Kind != "CronJob" || owner.Group == cmp.Or(group, "batch")) {
			return s, m.world.Fails
		}
	}
	return nil, m.world.Fails
}

func (m *memory) Owner(uid types.UID) *workload.Scheduled {
	for _, s := range m.schedules {
		if s.Owner.UID == uid {
			return s
		}
	}
	return nil
}

func (m *memory) Active(owner types.UID) []run.Run {
	return slices.DeleteFunc(slices.Clone(m.world.Runs), func(r run.Run) bool {
		return r.Outcome.Ended() || r.Kind != "Job" || owner != "" && r.Owner.UID != owner
	})
}

func (m *memory) Notes() []string { return m.world.Notes }

func (m *memory) Unread() status.Unread { return m.world.Unread }

func (m *memory) Changes(ctx context.Context) <-chan struct{} {
	changes := make(chan struct{})
	context.AfterFunc(ctx, func() { close(changes) })
	return changes
}
