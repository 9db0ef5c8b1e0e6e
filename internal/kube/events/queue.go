// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import "sync"

// keptRoom is how many events an empty queue keeps room for.
const keptRoom = 64

// queue holds the events that wait for one writer, in order. It is no channel, because a channel of its limit takes
// megabytes for ever, which also make the garbage collector wait longer.
type queue struct {
	// arrived holds a token when there is something to take.
	arrived chan struct{}

	mu     sync.Mutex
	events []Event
	// taken is how many of events have been taken.
	taken int
}

func newQueue() *queue { return &queue{arrived: make(chan struct{}, 1)} }

// add puts e at the end; false when the queue is full.
func (q *queue) add(e Event) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.events)-q.taken >= queueLimit {
		return false
	}
	if len(q.events) == cap(q.events) && q.taken > len(q.events)/2 {
		left := copy(q.events, q.events[q.taken:])
		clear(q.events[left:])
		q.events, q.taken = q.events[:left], 0
	}
	q.events = append(q.events, e)
	q.wake()
	return true
}

// take removes the first event; false when there is none.
func (q *queue) take() (Event, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.taken == len(q.events) {
		return Event{}, false
	}
	e := q.events[q.taken]
	q.events[q.taken] = Event{}
	q.taken++
	if q.taken < len(q.events) {
		q.wake()
		return e, true
	}
	q.events, q.taken = q.events[:0], 0
	if cap(q.events) > keptRoom {
		q.events = nil
	}
	return e, true
}

// len is how many events wait.
func (q *queue) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.events) - q.taken
}

func (q *queue) wake() {
	select {
	case q.arrived <- struct{}{}:
	default:
	}
}
