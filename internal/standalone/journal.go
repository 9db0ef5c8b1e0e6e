// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package standalone

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/carillon-dev/carillon/internal/datadir"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/journal/ended"
	"github.com/carillon-dev/carillon/internal/node"
	"github.com/carillon-dev/carillon/internal/recorder"
)

// remembrance is what remembers runs beyond the life of their objects. Without it (nil) everything else goes on.
type remembrance struct {
	journal *journal.Journal
	past    *recorder.JournalPast
	// ended is where the node leaves what it knows of ended containers; nil with a runtime of somebody else's.
	ended    *ended.Dir
	recorder *recorder.Recorder
	stop     context.CancelFunc
	stopped  chan struct{}
	log      logr.Logger
}

// openJournal opens the journal of a data directory. What keeps it from being opened is told, and no reason not to start.
func (s *Standalone) openJournal(dir string, log logr.Logger) *remembrance {
	if s.options.Ephemeral {
		return nil
	}
	m := &remembrance{log: log}
	var err error
	m.journal, err = journal.Open(datadir.Journal(dir), journal.Options{
		KeepRuns: s.options.Keep.Runs, KeepLogs: s.options.Keep.Logs, Warn: s.options.Warn, Logger: log,
	})
	if err != nil {
		log.Error(err, "The journal cannot be opened")
		s.options.Warn(fmt.Sprintf("runs are not remembered: the journal cannot be opened: %v", err))
		return nil
	}
	m.past = recorder.NewJournalPast(datadir.Journal(dir))
	if s.options.RuntimeEndpoint != "" {
		return m
	}
	if m.ended, err = ended.Open(datadir.EndedContainers(dir), ended.Options{Warn: s.options.Warn}); err != nil {
		log.Error(err, "Ended containers cannot be kept for the journal")
		s.options.Warn(fmt.Sprintf("what containers write is not remembered if they are gone soon: %v", err))
		m.ended = nil
	}
	return m
}

// containerEnded is what the node tells the end of each container; nil if nobody listens.
func (m *remembrance) containerEnded() func(node.ContainerEnd) error {
	if m == nil || m.ended == nil {
		return nil
	}
	return func(e node.ContainerEnd) error {
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
	o := recorder.Options{Client: client, Journal: m.journal, Past: m.past, Logger: m.log, Warn: warn}
	if m.ended != nil {
		o.Ended = m.ended
	} else if o.LogsThroughAPI, err = recorder.Logs(config); err != nil {
		return err
	}
	if m.recorder, err = recorder.New(o); err != nil {
		return err
	}
	var ctx context.Context
	ctx, m.stop = context.WithCancel(context.Background())
	m.stopped = make(chan struct{})
	go func() {
		defer close(m.stopped)
		m.recorder.Run(ctx)
	}()
	return nil
}

// close ends it, after what it records. It returns when that is done or ctx is.
func (m *remembrance) close(ctx context.Context) error {
	if m == nil {
		return nil
	}
	if m.recorder != nil {
		m.stop()
		select {
		case <-m.stopped:
		case <-ctx.Done():
			return errors.New("the journal did not stop in time")
		}
	}
	err := errors.Join(m.past.Close(), m.journal.Close())
	if m.ended != nil {
		err = errors.Join(err, m.ended.Close())
	}
	if err != nil {
		return fmt.Errorf("close the journal: %w", err)
	}
	return nil
}
