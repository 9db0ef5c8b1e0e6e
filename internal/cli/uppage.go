// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"k8s.io/klog/v2"

	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/client/cluster"
	"github.com/carillon-dev/carillon/internal/client/lookup"
	"github.com/carillon-dev/carillon/internal/ui"
)

// upPage is the page that carillon up serves, if it is to.
type upPage struct {
	serve    bool
	listen   string
	listener net.Listener
}

func (p *upPage) add(flags *pflag.FlagSet) {
	flags.BoolVar(&p.serve, "ui", false, "serve the page of carillon ui, too, and print its address")
	flags.StringVar(&p.listen, "ui-listen", "", "with --ui, which it implies, the address of the page, on loopback; port 0 takes a free one (default "+ui.DefaultListen+", or the next free port)")
}

// open opens the listener before anything is started, so that an address that cannot be had is told at once. Who comes
// before there is something to see waits.
func (p *upPage) open() (err error) {
	if !p.serve && p.listen == "" {
		return nil
	}
	address, asked := p.listen, true
	if address == "" {
		address, asked = ui.DefaultListen, false
	}
	p.listener, err = ui.Listen(address, "--ui-listen", asked, false)
	return err
}

// close closes the listener of a page that was not started.
func (p *upPage) close() {
	if p.listener != nil {
		_ = p.listener.Close() // who waited is told by that
	}
}

// start serves the page of the Carillon on a data directory until ctx ends; stopped waits for that. What goes wrong
// from here on is a warning: nothing that runs depends on the page.
func (p *upPage) start(ctx context.Context, dataDir string, out *console.Console) (stopped func()) {
	if p.listener == nil {
		return func() {}
	}
	warn := func(text string, err error) {
		if ctx.Err() == nil {
			out.Print(console.Line{Type: console.Warning, Message: fmt.Sprintf("%s: %v", text, err)})
		}
	}
	log := slog.New(logr.ToSlogHandler(klog.Background().WithName("page")))
	opener := &ui.Opener{Target: lookup.Target{Cluster: cluster.Flags{DataDir: dataDir}}, Clock: time.Now, Log: log}
	if err := opener.Open(ctx); err != nil {
		warn("the page is not served", err)
		p.close()
		return func() {}
	}
	server := ui.NewServer(ui.ServerOptions{Listener: p.listener, Opener: opener, Log: log})
	withdraw, err := ui.Announce(dataDir, server.URL())
	if err != nil {
		withdraw = func() {}
		warn("carillon ui will not find this page", err)
	}
	out.Print(console.Line{Type: console.Page, Message: server.URL()})
	go opener.Run(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer withdraw()
		if err := server.Serve(ctx); err != nil {
			warn("the page is not served any more", err)
		}
	}()
	return func() { <-ended }
}
