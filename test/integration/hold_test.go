// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"net/http"
	"sync/atomic"

	"github.com/carillon-dev/carillon/internal/kind"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
)

// holdVariable is an address that a process asks, for each Job that it is about to create, whether it may go on.
const holdVariable = "CARILLON_INTEGRATION_HOLD"

// holdStarts has this process ask before it creates the Job that it has decided upon. Timetables are one of its kinds
// of CronJob then: so it serves those that ask.
func holdStarts(address string) {
	for i, k := range kind.All {
		kind.All[i] = heldKind{k, address}
	}
	kind.All = append(kind.All, heldTimetable{kind.Timetable{}, address})
}

// heldTimetable is heldKind for Timetables, which choose what they start.
type heldTimetable struct {
	kind.Timetable
	address string
}

// Build is what comes between the decision and the request.
func (k heldTimetable) Build(owner kind.Object, start adapter.Start) (kind.Object, error) {
	return heldKind{k.Timetable, k.address}.Build(owner, start)
}

type heldKind struct {
	kind.Kind
	address string
}

// Build is what comes between the decision and the request.
func (k heldKind) Build(owner kind.Object, start adapter.Start) (kind.Object, error) {
	resp, err := http.Get(k.address) // as long as it takes
	if err != nil {
		return nil, err
	}
	resp.Body.Close()
	return k.Kind.Build(owner, start)
}

// starts is what a process asks before each start.
type starts struct {
	gate    gate
	waiting atomic.Int32
}

// ServeHTTP answers when the gate is open.
func (s *starts) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	s.waiting.Add(1)
	defer s.waiting.Add(-1)
	s.gate.wait(r.Context().Done())
}
