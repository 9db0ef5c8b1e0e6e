// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package standalone

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/carillon-dev/carillon/internal/datadir"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/journal/ended"
	"github.com/carillon-dev/carillon/internal/node"
	"github.com/carillon-dev/carillon/internal/privatedir"
	"github.com/carillon-dev/carillon/internal/recorder"
)

// remembrance is what remembers runs beyond the life of their objects. Without it (nil) everything else goes on.
type remembrance struct {
	journal *lateJournal
	// ended is where the node leaves what it knows of ended containers; nil with a runtime of somebody else's.
	ended    *ended.Dir
	recorder *recorder.Recorder
	ctx      context.Context // of the recorder
	stop     context.CancelFunc
	stopped  chan struct{} // nil when the recorder never ran
	// recording is closed when the journal is open, can be written to, and runs are recorded.
	recording chan struct{}
	log       logr.Logger
}

// openJournal has the journal of a data directory opened beside everything else: another process may have it locked, or
// it may be large and want a look for damage. What keeps it from being opened is told, and no reason not to start.
func (s *Standalone) openJournal(dir string, log logr.Logger) *remembrance {
	if s.options.Ephemeral {
		return nil
	}
	m := &remembrance{log: log, journal: newLateJournal(datadir.Journal(dir)), recording: make(chan struct{})}
	m.ctx, m.stop = context.WithCancel(context.Background())
	var unkept error
	if s.options.RuntimeEndpoint == "" {
		m.ended, unkept = openEnded(dir, ended.Options{Warn: s.options.Warn, Draining: m.journal.draining})
		if unkept != nil {
			log.Error(unkept, "Ended containers cannot be kept for the journal")
			m.ended = nil
		}
	}
	go func() {
		err := m.journal.open(func() (*journal.Journal, error) {
			return journal.Open(datadir.Journal(dir), journal.Options{
				KeepRuns: s.options.Keep.Runs, KeepLogs: s.options.Keep.Logs, Warn: s.options.Warn, Logger: log,
			})
		})
		switch {
		case err != nil:
			log.Error(err, "The journal cannot be opened")
			s.options.Warn(fmt.Sprintf("runs are not remembered: the journal cannot be opened: %v", err))
			m.stop()
		case unkept != nil:
			s.options.Warn(fmt.Sprintf("what containers write is not remembered if they are gone soon: %v", unkept))
		}
	}()
	return m
}

// openEnded opens the directory of ended containers, in one of the journal that is ours.
func openEnded(dir string, o ended.Options) (*ended.Dir, error) {
	parent, err := privatedir.Make(datadir.Journal(dir))
	if err != nil {
		return nil, err
	}
	defer parent.Close()
	return ended.Open(datadir.EndedContainers(dir), o)
}

// containerEnded is what the node tells the end of each container; nil if nobody listens.
func (m *remembrance) containerEnded() func(node.ContainerEnd) error {
	if m == nil || m.ended == nil {
		return nil
	}
	return func(e node.ContainerEnd) error {
		if m.journal.failed() {
			return nil // nobody would take it
		}
		return m.ended.Add(ended.Container{
			ID: e.ID, Pod: ended.Pod{Namespace: e.PodNamespace, Name: e.PodName, UID: types.UID(e.PodUID), Labels: e.PodLabels},
			Name: e.Container, Restart: int32(e.Restart), Started: e.Started, Ended: e.Ended, ExitCode: int32(e.ExitCode),
			Signal: int32(e.Signal), Reason: e.Reason, Message: e.Message, CPU: e.CPU, MemoryPeak: e.MemoryPeak, OutputBytes: e.OutputBytes,
		}, e.LogPath)
	}
}

// start begins to record what the API server tells.
func (m *remembrance) start(config *rest.Config, warn func(string)) error {
	client, err := recorder.NewClient(config)
	if err != nil {
		return err
	}
	o := recorder.Options{Client: client, Journal: m.journal, Past: m.journal, Logger: m.log, Warn: warn}
	if m.ended != nil {
		o.Ended = m.ended
	} else if o.LogsThroughAPI, err = recorder.Logs(config); err != nil {
		return err
	}
	if m.recorder, err = recorder.New(o); err != nil {
		return err
	}
	m.stopped = make(chan struct{})
	go func() {
		defer close(m.stopped)
		m.recorder.Run(m.ctx)
	}()
	go func() {
		if j, err := m.journal.await(m.ctx); err == nil && !j.Unavailable() {
			close(m.recording)
		}
	}()
	return nil
}

// closeJournalTimeout bounds how long a stop waits for the journal: longer than it takes, unless another process has it
// locked or its disk hangs.
const closeJournalTimeout = 3 * time.Second

// close ends it, after what it records. It returns when that is done, ctx is, or it has taken too long: what is
// recorded is there, and what is not the next start finds.
func (m *remembrance) close(ctx context.Context) error {
	if m == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, closeJournalTimeout)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- m.end() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		m.log.Info("The journal did not close in time: it is left as it is")
		return nil
	}
}

func (m *remembrance) end() error {
	m.stop()
	if m.stopped != nil {
		<-m.stopped
	}
	err := m.journal.close()
	if m.ended != nil {
		err = errors.Join(err, m.ended.Close())
	}
	if err != nil {
		return fmt.Errorf("close the journal: %w", err)
	}
	return nil
}
