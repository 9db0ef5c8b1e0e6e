// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/carillon-dev/carillon/internal/client/cluster"
	"github.com/carillon-dev/carillon/internal/client/evidence"
	"github.com/carillon-dev/carillon/internal/client/lookup"
	"github.com/carillon-dev/carillon/internal/datadir"
	"github.com/carillon-dev/carillon/internal/ui/cache"
	"github.com/carillon-dev/carillon/internal/ui/page"
)

const (
	// lookEvery is how often it is looked whether the Carillon of this machine was started or stopped.
	lookEvery = 2 * time.Second
	// finishWithin is how long requests go on that began before that.
	finishWithin = 10 * time.Second
)

// Opener opens what the page looks at, and does so again when the Carillon of this machine is stopped, started or has
// other credentials: a page that lies open goes on. It is an http.Handler of the pages.
type Opener struct {
	// Target is what is looked at.
	Target lookup.Target
	// ReadOnly: the page offers to change nothing.
	ReadOnly bool
	Clock    func() time.Time
	Log      *slog.Logger

	mu  sync.Mutex
	now *opened
}

// opened is a site, as it is until something changes.
type opened struct {
	place    place
	handler  http.Handler
	requests sync.WaitGroup
	// end ends what goes on beside requests, and closes the site when the last of these is over. cut ends these, too.
	// The contexts are theirs.
	end, cut    context.CancelFunc
	beside, ctx context.Context
}

// place is how the Carillon of this machine stands. Its zero value is that of a cluster, or of a journal alone.
type place struct {
	listens    bool
	remembers  bool
	kubeconfig [sha256.Size]byte
}

// Open opens it for the first time. Run keeps it so.
func (o *Opener) Open(ctx context.Context) error {
	// What is opened may be older than this look, so that the next one finds a difference, and never newer.
	at := o.look()
	next, err := o.open(ctx)
	if err != nil {
		return err
	}
	next.place = at
	o.show(next)
	return nil
}

// Run opens it again when it has changed, until ctx ends; then it closes it.
func (o *Opener) Run(ctx context.Context) {
	ticks := time.NewTicker(lookEvery)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			o.show(nil)
			return
		case <-ticks.C:
		}
		o.refresh(ctx)
	}
}

// refresh opens it again if it has changed. It is for one goroutine at a time.
func (o *Opener) refresh(ctx context.Context) {
	if o.look() == o.now.place { // nobody else changes it
		return
	}
	if err := o.Open(ctx); err != nil && ctx.Err() == nil {
		o.Log.Debug("what the page looks at has changed, and cannot be opened yet", "error", err)
	}
}

// dataDir is that of the Carillon that is looked at; "" for a cluster.
func (o *Opener) dataDir() string {
	flags := o.Target.Cluster
	if o.Target.Journal == "" {
		flags = flags.OrLocal()
	}
	dir, err := cluster.Absolute(flags.DataDir)
	if flags.DataDir == "" || err != nil {
		return ""
	}
	return dir
}

func (o *Opener) look() (p place) {
	dir := o.dataDir()
	if dir == "" {
		return p
	}
	if content, err := os.ReadFile(datadir.Kubeconfig(dir)); err == nil {
		p.kubeconfig = sha256.Sum256(content)
		p.listens = cluster.CheckListening(datadir.Kubeconfig(dir), dir) == nil
	}
	_, err := os.Stat(datadir.JournalDatabase(dir))
	p.remembers = err == nil
	return p
}

func (o *Opener) open(ctx context.Context) (*opened, error) {
	target := o.Target
	target.AllNamespaces = target.Cluster.Namespace == ""
	source, server, err := target.Open(ctx)
	if err != nil {
		return nil, err
	}
	beside, end := context.WithCancel(context.WithoutCancel(ctx))
	c := cache.New(cache.Options{
		Server: server, Source: source, Namespace: target.Cluster.Namespace, DataDir: o.dataDir(), Journal: target.Journal, Clock: o.Clock, Log: o.Log,
	})
	var work sync.WaitGroup
	work.Go(func() { c.Run(beside) })
	site := o.site()
	site.Server, site.Source, site.Cache = server, source, c
	next := &opened{handler: Handler(beside, site), end: end, beside: beside}
	next.ctx, next.cut = context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(beside, func() {
		work.Wait()
		next.requests.Wait()
		site.Beside.Wait()
		if err := source.Close(); err != nil {
			o.Log.Warn("what the page looked at cannot be closed", "error", err)
		}
	})
	return next, nil
}

func (o *Opener) site() *page.Site {
	return &page.Site{Name: o.name(), Namespace: o.Target.Cluster.Namespace, Kubectl: evidence.Kubectl(o.Target.Cluster), ReadOnly: o.ReadOnly, Clock: o.Clock, Log: o.Log}
}

// outside is a site that shows nothing, for viewers who have not signed in.
func (o *Opener) outside() *page.Site { return page.New(o.site()) }

// name says to a viewer what he looks at.
func (o *Opener) name() string {
	named := o.Target.Cluster
	switch {
	case named.Context != "":
		return "context " + named.Context
	case named.Kubeconfig != "":
		return "the cluster of " + named.Kubeconfig
	case o.Target.Journal != "" && named.DataDir == "":
		return "the journal in " + o.Target.Journal
	case named.DataDir != "" && named.DataDir != datadir.Default():
		return "the Carillon on " + named.DataDir
	case o.dataDir() == "":
		return "the cluster of $KUBECONFIG"
	}
	return "this machine"
}

// show has the pages of next shown from now on, and ends those from before.
func (o *Opener) show(next *opened) {
	o.mu.Lock()
	before := o.now
	o.now = next
	o.mu.Unlock()
	if before == nil {
		return
	}
	before.end()
	if next == nil {
		before.cut()
		return
	}
	time.AfterFunc(finishWithin, before.cut)
}

// ServeHTTP implements http.Handler.
func (o *Opener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	now := o.now
	if now != nil {
		now.requests.Add(1)
	}
	o.mu.Unlock()
	if now == nil {
		http.Error(w, "Carillon is stopping.", http.StatusServiceUnavailable)
		return
	}
	defer now.requests.Done()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(now.ctx, cancel)()
	now.handler.ServeHTTP(w, r.WithContext(ctx))
}
