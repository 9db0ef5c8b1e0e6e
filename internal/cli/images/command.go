// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package images

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/image"
)

func parseMirror(text string) (registry, endpoint string, err error) { return image.ParseMirror(text) }

// store is what the commands need of a store of images.
type store interface {
	Pull(ctx context.Context, name image.Name, auth image.Keychain, progress func(image.Progress)) (image.Image, error)
	Find(ref string) (image.Image, bool, error)
	List() ([]image.Image, error)
	Remove(ref string) error
	Import(ctx context.Context, r io.Reader, progress func(image.Progress)) ([]image.Image, error)
	ImportPath(ctx context.Context, path string, progress func(image.Progress)) ([]image.Image, error)
	Prune(ctx context.Context, unusedFor time.Duration, now time.Time) ([]image.Image, error)
	Usage() (bytes, inodes uint64, err error)
	Close() error
}

// commands are what all commands share.
type commands struct {
	Streams
	Flags
	format console.Format
	quiet  bool
	open   func(context.Context, image.Options) (store, error)
	now    func() time.Time
}

// New returns the command image with all its commands.
func New(streams Streams) *cobra.Command {
	return newCommand(&commands{
		Streams: streams,
		open: func(ctx context.Context, o image.Options) (store, error) {
			return image.Open(ctx, o)
		},
		now: time.Now,
	})
}

func newCommand(c *commands) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "image",
		Short: "Pull, list, import and remove the images that Pods run from",
		Long: `Carillon keeps images in a store of the user's own, which all that this user runs has in common: every
` + "`carillon up`" + `, every ` + "`carillon run`" + `. Nothing has to be pulled beforehand: what a manifest names is pulled
when it is needed. These commands are for machines without a network, for scripts, and to gain space.

No daemon is behind them. They may be used at any time, also while Pods run: an image that a container
uses is not removed.`,
		Example: `  carillon image pull busybox python:3.12
  carillon image list
  docker save report:dev | carillon image import -
  carillon image prune --unused-for 336h`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddDir(cmd.PersistentFlags())
	cmd.AddCommand(newPull(c), newList(c), newImport(c), newRemove(c), newPrune(c))
	return cmd
}

// outputFlags adds -o and -q.
func (c *commands) outputFlags(flags *pflag.FlagSet, quiet string) {
	c.format = console.Text
	flags.VarP(console.FormatFlag{Format: &c.format}, "output", "o", "how an image looks: text, or json (one object a line)")
	flags.BoolVarP(&c.quiet, "quiet", "q", false, quiet)
}

// with opens the store for the time of do.
func (c *commands) with(ctx context.Context, do func(store) error) error {
	s, err := c.open(ctx, image.Options{Dir: c.Dir, CacheBytes: c.CacheSize.Bytes(), Mirrors: c.Mirrors, Log: c.note})
	if err != nil {
		return err
	}
	return errors.Join(do(s), s.Close())
}

// note passes on what the store did beside what it was asked for.
func (c *commands) note(message string) {
	if !c.quiet {
		fmt.Fprintln(c.Err, "carillon: "+console.EscapeControls(message))
	}
}

// each does one thing after the other, also when one fails, unless the user stops it.
func each(ctx context.Context, refs []string, do func(ref string) error) error {
	var failed []error
	for _, ref := range refs {
		if err := do(ref); err != nil {
			failed = append(failed, err)
		}
		if err := ctx.Err(); err != nil {
			return errors.Join(append(failed, err)...)
		}
	}
	return errors.Join(failed...)
}
