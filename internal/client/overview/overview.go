// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package overview finds out what is going on, for carillon status and for the page.
//
//   - overview.go   Options, what is asked, and Of, which asks all of it side by side
//   - schedules.go  the CronJobs and Timetables
//   - runs.go       runs and omissions, and what the Pods of active runs do
//   - output.go     the end of what failed runs wrote
//   - facts.go      how the parts are that all of it depends on
//
// What it means package status decides.
package overview

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/carillon-dev/carillon/internal/client/cluster"
	"github.com/carillon-dev/carillon/internal/client/lookup"
	"github.com/carillon-dev/carillon/internal/client/task"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/status"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// Options are what is asked.
type Options struct {
	// Source is where runs are looked up. It stays open.
	Source lookup.Source
	// Server is the API server; nil if none answers, or a journal alone is looked at.
	Server *cluster.Server
	// DataDir is the data directory of the Carillon of this machine, as an absolute path, if that is asked; "" otherwise.
	DataDir string
	// Journal is the directory of the journal that was named; "" if none was.
	Journal string
	// Namespace is the only one that is looked at; "" for all.
	Namespace string
	// Selector chooses CronJobs and Timetables, and runs by those; nil chooses all.
	Selector labels.Selector
	// Now is the time of the look, Since that from when on failures and omissions count, and Within how far ahead what is
	// due is told.
	Now, Since time.Time
	Within     time.Duration
	// Known has what is known already; nil: nothing is.
	Known *Known
	// Log is told the stack where looking panics, which is an error, too; nil: nobody is.
	Log *slog.Logger
}

// Known is what need not be asked for.
type Known struct {
	// Schedules are the CronJobs and Timetables, if an API server serves them; Unread says why they are not known.
	Schedules []*workload.Scheduled
	Served    bool
	Unread    error
	// Facts are those that FactsOf gave a while ago.
	Facts status.Facts
	// Outputs remembers what failed runs wrote; nil: nothing is remembered.
	Outputs *Outputs
}

// Overview is what was found out.
type Overview struct {
	Status *status.Status
	// Origin says where runs are known from, Notes what could not be read.
	Origin string
	Notes  []string
	// Empty: there is nothing in the namespace, neither schedules nor runs.
	Empty bool
}

// Of finds out what is going on. The error is that of what nothing can be said without; less is noted.
func Of(ctx context.Context, o Options) (*Overview, error) {
	g, err := newGatherer(o)
	if err != nil {
		return nil, err
	}
	if err := g.gather(ctx); err != nil {
		return nil, err
	}
	in := &g.in
	found := &Overview{Status: status.Of(in), Empty: len(in.Schedules)+len(in.Active)+len(in.Failed)+len(in.Omissions) == 0}
	g.outputs(ctx, found.Status.Failed)
	found.Origin, found.Notes = o.Source.Origin(ctx), g.notes
	return found, nil
}

// FactsOf finds out how the parts are that runs depend on. Notes are what could not be read.
func FactsOf(ctx context.Context, o Options) (facts status.Facts, notes []string, err error) {
	g, err := newGatherer(o)
	if err != nil {
		return status.Facts{}, nil, err
	}
	if err := g.facts(ctx); err != nil {
		return status.Facts{}, nil, err
	}
	return g.in.Facts, g.notes, nil
}

// gatherer is one look.
type gatherer struct {
	o      Options
	client kubernetes.Interface // nil without a server
	in     status.Input

	mu    sync.Mutex
	notes []string
}

func newGatherer(o Options) (*gatherer, error) {
	if o.Selector == nil {
		o.Selector = labels.Everything()
	}
	g := &gatherer{o: o, in: status.Input{Now: o.Now, Since: o.Since, Within: o.Within}}
	if o.Server == nil {
		return g, nil
	}
	var err error
	g.client, err = g.connect()
	return g, err
}

// connect speaks to the API server in protobuf. What comes from this machine is not compressed on the way: that takes
// longer than the way.
func (g *gatherer) connect() (kubernetes.Interface, error) {
	if g.o.DataDir == "" {
		return lookup.TypedClient(g.o.Server)
	}
	server := *g.o.Server
	server.Config = rest.CopyConfig(g.o.Server.Config)
	server.Config.DisableCompression = true
	return lookup.TypedClient(&server)
}

func (g *gatherer) note(format string, args ...any) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if text := fmt.Sprintf(format, args...); !slices.Contains(g.notes, text) {
		g.notes = append(g.notes, text)
	}
}

// tasks is work side by side.
func (g *gatherer) tasks() *task.Group { return task.NewGroup(g.log()) }

func (g *gatherer) log() *slog.Logger {
	if g.o.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return g.o.Log
}

// gather asks for everything, as far as possible side by side.
func (g *gatherer) gather(ctx context.Context) error {
	var schedules, runs error
	tasks := g.tasks()
	if known := g.o.Known; known != nil {
		g.in.Facts, g.in.Schedules, schedules = known.Facts, known.Schedules, known.Unread
	} else {
		tasks.Go("how the parts are", func() {
			if err := g.facts(ctx); err != nil {
				g.note("how the parts are is not known: %v", err)
			}
		})
		if g.o.Server != nil {
			tasks.Go("the schedules", func() { schedules = g.schedules(ctx) })
		}
	}
	tasks.Go("the runs", func() { runs = g.runs(ctx) })
	if err := cmp.Or(tasks.Wait(), ctx.Err()); err != nil {
		return err
	}
	if runs != nil {
		return runs
	}
	if schedules != nil {
		if g.o.Known == nil && (g.in.Facts.API == nil || g.in.Facts.API.Error == "") {
			return schedules
		}
		g.note("schedules are not known: %v", schedules)
		g.in.Schedules = nil
	}
	g.in.Served = schedules == nil && (g.o.Server != nil && g.o.Known == nil || g.o.Known != nil && g.o.Known.Served)
	if !g.o.Selector.Empty() {
		g.choose()
	}
	return nil
}

// choose leaves out the runs and omissions of what the labels do not choose.
func (g *gatherer) choose() {
	chosen := map[types.UID]bool{}
	for _, s := range g.in.Schedules {
		chosen[s.Owner.UID] = true
	}
	other := func(r run.Run) bool { return !chosen[r.Owner.UID] }
	g.in.Active, g.in.Failed = slices.DeleteFunc(g.in.Active, other), slices.DeleteFunc(g.in.Failed, other)
	g.in.Omissions = slices.DeleteFunc(g.in.Omissions, func(o run.Omission) bool { return !chosen[o.Owner.UID] })
	g.note("-l chooses CronJobs and Timetables, and Jobs by those: what Jobs of their own do is not shown")
}
