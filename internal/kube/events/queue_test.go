// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// Events come out in the order in which they went in, as many as there is room for; there is a token while some wait;
// and a queue that is empty has given its room back.
func TestQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q, n := newQueue(), 0
		var model []string
		for _, add := range rapid.SliceOfN(rapid.IntRange(-3000, 3000), 0, 30).Draw(t, "added or taken") {
			for ; add > 0; add-- {
				n++
				fits := len(model) < queueLimit
				if got := q.add(Event{Reason: strconv.Itoa(n)}); got != fits {
					t.Fatalf("%d wait, and the next one is taken in: %v", len(model), got)
				}
				if fits {
					model = append(model, strconv.Itoa(n))
				}
			}
			for ; add < 0; add++ {
				e, ok := q.take()
				if ok != (len(model) > 0) || ok && e.Reason != model[0] {
					t.Fatalf("took %q, %v; waiting: %d", e.Reason, ok, len(model))
				}
				if ok {
					model = model[1:]
				}
			}
			if q.len() != len(model) {
				t.Fatalf("%d wait, not %d", q.len(), len(model))
			}
			if len(model) > 0 && len(q.arrived) == 0 {
				t.Fatal("nobody is told that events wait")
			}
			if len(model) == 0 && cap(q.events) > keptRoom {
				t.Fatalf("an empty queue keeps room for %d", cap(q.events))
			}
		}
	})
}

// A queue that is full takes nothing in until something is taken out.
func TestQueueLimit(t *testing.T) {
	q := newQueue()
	for range queueLimit {
		if !q.add(Event{}) {
			t.Fatal("refused below the limit")
		}
	}
	if q.add(Event{}) {
		t.Error("took one beyond the limit")
	}
	if _, ok := q.take(); !ok || !q.add(Event{}) || q.add(Event{}) {
		t.Error("there is room for exactly one after one was taken")
	}
}
