// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/client/lookup"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// runMemory is a source that has what a test gives it.
type runMemory struct {
	lookup.Source // what is not asked of it

	mu        sync.Mutex
	runs      []run.Run
	omissions []run.Omission
	attempts  []run.Attempt
	logs      map[string]string // by the ID of the container
}

func (m *runMemory) Runs(_ context.Context, q journal.Query) ([]run.Run, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []run.Run
	for _, r := range m.runs {
		switch {
		case q.Namespace != "" && r.Namespace != q.Namespace, q.OwnerName != "" && (r.Owner.Name != q.OwnerName || r.Owner.Kind != q.OwnerKind),
			q.Name != "" && r.Name != q.Name, q.UID != "" && r.UID != q.UID, len(q.Outcomes) > 0 && !slices.Contains(q.Outcomes, r.Outcome),
			!q.From.IsZero() && r.Time().Before(q.From), !q.Until.IsZero() && !r.Time().Before(q.Until):
			continue
		}
		found = append(found, r)
	}
	slices.SortStableFunc(found, func(a, b run.Run) int { return b.Time().Compare(a.Time()) })
	if q.Limit > 0 && len(found) > q.Limit {
		found = found[:q.Limit]
	}
	return found, nil
}

func (m *runMemory) Omissions(_ context.Context, q journal.Query) ([]run.Omission, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []run.Omission
	for _, o := range m.omissions {
		if o.Owner.Name == q.OwnerName && !o.ScheduledTime.Before(q.From) && o.ScheduledTime.Before(q.Until) {
			found = append(found, o)
		}
	}
	return found, nil
}

func (m *runMemory) Attempts(_ context.Context, r *run.Run) ([]run.Attempt, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []run.Attempt
	for _, a := range m.attempts {
		if a.RunUID == r.UID {
			found = append(found, a)
		}
	}
	return found, nil
}

func (m *runMemory) Usual(context.Context, []types.UID) (map[types.UID]journal.Usual, error) {
	return nil, nil
}

func (m *runMemory) Log(_ context.Context, a *run.Attempt) (io.ReadCloser, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	text, ok := m.logs[a.ContainerID]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(bytes.NewReader([]byte(text))), nil
}

func (m *runMemory) Tail(_ context.Context, a *run.Attempt, lines int) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	text, ok := m.logs[a.ContainerID]
	if !ok {
		return nil, nil
	}
	all := bytes.SplitAfter([]byte(text), []byte("\n"))
	return bytes.Join(all[max(0, len(all)-lines-1):], nil), nil
}

func (m *runMemory) Origin(context.Context) string { return "the memory of a test" }
func (m *runMemory) Close() error                  { return nil }

// remember adds a run, or what is known of it now.
func (m *runMemory) remember(r run.Run) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.runs = append(slices.DeleteFunc(m.runs, func(is run.Run) bool { return is.UID == r.UID }), r)
}

var logsNow = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// backupRun is a run of cronjob/backup on a day of May 2026 at 02:00, which ended after a minute.
func backupRun(day int, outcome run.Outcome) run.Run {
	at := time.Date(2026, 5, day, 2, 0, 0, 0, time.UTC)
	name := "backup-" + at.Format("02")
	return run.Run{
		UID: types.UID(name), APIVersion: "batch/v1", Kind: "Job", Namespace: "default", Name: name, Outcome: outcome,
		Owner:   run.Owner{APIVersion: "batch/v1", Kind: "CronJob", Name: "backup", UID: "backup"},
		Trigger: run.Schedule, ScheduledTime: at, Created: at.Add(time.Second), Started: at.Add(2 * time.Second), Ended: at.Add(time.Minute),
	}
}

// attemptOf is one of a run, which began that many seconds after it was created and took one.
func attemptOf(r run.Run, pod, container string, restart int32, began time.Duration) run.Attempt {
	at := r.Created.Add(began)
	return run.Attempt{
		ContainerID: pod + "/" + container + "/" + string(rune('0'+restart)), RunUID: r.UID, Namespace: r.Namespace, Pod: pod, PodUID: types.UID(pod),
		Container: container, Restart: restart, Started: at, Ended: at.Add(time.Second),
	}
}
