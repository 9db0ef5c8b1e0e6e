// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package task does work in goroutines of its own so that a panic of it is an error. The guard recovers what panics in
// the goroutine of a request; in any other one a panic ends the process, and with it the Carillon that serves the page.
package task

import (
	"cmp"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"

	"github.com/carillon-dev/carillon/internal/kube/fanout"
)

// PanicError says that some work has panicked. It has been logged, with the stack.
type PanicError struct {
	// Work says what was done: "the events of a run".
	Work  string
	Fault any
}

// Error implements error.
func (e *PanicError) Error() string {
	return fmt.Sprintf("%s: a fault of Carillon: %v", e.Work, e.Fault)
}

// Do does some work. If it panics the error is a *PanicError, and log is told the stack, once.
func Do(log *slog.Logger, work string, do func() error) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			log.Error("work for a page panicked", "work", work, "fault", fmt.Sprint(fault), "stack", string(debug.Stack()))
			err = &PanicError{Work: work, Fault: fault}
		}
	}()
	return do()
}

// Each calls do for every index below n, at most limit of them at the same time, as Do does, and gives the error of the
// first index that has one. One failure stops nothing else. work says what is done for one index.
func Each(log *slog.Logger, work string, limit, n int, do func(i int) error) error {
	errs := make([]error, n)
	fanout.All(limit, n, func(i int) { errs[i] = Do(log, work, func() error { return do(i) }) })
	return cmp.Or(errs...)
}

// Group is work side by side: Go, as often as there is work, then Wait. Go may be called by several goroutines, also by
// work of the group.
type Group struct {
	log   *slog.Logger
	tasks sync.WaitGroup

	mu  sync.Mutex
	err error
}

// NewGroup gives one without work. log is told the stacks of panics.
func NewGroup(log *slog.Logger) *Group { return &Group{log: log} }

// Go does some work in a goroutine of its own.
func (g *Group) Go(work string, do func()) {
	g.tasks.Go(func() {
		err := Do(g.log, work, func() error { do(); return nil })
		if err == nil {
			return
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.err == nil {
			g.err = err
		}
	})
}

// Wait waits for all of it. The error is the *PanicError of the first that panicked; nil if none did.
func (g *Group) Wait() error {
	g.tasks.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}
