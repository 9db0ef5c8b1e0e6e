// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/carillon-dev/carillon/internal/cli/cluster"
	"github.com/carillon-dev/carillon/internal/cli/exitcode"
	"github.com/carillon-dev/carillon/internal/journal/crilog"
	"github.com/carillon-dev/carillon/internal/plan/diagnosis"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// following is one run that is followed. What it learns comes over channels to one goroutine, which prints.
type following struct {
	logs   *logs
	source source
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

// written is a piece of what a container wrote.
type written struct {
	attempt *run.Attempt
	piece   crilog.Piece
}

// reader is what is known of the reading of an execution.
type reader struct {
	attempt  run.Attempt
	mark     mark
	complete bool
	done     chan struct{} // closed when nothing reads it (any more)
}

// showAndFollow shows what a run has written and follows it to its end. One that has ended is only shown.
func (l *logs) showAndFollow(ctx context.Context, s source, server *cluster.Server, of *subject) error {
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
		_, err := l.target.cluster.Connect()
		return err
	}}
	if result, known := w.remembered(ctx); known {
		return l.showEnded(ctx, s, &result)
	}
	if server == nil {
		return w.down()
	}
	client, err := typedClient(server)
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

// showEnded shows a run that has ended.
func (l *logs) showEnded(ctx context.Context, s source, result *waitResult) error {
	if result.err != nil {
		return result.err
	}
	if result.run == nil {
		return noRun("%s is gone, and nothing is remembered of it", result.of.ref)
	}
	r := result.run
	attempts, tries, err := attemptsOfTime(ctx, s, result.of, r)
	if err != nil {
		return err
	}
	r.Sum(slices.DeleteFunc(slices.Clone(attempts), func(a run.Attempt) bool { return a.RunUID != r.UID }))
	chosen, title, err := l.chooseAttempts(r, attempts)
	if err != nil {
		return err
	}
	l.heading(r, result.of.zone, tries+title)
	out := l.newPrinter()
	out.expect(chosen)
	gone, err := l.printUntilNow(ctx, s, chosen, out, nil)
	if err != nil {
		return err
	}
	if err := out.finish(); err != nil {
		return err
	}
	if err := l.explainGone(ctx, s, r, chosen, gone); err != nil {
		return err
	}
	return exitOf(r)
}

// exitOf is how -f ends for a run.
func exitOf(r *run.Run) error {
	if r.Outcome == run.Succeeded {
		return nil
	}
	return &exitcode.Error{Code: exitcode.Failed}
}

// await waits for the run to follow. The result, if there is one, is in its place: the run is remembered, and gone.
func (f *following) await(ctx context.Context, w *waitRun) (*waitResult, error) {
	ticks := time.NewTicker(askAgain)
	defer ticks.Stop()
	for f.pick.chosen == nil || !f.pick.synced {
		select {
		case s := <-f.sightings:
			f.pick.see(s)
			if !s.synced || f.pick.chosen != nil {
				continue
			}
			if result, over := w.absent(ctx); over {
				return &result, nil
			}
			f.logs.say(f.nextDue())
		case <-ticks.C:
			if result, over := w.ask(ctx, false); over {
				return &result, nil
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return nil, nil
}

// nextDue says what is waited for when no run is active.
func (f *following) nextDue() string {
	text := fmt.Sprintf("no run of %s is active", f.of.ref)
	if f.pick.at != nil {
		return text + "; waiting for that of " + clockAndDistance(f.pick.at.From, f.of.zone, f.logs.clock())
	}
	s := f.of.schedule
	if tt := f.of.timetable(); tt != nil && len(tt.Status.Active) > 0 {
		begun := tt.Status.Active[0].ScheduledTime.Time
		return fmt.Sprintf("that of %s is to be tried again; waiting for it", clockAndDistance(begun, f.of.zone, f.logs.clock()))
	}
	if s == nil {
		return text
	}
	if why := f.of.held(); why != "" {
		return text + ", and none starts by itself: " + why + "; waiting for one"
	}
	if next := s.FirstAfter(f.logs.clock()); !next.IsZero() {
		return text + "; waiting for the next one, due " + clockAndDistance(next, f.of.zone, f.logs.clock())
	}
	return text + "; waiting for the next one"
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
	sorted, _, _ := numbered(attempts)
	var chosen []run.Attempt
	for i := range sorted {
		if f.logs.only == "" || sorted[i].Container == f.logs.only {
			chosen = append(chosen, sorted[i])
		}
	}
	f.logs.heading(r, f.of.zone, "")
	f.endTold = r.Outcome.Ended()
	f.out.expect(chosen)
	marks := map[string]mark{}
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
func (f *following) add(ctx context.Context, a run.Attempt, from mark, complete bool) {
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
		e := &execution{client: f.client, attempt: a, from: from}
		complete, _ := e.read(ctx, func(p crilog.Piece) error { // its errors are those of ctx
			p.Text = bytes.Clone(p.Text)
			send(ctx, pieces, written{&r.attempt, p})
			return ctx.Err()
		})
		r.mark, r.complete = e.from, complete
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
		f.add(ctx, a, mark{}, false)
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
	left, _, _ := numbered(attempts)
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
		switch err := f.printRest(ctx, a, from); {
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
func (f *following) readTo(id string) (mark, bool) {
	r := f.readers[id]
	if r == nil {
		return mark{}, false
	}
	select {
	case <-r.done:
		return r.mark, r.complete
	default:
		return mark{}, true
	}
}

// printRest prints what is remembered of an execution after a mark.
func (f *following) printRest(ctx context.Context, a *run.Attempt, from mark) error {
	log, err := f.source.Log(ctx, a)
	if err != nil {
		return err
	}
	defer log.Close()
	lines, rest := crilog.NewReader(log), resumed{from: from}
	for {
		p, err := lines.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if p, fresh := rest.rest(p); fresh {
			if err := f.out.print(a, p); err != nil {
				return err
			}
		}
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
		if pod, ok := obj.(*corev1.Pod); ok && (pod.UID == r.UID || ownedBy(pod, r)) {
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
