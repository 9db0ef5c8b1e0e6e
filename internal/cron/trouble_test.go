// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron_test

import (
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/carillon-dev/carillon/internal/cron"
)

// fate is what happens to one request.
type fate int

const (
	fine fate = iota
	refused
	lost // it is carried out, and the answer does not arrive
	dies // the process, before the request
	diesAfter
)

var (
	timeout = apierrors.NewTimeoutError("the server is slow", 1)
	errCut  = errors.New("read tcp: connection reset by peer")
)

// fate draws what happens to a request of that phase.
func (w *world) fate(phase cron.Step) (fate, error) {
	if err := w.outage[phase]; err != nil {
		return refused, err
	}
	if w.rough == 0 || !w.odds("trouble", w.rough) {
		return fine, nil
	}
	if phase == cron.StepRead {
		if w.odds("dies", 2) {
			return dies, nil
		}
		return refused, broken
	}
	switch w.roll("fate", 8) {
	case 0:
		return refused, w.refusal(phase)
	case 1:
		return refused, timeout
	case 2, 3:
		return lost, timeout
	case 4:
		return lost, errCut
	case 5:
		return dies, nil
	default:
		return diesAfter, nil
	}
}

func (w *world) refusal(phase cron.Step) error {
	switch phase {
	case cron.StepStart:
		return quota
	case cron.StepRecord:
		return conflict
	default:
		return broken
	}
}

// breakOrMend starts or ends a trouble that lasts: a quota or a webhook that refuses creates, a status that cannot be
// written, or a server that is away.
func (w *world) breakOrMend() {
	if len(w.outage) > 0 {
		w.tell("server", "is well again")
		w.outage = map[cron.Step]error{}
		return
	}
	switch w.roll("outage", 4) {
	case 0:
		w.tell("server", "lets nobody create anything: the quota is full")
		w.outage[cron.StepStart] = quota
	case 1:
		w.tell("server", "lets nobody create anything: a webhook is broken")
		w.outage[cron.StepStart] = broken
	case 2:
		w.tell("server", "lets nobody write a status")
		w.outage[cron.StepRecord] = broken
	default:
		w.tell("server", "is away")
		for phase := cron.StepRead; phase < cron.StepPublish; phase++ {
			w.outage[phase] = errCut
		}
	}
}

// setClock sets the clock back. What has happened keeps its date.
func (w *world) setClock() {
	back := time.Duration(1+w.roll("back", 1024)) * time.Second
	w.tell("clock", "is set back by %v", back)
	w.now, w.clockSet = w.now.Add(-back), true
	for i := range w.server.cronJobs { // an edit made by the old clock is not later than now by the new one
		w.server.cronJobs[i].edited = earlier(w.server.cronJobs[i].edited, w.now)
	}
	w.server.cronJob.edited = earlier(w.server.cronJob.edited, w.now)
	for _, p := range w.processes {
		p.written.edited = earlier(p.written.edited, w.now)
		for _, a := range append(p.secondHalves, p.open) {
			if a != nil {
				a.base.edited = earlier(a.base.edited, w.now)
			}
		}
	}
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
