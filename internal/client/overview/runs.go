// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"cmp"
	"context"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/client/task"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/diagnosis"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/status"
)

// What is looked at, at most.
const (
	mostFailed    = 10_000 // runs
	mostOmissions = 20_000
	mostRecent    = 200 // owners of failed runs whose earlier runs are looked up
	recentRuns    = 20  // of each
	mostTails     = 20  // failures of which the end of the output is looked up
	atOnce        = 4
)

// runs asks for runs and omissions.
func (g *gatherer) runs(ctx context.Context) error {
	var active, failed, omissions error
	tasks := g.tasks()
	tasks.Go("the active runs", func() {
		g.in.Active, active = g.o.Source.Runs(ctx, journal.Query{Namespace: g.o.Namespace, Outcomes: []run.Outcome{run.Active}})
		if active == nil && len(g.in.Active) > 0 {
			active = g.aboutActive(ctx)
		}
	})
	tasks.Go("the failed runs", func() {
		query := journal.Query{Namespace: g.o.Namespace, Outcomes: []run.Outcome{run.Failed}, EndedFrom: g.in.Since, Limit: mostFailed}
		if g.in.Failed, failed = g.o.Source.Runs(ctx, query); failed != nil {
			return
		}
		if len(g.in.Failed) == mostFailed {
			g.note("more than %s runs failed lately: only the newest were looked at", quantity.Grouped(mostFailed))
		}
		failed = g.recent(ctx)
	})
	tasks.Go("the omissions", func() {
		query := journal.Query{Namespace: g.o.Namespace, From: g.in.Since, Limit: mostOmissions}
		if g.in.Omissions, omissions = g.o.Source.Omissions(ctx, query); len(g.in.Omissions) == mostOmissions {
			g.note("more than %s scheduled times were missed or skipped lately: only the newest were looked at", quantity.Grouped(mostOmissions))
		}
	})
	return cmp.Or(tasks.Wait(), active, failed, omissions)
}

// aboutActive asks how long runs usually take, and what Pods of those that are active do.
func (g *gatherer) aboutActive(ctx context.Context) error {
	var owners []types.UID
	for i := range g.in.Active {
		if uid := g.in.Active[i].Owner.UID; uid != "" {
			owners = append(owners, uid)
		}
	}
	slices.Sort(owners)
	usual, err := g.o.Source.Usual(ctx, slices.Compact(owners))
	if err != nil {
		return err
	}
	g.in.Usual = map[types.UID]status.Usual{}
	for uid, u := range usual {
		g.in.Usual[uid] = status.Usual(u)
	}
	if g.client == nil {
		return nil
	}
	if err := g.pods(ctx); err != nil {
		g.note("what Pods wait for is not known: %v", err)
	}
	return nil
}

// pods finds out what the Pods of active runs do.
func (g *gatherer) pods(ctx context.Context) error {
	g.in.Pods = map[types.UID]status.Pods{}
	options := metav1.ListOptions{ResourceVersion: "0", Limit: fromCache, FieldSelector: "status.phase!=Succeeded,status.phase!=Failed"}
	for {
		page, err := g.client.CoreV1().Pods(g.o.Namespace).List(ctx, options)
		if err != nil {
			return err
		}
		for i := range page.Items {
			pod := &page.Items[i]
			uid := pod.UID // a Pod may itself be a run
			if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
				uid = owner.UID
			}
			g.in.Pods[uid] = withPod(g.in.Pods[uid], pod)
			if uid != pod.UID {
				g.in.Pods[pod.UID] = withPod(status.Pods{}, pod)
			}
		}
		if options.Continue, options.ResourceVersion = page.Continue, ""; options.Continue == "" {
			return nil
		}
	}
}

func withPod(p status.Pods, pod *corev1.Pod) status.Pods {
	state := diagnosis.StateOf(pod)
	switch {
	case state.Stuck && (p.Waits == "" || !p.Stuck):
		p.Waits, p.Stuck = state.Text, true
	case state.Reason == "Running":
		p.Running++
	case p.Waits == "":
		p.Waits = state.Text
	}
	return p
}

// recent asks for the earlier runs of owners of which runs failed.
func (g *gatherer) recent(ctx context.Context) error {
	owners := status.Owners(g.in.Failed)
	owners = owners[:min(len(owners), mostRecent)]
	g.in.Recent = map[types.UID][]run.Run{}
	var mu sync.Mutex
	return task.Each(g.log(), "the earlier runs of a schedule", atOnce, len(owners), func(n int) error {
		runs, err := g.o.Source.Runs(ctx, journal.Query{Namespace: g.o.Namespace, OwnerUID: owners[n], Limit: recentRuns})
		mu.Lock()
		defer mu.Unlock()
		g.in.Recent[owners[n]] = runs
		return err
	})
}
