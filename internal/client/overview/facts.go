// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"

	"github.com/carillon-dev/carillon/internal/client/evidence"
	"github.com/carillon-dev/carillon/internal/datadir"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/manager"
	"github.com/carillon-dev/carillon/internal/plan/status"
)

// factsTimeout bounds how long parts are asked that may not answer.
const factsTimeout = 10 * time.Second

// facts finds out how the parts are that runs depend on.
func (g *gatherer) facts(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, factsTimeout)
	defer cancel()
	f := &g.in.Facts
	if g.o.DataDir != "" {
		f.Carillon = carillonOn(g.o.DataDir, g.o.Server != nil)
	}
	tasks := g.tasks()
	tasks.Go("how the journal is", func() { f.Journal = g.journal(ctx) })
	if g.o.Server != nil {
		tasks.Go("how the API server is", func() { f.API = g.api(ctx) })
		tasks.Go("how the nodes are", func() { g.nodes(ctx) })
		if g.o.DataDir == "" {
			tasks.Go("how the controllers are", func() { g.leases(ctx) })
		}
	}
	return tasks.Wait()
}

// carillonOn looks at the data directory of a Carillon of this machine.
func carillonOn(dir string, running bool) *status.Carillon {
	c := &status.Carillon{DataDir: dir, Running: running, StoreBytes: -1, DiskFree: datadir.Free(dir)}
	if store, err := os.Stat(filepath.Join(datadir.ControlPlane(dir), "etcd", "member", "snap", "db")); err == nil {
		c.StoreBytes = store.Size()
	}
	if !running {
		c.LastSign = evidence.LastSign(dir)
	}
	return c
}

// api asks the API server about itself.
func (g *gatherer) api(ctx context.Context) *status.API {
	api := &status.API{}
	client := g.client.Discovery().RESTClient()
	text, err := client.Get().AbsPath("/version").DoRaw(ctx)
	var build version.Info
	switch {
	case err == nil && json.Unmarshal(text, &build) == nil:
		api.Version = build.GitVersion
	case err != nil && !apierrors.IsForbidden(err):
		api.Error = err.Error()
		return api
	}
	// What is not ready answers with 500, and the same text.
	text, err = client.Get().AbsPath("/readyz").Param("verbose", "").DoRaw(ctx)
	if apierrors.IsForbidden(err) {
		g.note("whether the API server is ready is not known: %v", err)
		return api
	}
	for line := range strings.Lines(string(text)) {
		if name, failing := strings.CutPrefix(line, "[-]"); failing {
			name, _, _ = strings.Cut(name, " ")
			api.Failing = append(api.Failing, strings.TrimSpace(name))
		}
	}
	if err != nil && len(api.Failing) == 0 {
		api.Error = err.Error()
	}
	return api
}

// nodes asks for the nodes and their conditions.
func (g *gatherer) nodes(ctx context.Context) {
	f := &g.in.Facts
	options := metav1.ListOptions{ResourceVersion: "0", Limit: fromCache}
	for {
		page, err := g.client.CoreV1().Nodes().List(ctx, options)
		if err != nil {
			f.NodesUnread = "not known: " + err.Error()
			return
		}
		for i := range page.Items {
			f.Nodes = append(f.Nodes, nodeOf(&page.Items[i]))
		}
		if options.Continue, options.ResourceVersion = page.Continue, ""; options.Continue == "" {
			return
		}
	}
}

// pressures are the conditions by which a node says what it is short of.
var pressures = map[corev1.NodeConditionType]string{
	corev1.NodeDiskPressure: "disk", corev1.NodeMemoryPressure: "memory", corev1.NodePIDPressure: "process numbers",
}

func nodeOf(n *corev1.Node) status.Node {
	node := status.Node{Name: n.Name, Cordoned: n.Spec.Unschedulable, Reason: "NoStatus", Message: "it has not said anything yet"}
	for _, c := range n.Status.Conditions {
		switch {
		case c.Type == corev1.NodeReady:
			node.Ready, node.Reason, node.Message, node.Since = c.Status == corev1.ConditionTrue, c.Reason, c.Message, c.LastTransitionTime.Time
		case pressures[c.Type] != "" && c.Status == corev1.ConditionTrue:
			node.Pressures = append(node.Pressures, pressures[c.Type])
		}
	}
	return node
}

// leases asks for those by which the controllers of a cluster agree on one that works.
func (g *gatherer) leases(ctx context.Context) {
	const system = metav1.NamespaceSystem
	for _, l := range []status.Lease{{Component: manager.LeaseName}, {Component: "kube-controller-manager", Namespace: system}} {
		found, err := g.client.CoordinationV1().Leases(l.Namespace).List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + l.Component, Limit: 10})
		switch {
		case err != nil:
			l.Unread = "not known: " + err.Error()
		case len(found.Items) == 0:
			l.Missing = true
		default:
			l = leaseOf(l, newest(found.Items))
		}
		g.in.Facts.Leases = append(g.in.Facts.Leases, l)
	}
}

// newest is the lease that was renewed last.
func newest(leases []coordinationv1.Lease) *coordinationv1.Lease {
	found := &leases[0]
	for i := range leases {
		if at := leases[i].Spec.RenewTime; at != nil && (found.Spec.RenewTime == nil || at.After(found.Spec.RenewTime.Time)) {
			found = &leases[i]
		}
	}
	return found
}

func leaseOf(l status.Lease, lease *coordinationv1.Lease) status.Lease {
	l.Namespace = lease.Namespace
	if lease.Spec.HolderIdentity != nil {
		l.Holder = *lease.Spec.HolderIdentity
	}
	if lease.Spec.RenewTime != nil {
		l.Renewed = lease.Spec.RenewTime.Time
	}
	if lease.Spec.LeaseDurationSeconds != nil {
		l.Seconds = int64(*lease.Spec.LeaseDurationSeconds)
	}
	return l
}

// journal finds out how the journal is; nil where nobody expects one.
func (g *gatherer) journal(ctx context.Context) *status.Journal {
	j := &status.Journal{Dir: g.o.Journal}
	if g.o.DataDir != "" {
		j.Dir = datadir.Journal(g.o.DataDir)
		j.Waiting, j.OldestWaiting = waitingContainers(datadir.EndedContainers(g.o.DataDir))
	}
	read, remembers := g.o.Source.(interface {
		Extent(ctx context.Context) (journal.Extent, error)
	})
	if remembers {
		extent, err := read.Extent(ctx)
		if err != nil {
			j.Error = err.Error()
		}
		j.Runs, j.Oldest, j.LogBytes, j.DiskBytes = extent.Runs, extent.Oldest, extent.LogBytes, extent.DiskBytes
		return j
	}
	if g.o.DataDir == "" {
		return nil
	}
	reader, err := journal.OpenReader(j.Dir)
	switch {
	case errors.Is(err, journal.ErrNone):
		j.None = true
	case err != nil:
		j.Error = fmt.Sprintf("it cannot be read: %v", err)
	default: // it was made a moment ago
		_ = reader.Close() // nothing was read
		return nil
	}
	return j
}

// waitingContainers counts what the node has left of ended containers for the journal to take, and tells since when the
// oldest of it waits.
func waitingContainers(dir string) (count int, oldest time.Time) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, time.Time{}
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), ".") || !entry.IsDir() {
			continue
		}
		info, err := entry.Info()
		if err != nil { // taken meanwhile
			continue
		}
		if count++; oldest.IsZero() || info.ModTime().Before(oldest) {
			oldest = info.ModTime()
		}
	}
	return count, oldest
}
