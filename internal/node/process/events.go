// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// The kubelet's evented PLEG keeps what events carry in a cache, and a Pod's
// worker waits until that cache is newer than its own last look. One event per
// change leaves the worker waiting for seconds, for the event nearly always
// comes before the look. So events are sent again:
//
//   - STOPPED, which also wakes the worker, until the kubelet stops the
//     sandbox or starts a newer attempt ([Runtime.repeatStopped]);
//   - CREATED for the sandbox, which renews the cache and wakes nobody, a few
//     times after everything else that happens ([Runtime.refresh]), and
//     steadily while a container is being stopped ([Runtime.heartbeat]).
//
// An event never shows a container as created, see podStatuses, and no event is
// sent for a sandbox that has a newer one: the kubelet would take the Pod for
// one without containers and start them again.

// events are those who listen.
type events struct {
	subs map[*subscriber]struct{} // guarded by Runtime.mu
}

type subscriber struct {
	ch     chan *runtimeapi.ContainerEventResponse
	behind chan struct{} // closed when ch was full; the stream ends then
}

// eventBacklog is how many events a listener may be behind before its stream
// is ended; the kubelet then lists everything and listens again.
const eventBacklog = 4096

// How often an event is repeated.
const (
	firstRepeat     = 10 * time.Millisecond
	lastRefresh     = 1500 * time.Millisecond // no refresh later than this after its cause
	lastInsist      = 6 * time.Second         // no STOPPED later than this after the end
	heartbeatPeriod = 200 * time.Millisecond
)

// GetContainerEvents streams events until the client or the Runtime goes.
func (r *Runtime) GetContainerEvents(_ *runtimeapi.GetEventsRequest, stream runtimeapi.RuntimeService_GetContainerEventsServer) error {
	sub := &subscriber{ch: make(chan *runtimeapi.ContainerEventResponse, eventBacklog), behind: make(chan struct{})}
	r.mu.Lock()
	if r.events.subs == nil {
		r.events.subs = map[*subscriber]struct{}{}
	}
	r.events.subs[sub] = struct{}{}
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		delete(r.events.subs, sub)
		r.mu.Unlock()
	}()
	// The headers tell the client that nothing is missed from here on.
	if err := stream.SendHeader(nil); err != nil {
		return err
	}
	for {
		select {
		case e := <-sub.ch:
			if err := stream.Send(e); err != nil {
				return err
			}
		case <-sub.behind:
			return status.Error(codes.ResourceExhausted, "too many events are waiting: list and listen again")
		case <-stream.Context().Done():
			return nil
		case <-r.done:
			return status.Error(codes.Unavailable, "the process runtime is closing")
		}
	}
}

// emit sends an event about s or one of its containers, with the state of the
// whole Pod at this moment. The caller holds the lock.
func (r *Runtime) emit(typ runtimeapi.ContainerEventType, s *sandbox, id string) {
	if len(r.events.subs) == 0 || s == nil || !r.newest(s) {
		return
	}
	e := &runtimeapi.ContainerEventResponse{
		ContainerId:        id,
		ContainerEventType: typ,
		CreatedAt:          time.Now().UnixNano(),
		PodSandboxStatus:   r.sandboxStatus(s),
		ContainersStatuses: r.podStatuses(s),
	}
	for sub := range r.events.subs {
		select {
		case sub.ch <- e:
		default:
			delete(r.events.subs, sub)
			close(sub.behind)
		}
	}
}

// newest reports whether no newer sandbox exists for the Pod. The caller holds
// the lock.
func (r *Runtime) newest(s *sandbox) bool {
	for _, o := range r.sandboxes {
		if o != s && o.uid() == s.uid() && o.rec.CreatedAt > s.rec.CreatedAt {
			return false
		}
	}
	return true
}

// refresh renews what the kubelet knows of the Pod, now and a few times more.
// The caller holds the lock.
func (r *Runtime) refresh(s *sandbox) {
	r.repeat(time.Now(), lastRefresh, func() bool {
		if r.sandboxes[s.rec.ID] != s {
			return false
		}
		r.emit(runtimeapi.ContainerEventType_CONTAINER_CREATED_EVENT, s, s.rec.ID)
		return true
	})
}

// repeatStopped repeats that a container has ended. The caller holds the lock.
func (r *Runtime) repeatStopped(s *sandbox, c *container) {
	r.repeat(time.Now(), lastInsist, func() bool {
		if r.sandboxes[s.rec.ID] != s || s.rec.Stopped || r.containers[c.rec.ID] != c {
			return false
		}
		for _, o := range r.containersOf(s.rec.ID) {
			if o.config.GetMetadata().GetName() == c.config.GetMetadata().GetName() {
				if o != c {
					return false
				}
				break
			}
		}
		r.emit(runtimeapi.ContainerEventType_CONTAINER_STOPPED_EVENT, s, c.rec.ID)
		return true
	})
}

// repeat calls f, with the lock held, 10, 20, 40, 80 … ms after start until f
// returns false or limit has passed. With nobody listening it does nothing.
func (r *Runtime) repeat(start time.Time, limit time.Duration, f func() bool) {
	if len(r.events.subs) == 0 {
		return
	}
	var next func(after time.Duration)
	next = func(after time.Duration) {
		if after > limit {
			return
		}
		time.AfterFunc(time.Until(start.Add(after)), func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			if r.closed() || len(r.events.subs) == 0 || !f() {
				return
			}
			next(2 * after)
		})
	}
	next(firstRepeat)
}

// heartbeat renews the kubelet's cache until ended is closed.
func (r *Runtime) heartbeat(sandboxID string, ended <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.sandboxes[sandboxID]; s != nil && len(r.events.subs) > 0 {
		r.spawnLocked(func() { r.sendHeartbeats(s, ended) })
	}
}

func (r *Runtime) sendHeartbeats(s *sandbox, ended <-chan struct{}) {
	tick := time.NewTicker(heartbeatPeriod)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ended:
			return
		case <-r.done:
			return
		}
		r.mu.Lock()
		if r.sandboxes[s.rec.ID] != s || s.rec.Stopped {
			r.mu.Unlock()
			return
		}
		r.emit(runtimeapi.ContainerEventType_CONTAINER_CREATED_EVENT, s, s.rec.ID)
		r.mu.Unlock()
	}
}
