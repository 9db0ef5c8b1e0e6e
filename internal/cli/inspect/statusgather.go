// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"time"

	"github.com/carillon-dev/carillon/internal/client/cluster"
	"github.com/carillon-dev/carillon/internal/client/exitcode"
	"github.com/carillon-dev/carillon/internal/client/overview"
	"github.com/carillon-dev/carillon/internal/plan/diagnosis"
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

// look finds out what is going on.
func (c *statusCommand) look(ctx context.Context, since time.Duration) (*known, error) {
	o := overview.Options{Journal: c.target.Journal, Within: dueWithin}
	if c.target.Journal == "" {
		if flags := c.target.Cluster.OrLocal(); flags.DataDir != "" {
			dir, err := cluster.Absolute(flags.DataDir)
			if err != nil {
				return nil, err
			}
			o.DataDir = dir
		}
	}
	if (o.DataDir != "" || c.target.Journal != "") && c.target.Cluster.Namespace == "" {
		c.target.AllNamespaces = true
	}
	var err error
	if o.Selector, err = c.target.Labels(); err != nil {
		return nil, err
	}
	if o.Source, o.Server, err = c.open(ctx); err != nil {
		return nil, err
	}
	defer func() { _ = o.Source.Close() }() // it was only read
	if o.Server == nil && !o.Selector.Empty() {
		return nil, exitcode.UsageError("-l: a journal does not know labels, and no API server answers; leave -l out")
	}
	o.Namespace = c.target.NamespaceOf(o.Server)
	o.Now = c.now().UTC()
	o.Since = o.Now.Add(-since)
	found, err := overview.Of(ctx, o)
	if err != nil {
		return nil, err
	}
	if found.Empty {
		if err := c.target.CheckNamespace(ctx, o.Source, o.Server); err != nil {
			return nil, err
		}
	}
	k := &known{status: found.Status, usual: "default", only: o.Namespace, origin: found.Origin, notes: found.Notes}
	k.flags, k.server = c.leadingFlags()
	switch {
	case c.target.Cluster.Namespace != "":
		k.usual = "" // it has to be named again
	case o.Server != nil:
		k.usual = o.Server.Namespace
	}
	return k, nil
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
