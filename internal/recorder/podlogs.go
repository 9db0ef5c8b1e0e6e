// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/carillon-dev/carillon/internal/journal/crilog"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

const (
	// maxLogBytes is how much of the log of one container is asked for through the API server.
	maxLogBytes = 16 << 20
	// logReaders is how many logs are asked for at once.
	logReaders = 4
	// logTries is how often a log is asked for that cannot be had for a reason that may pass.
	logTries = 3
	// logTimeout bounds one such try.
	logTimeout = time.Minute
)

// podLogs records the containers of Pods by what the API server tells of them, and asks it for their logs.
type podLogs struct {
	recorder *Recorder
	// wake has a token when something waits.
	wake chan struct{}
	// forbidden: logs may not be read, and the user knows.
	forbidden atomic.Bool

	mu sync.Mutex
	// waiting are attempts to be recorded, the oldest first; told: the user knows that there were too many.
	waiting []podLog
	told    bool
	// done are the containers of each Pod that are recorded, or about to be.
	done map[types.UID]map[string]bool
}

// podLog is an attempt to be recorded: previous if another followed it in the same Pod, there if the Pod is there
// still.
type podLog struct {
	attempt         run.Attempt
	previous, there bool
}

// newPodLogs is nil where the node leaves its own, or logs are not asked for.
func (r *Recorder) newPodLogs() *podLogs {
	if r.o.Ended != nil || r.o.LogsThroughAPI == nil {
		return nil
	}
	return &podLogs{recorder: r, wake: make(chan struct{}, 1), done: map[types.UID]map[string]bool{}}
}

// wanted are all Pods; what they tell is recorded until ctx ends.
func (p *podLogs) wanted(ctx context.Context) *wanted {
	for range logReaders {
		p.recorder.kinds.running.Go(func() { p.work(ctx) })
	}
	return &wanted{
		gvk: podKind, list: func() client.ObjectList { return &corev1.PodList{} },
		seen: func(object client.Object) { p.look(object, true) },
		gone: func(object client.Object) {
			p.look(object, false)
			p.mu.Lock()
			defer p.mu.Unlock()
			delete(p.done, object.GetUID())
		},
	}
}

// look records the containers of a Pod that have ended. Without the Pod there are no logs.
func (p *podLogs) look(object client.Object, there bool) {
	pod, ok := object.(*corev1.Pod)
	if !ok || metav1.GetControllerOfNoCopy(pod) == nil {
		return // a Pod that somebody made by hand is no run
	}
	newest := map[string]int32{}
	attempts := run.AttemptsOf(pod)
	for _, a := range attempts {
		newest[a.Container] = max(newest[a.Container], a.Restart)
	}
	for _, a := range attempts {
		if !a.Ended.IsZero() {
			p.add(podLog{a, a.Restart < newest[a.Container], there})
		}
	}
}

// add has an attempt recorded that is not yet. When too many wait, because the journal cannot be written to, the oldest
// goes: it is added again if its Pod is seen again.
func (p *podLogs) add(l podLog) {
	p.mu.Lock()
	defer p.mu.Unlock()
	done := p.done[l.attempt.PodUID]
	if done[l.attempt.ContainerID] {
		return
	}
	if done == nil {
		done = map[string]bool{}
		p.done[l.attempt.PodUID] = done
	}
	done[l.attempt.ContainerID] = true
	if len(p.waiting) >= maxPending {
		oldest := p.waiting[0].attempt
		p.waiting = p.waiting[1:]
		delete(p.done[oldest.PodUID], oldest.ContainerID)
		p.over(oldest)
		if !p.told {
			p.told = true
			p.recorder.o.Warn(fmt.Sprintf("more than %d containers that have ended wait for the journal: the oldest of them are not "+
				"recorded, nor what they wrote", maxPending))
		}
	}
	p.waiting = append(p.waiting, l)
	p.recorder.mu.Lock()
	p.recorder.unwritten[l.attempt.RunUID]++
	p.recorder.mu.Unlock()
	signal(p.wake)
}

// next takes the oldest that waits; false if none does.
func (p *podLogs) next() (podLog, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiting) == 0 {
		p.waiting, p.told = nil, false
		return podLog{}, false
	}
	l := p.waiting[0]
	p.waiting = p.waiting[1:]
	if len(p.waiting) > 0 {
		signal(p.wake) // for another
	}
	return l, true
}

// work records what waits until ctx ends.
func (p *podLogs) work(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.wake:
		}
		for l, some := p.next(); some && ctx.Err() == nil; l, some = p.next() {
			p.record(ctx, l.attempt, l.previous, l.there)
			p.over(l.attempt)
		}
	}
}

// over tells that nobody waits for an attempt any more.
func (p *podLogs) over(a run.Attempt) {
	p.recorder.mu.Lock()
	defer p.recorder.mu.Unlock()
	if p.recorder.unwritten[a.RunUID]--; p.recorder.unwritten[a.RunUID] <= 0 {
		delete(p.recorder.unwritten, a.RunUID)
	}
}

func (p *podLogs) record(ctx context.Context, a run.Attempt, previous, there bool) {
	if p.isThere(ctx, a) {
		return
	}
	var log []byte
	if there {
		log, a.OutputBytes = p.log(ctx, a, previous)
	}
	var wait backoff
	for {
		var reader io.Reader
		if log != nil {
			reader = bytes.NewReader(log)
		}
		err := p.recorder.o.Journal.RecordAttempt(ctx, a, reader)
		switch {
		case err == nil:
			return
		case !later(ctx, err):
			p.recorder.o.Logger.Error(err, "The journal refuses a container", "pod", a.Pod, "container", a.Container)
			return
		}
		if !pause(ctx, wait.after()) {
			return
		}
	}
}

// isThere tells whether the journal has an attempt, with its log, from before this process.
func (p *podLogs) isThere(ctx context.Context, a run.Attempt) bool {
	attempts, err := p.recorder.o.Past.Attempts(ctx, a.RunUID)
	if err != nil {
		return false // then it is written again, which changes nothing
	}
	for i := range attempts {
		if attempts[i].ContainerID == a.ContainerID {
			return true
		}
	}
	return false
}

// log asks for the log of an attempt; nil if it cannot be had.
func (p *podLogs) log(ctx context.Context, a run.Attempt, previous bool) (log []byte, written int64) {
	var wait backoff
	for try := 1; ; try++ {
		log, written, err := p.fetch(ctx, a, previous)
		if err == nil {
			p.forbidden.Store(false)
			return log, written
		}
		if apierrors.IsForbidden(err) {
			if !p.forbidden.Swap(true) {
				p.recorder.o.Warn(fmt.Sprintf("logs may not be read and are left out until they may be: %v", err))
			}
			return nil, 0
		}
		if apierrors.IsNotFound(err) || apierrors.IsBadRequest(err) || try == logTries || !pause(ctx, wait.after()) {
			p.recorder.o.Logger.Info("The log of a container cannot be had and is not recorded", "pod", a.Namespace+"/"+a.Pod,
				"container", a.Container, "reason", err.Error())
			return nil, 0
		}
	}
}

func (p *podLogs) fetch(ctx context.Context, a run.Attempt, previous bool) (log []byte, written int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, logTimeout)
	defer cancel()
	stream, err := p.recorder.o.LogsThroughAPI(ctx, a.Namespace, a.Pod, &corev1.PodLogOptions{
		Container: a.Container, Previous: previous, Timestamps: true, LimitBytes: new(int64(maxLogBytes)),
	})
	if err != nil {
		return nil, 0, err
	}
	defer stream.Close()
	return toCRI(io.LimitReader(stream, 2*maxLogBytes))
}

// toCRI turns lines with a time in front, as the API server gives them, into the format of CRI. Which of them were
// written to standard error it does not tell. written is how much the container wrote.
func toCRI(in io.Reader) (log []byte, written int64, err error) {
	var out bytes.Buffer
	lines := bufio.NewReader(in)
	last := time.Unix(0, 0).UTC()
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			at, text, _ := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(" "))
			t, wrong := time.Parse(time.RFC3339Nano, string(at))
			if wrong != nil { // a line without a time: the rest of one, or what the API server says itself
				text, t = bytes.TrimSuffix(line, []byte("\n")), last
			}
			last = t
			out.Write(crilog.AppendRecord(nil, t, false, false, text))
			written += int64(len(text)) + 1
		}
		switch {
		case errors.Is(err, io.EOF):
			return out.Bytes(), written, nil
		case err != nil:
			return nil, 0, err
		}
	}
}
