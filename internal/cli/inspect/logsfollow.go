// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/carillon-dev/carillon/internal/client/cluster"
	"github.com/carillon-dev/carillon/internal/client/exitcode"
	"github.com/carillon-dev/carillon/internal/client/lookup"
	"github.com/carillon-dev/carillon/internal/plan/diagnosis"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// following is one run that is followed. What it learns comes over channels to one goroutine, which prints.
type following struct {
	logs   *logs
	source lookup.Source
	client kubernetes.Interface
	of     *subject
	pick   *pick
	out    *printer
	wait   *waitRun
	// try is the run that is followed, as it is: of several tries of one scheduled time, one.
	try *run.Run

	sightings chan sighting
	pods      chan *corev1.Pod
	written   chan written
	ended     chan string // IDs of containers whose reader has ended

	readers map[string]*reader
	newest  map[writer]*reader
	reading int
	// endTold: the heading says how the run ended.
	endTold bool
}

// showAndFollow shows what a run has written and follows it to its end. One that has ended is only shown.
func (l *logs) showAndFollow(ctx context.Context, s lookup.Source, server *cluster.Server, of *subject) error {
	p := newPick(of, l.clock())
	p.job = of.ref.Kind == "job"
	if l.choice.at != "" {
		at, err := diagnosis.ParseAt(l.choice.at, l.clock(), of.zone)
		if err != nil {
			return exitcode.UsageError("--run: %w", err)
		}
		p.at = &at
	}
	w := &waitRun{source: s, server: server, of: of, pick: p, text: l.choice.at, clock: l.clock, down: func() error {
		_, err := l.target.Cluster.Connect()
		return err
	}}
	if result, known := w.remembered(ctx); known {
		return l.showEnded(ctx, s, &result)
	}
	if server == nil {
		return w.down()
	}
	client, err := lookup.TypedClient(server)
	if err != nil {
		return err
	}
	return l.followRun(ctx, client, w)
}

// followRun follows the run that w waits for.
func (l *logs) followRun(ctx context.Context, client kubernetes.Interface, w *waitRun) error {
	f := &following{
		logs: l, source: w.source, client: client, of: w.of, pick: w.pick, out: l.newPrinter(), wait: w, sightings: make(chan sighting),
	}
	ctx, stop := context.WithCancel(ctx)
	watched, err := watchRuns(ctx, w.server, w.of, func(seen sighting) { send(ctx, f.sightings, seen) })
	if err != nil {
		stop()
		return err
	}
	defer watched()
	defer stop()
	result, err := f.await(ctx, w)
	if err != nil {
		return err
	}
	if result != nil {
		return l.showEnded(ctx, w.source, result)
	}
	return f.followTries(ctx)
}

// followTries follows one try after the other, until the last one has ended.
func (f *following) followTries(ctx context.Context) error {
	for first := true; ; first = false {
		if err := f.follow(ctx, first); err != nil {
			return err
		}
		again, err := f.awaitTry(ctx)
		switch {
		case err != nil:
			return err
		case !again:
			return exitOf(f.try)
		}
	}
}

// awaitTry waits for the next try when one has ended; false: there is none.
func (f *following) awaitTry(ctx context.Context) (bool, error) {
	ticks := time.NewTicker(askAgain)
	defer ticks.Stop()
	for said := false; f.pick.chosen.UID == f.try.UID; {
		if !f.wait.triedAgain(ctx) {
			return false, ctx.Err()
		}
		if !said && !f.logs.quiet {
			f.logs.say("it is tried again; waiting for the next try")
		}
		said = true
		select {
		case s := <-f.sightings:
			f.take(s)
		case <-ticks.C:
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
	return true, nil
}

// take takes in a sighting.
func (f *following) take(s sighting) {
	f.pick.see(s)
	if f.try != nil && f.pick.chosen.UID == f.try.UID {
		f.try = f.pick.chosen
	}
}

func send[T any](ctx context.Context, to chan<- T, what T) {
	select {
	case to <- what:
	case <-ctx.Done():
	}
}
