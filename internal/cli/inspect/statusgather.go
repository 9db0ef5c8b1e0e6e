// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/carillon-dev/carillon/internal/client/cluster"
	"github.com/carillon-dev/carillon/internal/client/exitcode"
	"github.com/carillon-dev/carillon/internal/client/lookup"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/journal/crilog"
	"github.com/carillon-dev/carillon/internal/plan/diagnosis"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/status"
)

// known is what one look has found.
type known struct {
	status *status.Status
	// origin says where runs are known from, notes what could not be read.
	origin string
	notes  []string
	// flags are those by which other commands ask the same API server, usual the namespace that they ask about unless
	// one is named, and only the one that this look was about ("" for all). server are those of flags that name an API
	// server.
	flags, server, usual, only string
}

// What is looked at, at most.
const (
	mostFailed    = 10_000 // runs
	mostOmissions = 20_000
	mostRecent    = 200 // owners of failed runs whose earlier runs are looked up
	recentRuns    = 20  // of each
	mostTails     = 20  // failures of which the end of the output is looked up
	tailLines     = 3
	atOnce        = 4
)

// gatherer is one look.
type gatherer struct {
	target    *lookup.Target
	source    lookup.Source
	server    *cluster.Server
	client    kubernetes.Interface // nil without a server
	local     string               // the data directory of the Carillon of this machine, if that is asked
	namespace string
	selector  labels.Selector
	in        status.Input

	mu    sync.Mutex
	notes []string
}

func (g *gatherer) note(format string, args ...any) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if text := fmt.Sprintf(format, args...); !slices.Contains(g.notes, text) {
		g.notes = append(g.notes, text)
	}
}

// look finds out what is going on.
func (c *statusCommand) look(ctx context.Context, since time.Duration) (*known, error) {
	g := &gatherer{target: &c.target}
	if c.target.Journal == "" {
		if flags := c.target.Cluster.OrLocal(); flags.DataDir != "" {
			dir, err := cluster.Absolute(flags.DataDir)
			if err != nil {
				return nil, err
			}
			g.local = dir
		}
	}
	if (g.local != "" || c.target.Journal != "") && c.target.Cluster.Namespace == "" {
		c.target.AllNamespaces = true
	}
	var err error
	if g.selector, err = c.target.Labels(); err != nil {
		return nil, err
	}
	if g.source, g.server, err = c.open(ctx); err != nil {
		return nil, err
	}
	defer func() { _ = g.source.Close() }() // it was only read
	if g.server == nil && !g.selector.Empty() {
		return nil, exitcode.UsageError("-l: a journal does not know labels, and no API server answers; leave -l out")
	}
	if g.server != nil {
		if g.client, err = g.connect(); err != nil {
			return nil, err
		}
	}
	g.namespace = c.target.NamespaceOf(g.server)
	now := c.now().UTC()
	g.in = status.Input{Now: now, Since: now.Add(-since), Within: dueWithin}
	if err := g.gather(ctx); err != nil {
		return nil, err
	}
	k := &known{status: status.Of(&g.in), usual: "default"}
	k.flags, k.server = c.leadingFlags()
	k.only = g.namespace
	switch {
	case c.target.Cluster.Namespace != "":
		k.usual = "" // it has to be named again
	case g.server != nil:
		k.usual = g.server.Namespace
	}
	if err := g.checkNamespace(ctx); err != nil {
		return nil, err
	}
	g.tails(ctx, k.status.Failed)
	k.origin, k.notes = g.source.Origin(ctx), g.notes
	return k, nil
}

// checkNamespace refuses a namespace that -n names and that does not exist, unless something is known of it all the
// same.
func (g *gatherer) checkNamespace(ctx context.Context) error {
	in := &g.in
	if len(in.Schedules)+len(in.Active)+len(in.Failed)+len(in.Omissions) > 0 {
		return nil
	}
	return g.target.CheckNamespace(ctx, g.source, g.server)
}

// connect speaks to the API server in protobuf. What comes from this machine is not compressed on the way: that takes
// longer than the way.
func (g *gatherer) connect() (kubernetes.Interface, error) {
	if g.local == "" {
		return lookup.TypedClient(g.server)
	}
	server := *g.server
	server.Config = rest.CopyConfig(g.server.Config)
	server.Config.DisableCompression = true
	return lookup.TypedClient(&server)
}

// leadingFlags are those that name the same API server and journal to other commands, and those of the API server
// alone.
func (c *statusCommand) leadingFlags() (all, server string) {
	for _, f := range []struct{ name, value string }{
		{"kubeconfig", c.target.Cluster.Kubeconfig}, {"context", c.target.Cluster.Context}, {"data-dir", c.target.Cluster.DataDir},
	} {
		if f.value != "" {
			server += " --" + f.name + " " + diagnosis.Quoted(f.value)
		}
	}
	if all = server; c.target.Journal != "" {
		all += " --journal " + diagnosis.Quoted(c.target.Journal)
	}
	return all, server
}

// gather asks for everything, as far as possible side by side.
func (g *gatherer) gather(ctx context.Context) error {
	var schedules, runs error
	var tasks sync.WaitGroup
	tasks.Go(func() { g.facts(ctx) })
	if g.server != nil {
		tasks.Go(func() { schedules = g.schedules(ctx) })
	}
	tasks.Go(func() { runs = g.runs(ctx) })
	tasks.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	if runs != nil {
		return runs
	}
	if schedules != nil {
		if g.in.Facts.API == nil || g.in.Facts.API.Error == "" {
			return schedules
		}
		g.note("schedules are not known: %v", schedules)
		g.in.Schedules = nil
	}
	g.in.Served = g.server != nil && schedules == nil
	if !g.selector.Empty() {
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

// runs asks for runs and omissions.
func (g *gatherer) runs(ctx context.Context) error {
	var active, failed, omissions error
	var tasks sync.WaitGroup
	tasks.Go(func() {
		g.in.Active, active = g.source.Runs(ctx, journal.Query{Namespace: g.namespace, Outcomes: []run.Outcome{run.Active}})
		if active == nil && len(g.in.Active) > 0 {
			active = g.aboutActive(ctx)
		}
	})
	tasks.Go(func() {
		query := journal.Query{Namespace: g.namespace, Outcomes: []run.Outcome{run.Failed}, EndedFrom: g.in.Since, Limit: mostFailed}
		if g.in.Failed, failed = g.source.Runs(ctx, query); failed != nil {
			return
		}
		if len(g.in.Failed) == mostFailed {
			g.note("more than %s runs failed lately: only the newest were looked at", quantity.Grouped(mostFailed))
		}
		failed = g.recent(ctx)
	})
	tasks.Go(func() {
		query := journal.Query{Namespace: g.namespace, From: g.in.Since, Limit: mostOmissions}
		if g.in.Omissions, omissions = g.source.Omissions(ctx, query); len(g.in.Omissions) == mostOmissions {
			g.note("more than %s scheduled times were missed or skipped lately: only the newest were looked at", quantity.Grouped(mostOmissions))
		}
	})
	tasks.Wait()
	return cmp.Or(active, failed, omissions)
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
	usual, err := g.source.Usual(ctx, slices.Compact(owners))
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
		page, err := g.client.CoreV1().Pods(g.namespace).List(ctx, options)
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
	return inTurn(atOnce, owners, func(uid types.UID) error {
		runs, err := g.source.Runs(ctx, journal.Query{Namespace: g.namespace, OwnerUID: uid, Limit: recentRuns})
		mu.Lock()
		defer mu.Unlock()
		g.in.Recent[uid] = runs
		return err
	})
}

// inTurn does something with each, a few at once, and gives the first error.
func inTurn[T any](width int, all []T, do func(T) error) error {
	next := make(chan T)
	errs := make([]error, width)
	var workers sync.WaitGroup
	for n := range width {
		workers.Go(func() {
			for one := range next {
				errs[n] = cmp.Or(errs[n], do(one))
			}
		})
	}
	for _, one := range all {
		next <- one
	}
	close(next)
	workers.Wait()
	return cmp.Or(errs...)
}

// tails looks up the end of what the newest failures wrote. What cannot be had is left out.
func (g *gatherer) tails(ctx context.Context, failures []status.Failure) {
	indexes := make([]int, min(len(failures), mostTails))
	for n := range indexes {
		indexes[n] = n
	}
	_ = inTurn(atOnce, indexes, func(n int) error {
		f := &failures[n]
		attempts, err := g.source.Attempts(ctx, &f.Run)
		if err != nil {
			g.note("the output of failed runs is not known: %v", err)
			return nil
		}
		if a := attemptToShow(attempts); a != nil {
			tail, err := g.source.Tail(ctx, a, tailLines)
			if err != nil && !apierrors.IsNotFound(err) {
				g.note("the output of failed runs is not known: %v", err)
			}
			f.Output = lastTextLines(tail, tailLines)
		}
		return nil
	})
}

// attemptToShow is the attempt whose output says most about a failure: the last one that failed, or else the last one.
func attemptToShow(attempts []run.Attempt) *run.Attempt {
	for n := len(attempts) - 1; n >= 0; n-- {
		if attempts[n].Failed() {
			return &attempts[n]
		}
	}
	if n := len(attempts); n > 0 {
		return &attempts[n-1]
	}
	return nil
}

// colorCodes are what programs write to terminals for colours.
var colorCodes = regexp.MustCompile("\x1b\\[[0-9;:]*m")

// longestLine is how much of a line of output is shown, in bytes.
const longestLine = 1000

// lastTextLines are the last lines of a log in the format of CRI that say something, without colours.
func lastTextLines(log []byte, count int) []string {
	reader := crilog.NewReader(bytes.NewReader(log))
	var lines []string
	for {
		piece, err := reader.Next()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				return nil
			}
			break
		}
		text := piece.Text[:min(len(piece.Text), longestLine)]
		if line := strings.TrimRight(string(colorCodes.ReplaceAll(text, nil)), " \t\r"); line != "" {
			lines = append(lines, strings.ToValidUTF8(line, "\uFFFD"))
		}
	}
	return lines[max(0, len(lines)-count):]
}
