// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
	"log/slog"

	"github.com/carillon-dev/carillon/internal/client/evidence"
	"github.com/carillon-dev/carillon/internal/client/lookup"
	"github.com/carillon-dev/carillon/internal/ui"
	"github.com/carillon-dev/carillon/internal/ui/cache"
	"github.com/carillon-dev/carillon/internal/ui/page"
)

type uiOptions struct {
	streams  Streams
	target   lookup.Target
	listen   string
	readOnly bool
}

func newUI(streams Streams) *cobra.Command {
	o := &uiOptions{streams: streams}
	cmd := &cobra.Command{
		Use:   "ui",
		Short: "Serve a page that shows what runs, what failed, why, and what comes next",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	o.target.AddFlags(cmd, false)
	cmd.Flags().StringVar(&o.listen, "listen", "127.0.0.1:7311", "address of the page; port 0 takes a free one")
	cmd.Flags().BoolVar(&o.readOnly, "read-only", false, "show everything and change nothing")
	return cmd
}

func (o *uiOptions) run(ctx context.Context) error {
	o.target.AllNamespaces = o.target.Cluster.Namespace == ""
	source, server, err := o.target.Open(ctx)
	if err != nil {
		return err
	}
	defer source.Close()
	c := cache.New(cache.Options{Server: server, Source: source, Namespace: o.target.Cluster.Namespace, Clock: time.Now})
	go c.Run(ctx)
	site := &page.Site{Name: "this machine", Kubectl: evidence.Kubectl(o.target.Cluster), Server: server, Source: source, Cache: c, ReadOnly: o.readOnly, Clock: time.Now,
		Log: slog.New(slog.NewTextHandler(klog.NewStandardLogger("INFO").Writer(), nil))}
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return err
	}
	s := &http.Server{Handler: ui.Handler(ctx, site), ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = s.Close() })
	fmt.Fprintf(o.streams.Out, "http://%s/\n", listener.Addr())
	if err := s.Serve(listener); err != http.ErrServerClosed {
		return err
	}
	return nil
}
