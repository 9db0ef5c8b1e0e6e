// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/carillon-dev/carillon/internal/client/lookup"
	"github.com/carillon-dev/carillon/internal/journal/crilog"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// written is a piece of what a container wrote.
type written struct {
	attempt *run.Attempt
	piece   crilog.Piece
}

// reader is what is known of the reading of an execution.
type reader struct {
	attempt  run.Attempt
	mark     crilog.Mark
	complete bool
	done     chan struct{} // closed when nothing reads it (any more)
}

// Bounds on how long the end of a run is waited with, for output that is still on its way.
const (
	settleFor = 500 * time.Millisecond // for Pods that the watch has not told of yet
	silentFor = 5 * time.Second        // for readers that read nothing
)

// follow prints until the try has ended and all that it wrote was read; of the first one that is followed, what those
// before it wrote, too.
func (f *following) follow(ctx context.Context, first bool) error {
	r := f.pick.chosen
	f.try = r
	f.readers, f.newest, f.reading = map[string]*reader{}, map[writer]*reader{}, 0
	f.written, f.ended, f.pods = make(chan written), make(chan string), make(chan *corev1.Pod)
	var attempts []run.Attempt
	var err error
	if first {
		attempts, _, err = attemptsOfTime(ctx, f.source, f.of, r)
	} else {
		attempts, err = f.source.Attempts(ctx, r)
	}
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if err := f.begin(ctx, r, attempts); err != nil {
		return err
	}
	watched := f.watchPods(ctx, r)
	defer watched()
	defer stop()
	var settled *time.Timer
	var settledC, silent <-chan time.Time
	for {
		over := f.try.Outcome.Ended() || f.pick.gone || f.pick.chosen.UID != f.try.UID
		if over && settled == nil {
			settled = time.NewTimer(settleFor)
			settledC = settled.C
		}
		select {
		case s := <-f.sightings:
			f.take(s)
		case pod := <-f.pods:
			f.see(ctx, pod)
		case w := <-f.written:
			if err := f.print(w); err != nil {
				return err
			}
			silent = nil
		case <-f.ended:
			f.reading--
		case <-settledC:
			if f.reading == 0 {
				return f.finish(ctx)
			}
			settledC = time.After(settleFor)
			if silent == nil {
				silent = time.After(silentFor)
			}
		case <-silent:
			return f.finish(ctx)
		case <-ctx.Done():
			return errors.Join(ctx.Err(), f.out.finish())
		}
	}
}

// begin prints what was written until now, and starts to read what is being written.
func (f *following) begin(ctx context.Context, r *run.Run, attempts []run.Attempt) error {
	sorted, _, _ := run.Numbered(attempts)
	var chosen []run.Attempt
	for i := range sorted {
		if f.logs.only == "" || sorted[i].Container == f.logs.only {
			chosen = append(chosen, sorted[i])
		}
	}
	f.logs.heading(r, f.of.zone, "")
	f.endTold = r.Outcome.Ended()
	f.out.expect(chosen)
	marks := map[string]crilog.Mark{}
	gone, err := f.logs.printUntilNow(ctx, f.source, chosen, f.out, marks)
	if err != nil {
		return err
	}
	if err := f.out.w.Flush(); err != nil {
		return err
	}
	missing := map[string]bool{}
	for i := range gone {
		missing[gone[i].ContainerID] = true
	}
	for i := range chosen {
		id := chosen[i].ContainerID
		f.add(ctx, chosen[i], marks[id], !chosen[i].Ended.IsZero() && !missing[id])
	}
	return nil
}

// add remembers an execution, and reads it if it was not read to its end.
func (f *following) add(ctx context.Context, a run.Attempt, from crilog.Mark, complete bool) {
	who := writer{a.PodUID, a.Container}
	before := f.newest[who]
	r := &reader{attempt: a, mark: from, complete: complete, done: make(chan struct{})}
	f.readers[a.ContainerID], f.newest[who] = r, r
	if complete {
		close(r.done)
		return
	}
	f.reading++
	pieces, over := f.written, f.ended // those of this try
	go func() {
		defer send(ctx, over, a.ContainerID)
		defer close(r.done)
		if before != nil { // output comes in the order in which it was written
			select {
			case <-before.done:
			case <-ctx.Done():
				return
			}
		}
		e := &lookup.Execution{Client: f.client, Attempt: a, From: from}
		complete, _ := e.Read(ctx, func(p crilog.Piece) error { // its errors are those of ctx
			p.Text = bytes.Clone(p.Text)
			send(ctx, pieces, written{&r.attempt, p})
			return ctx.Err()
		})
		r.mark, r.complete = e.From, complete
	}()
}

// see starts to read what is new in a Pod.
func (f *following) see(ctx context.Context, pod *corev1.Pod) {
	var fresh []run.Attempt
	for _, a := range run.AttemptsOf(pod) {
		if f.readers[a.ContainerID] == nil && (f.logs.only == "" || a.Container == f.logs.only) {
			fresh = append(fresh, a)
		}
	}
	if len(fresh) == 0 {
		return
	}
	f.out.expect(fresh)
	for _, a := range fresh {
		f.add(ctx, a, crilog.Mark{}, false)
	}
}

// print writes a piece, and lets it be seen when nothing else waits.
func (f *following) print(w written) error {
	if err := f.out.print(w.attempt, w.piece); err != nil {
		return err
	}
	return f.out.w.Flush()
}

// finish prints what readers could not read and is remembered nevertheless, and says how the run ended.
func (f *following) finish(ctx context.Context) error {
	r := *f.try
	if f.pick.gone && f.pick.chosen.UID == r.UID && !r.Outcome.Ended() {
		r = *f.wait.vanished(ctx).run
	}
	attempts, err := f.source.Attempts(ctx, &r)
	if err != nil {
		attempts = nil // what is known is told
	}
	r.Sum(attempts)
	left, _, _ := run.Numbered(attempts)
	var gone []run.Attempt
	for i := range left {
		a := &left[i]
		if f.logs.only != "" && a.Container != f.logs.only {
			continue
		}
		from, complete := f.readTo(a.ContainerID)
		if complete {
			continue
		}
		f.out.expect(left[i : i+1])
		err := lookup.Rest(ctx, f.source, a, from, func(p crilog.Piece) error { return f.out.print(a, p) })
		switch {
		case errors.Is(err, fs.ErrNotExist):
			gone = append(gone, *a)
		case err != nil:
			return err
		}
	}
	if err := f.out.finish(); err != nil {
		return err
	}
	for i := range gone {
		f.logs.say(fmt.Sprintf("the output of container %s of Pod %s could not be read to its end", gone[i].Container, gone[i].Pod))
	}
	if !f.logs.quiet && !f.endTold {
		f.logs.say(runReference(&r) + " " + outcomeText(&r, f.logs.clock()))
	}
	f.try = &r
	return nil
}

// readTo tells how far an execution was read. One that is still being read is as far as it is complete: its reader
// hangs.
func (f *following) readTo(id string) (crilog.Mark, bool) {
	r := f.readers[id]
	if r == nil {
		return crilog.Mark{}, false
	}
	select {
	case <-r.done:
		return r.mark, r.complete
	default:
		return crilog.Mark{}, true
	}
}

// watchPods watches the Pods of a run until ctx ends.
func (f *following) watchPods(ctx context.Context, r *run.Run) (wait func()) {
	chosen := func(o *metav1.ListOptions) {
		if r.Kind == "Job" && r.APIVersion == batchv1.SchemeGroupVersion.String() {
			o.LabelSelector = batchv1.ControllerUidLabel + "=" + string(r.UID)
		}
	}
	factory := informers.NewSharedInformerFactoryWithOptions(f.client, 0, informers.WithNamespace(r.Namespace), informers.WithTweakListOptions(chosen))
	is := func(obj any) {
		if unseen, ok := obj.(cache.DeletedFinalStateUnknown); ok {
			obj = unseen.Obj
		}
		if pod, ok := obj.(*corev1.Pod); ok && (pod.UID == r.UID || lookup.OwnedBy(pod, r)) {
			send(ctx, f.pods, pod)
		}
	}
	// A handler is refused by an informer that has ended only, and this one has not begun.
	_, _ = factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: is, UpdateFunc: func(_, obj any) { is(obj) }, DeleteFunc: is,
	})
	factory.Start(ctx.Done())
	return factory.Shutdown
}
