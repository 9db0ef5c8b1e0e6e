// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"k8s.io/client-go/kubernetes"

	"github.com/carillon-dev/carillon/internal/client/lookup"
	"github.com/carillon-dev/carillon/internal/journal/crilog"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/ui/page"
)

// follower passes on what an attempt writes after a mark, until it has ended; complete tells that all of it was passed
// on, and if not, to is how far. An error is that of pass, or of ctx.
type follower func(ctx context.Context, a run.Attempt, from crilog.Mark, pass func(crilog.Piece) error) (to crilog.Mark, complete bool, err error)

// followerOf gives that of a site; nil if nobody can be asked.
func followerOf(s *page.Site) follower {
	if s.Server == nil || s.Server.Config == nil {
		return nil
	}
	client, err := lookup.TypedClient(s.Server)
	if err != nil {
		s.Log.Error("output cannot be followed", "error", err)
		return nil
	}
	return followPods(client)
}

func followPods(client kubernetes.Interface) follower {
	return func(ctx context.Context, a run.Attempt, from crilog.Mark, pass func(crilog.Piece) error) (crilog.Mark, bool, error) {
		e := &lookup.Execution{Client: client, Attempt: a, From: from}
		complete, err := e.Read(ctx, pass)
		return e.From, complete, err
	}
}

// rest passes on what is remembered of an attempt after a mark. What is gone is left out.
func (h *handlers) rest(ctx context.Context, a *run.Attempt, from crilog.Mark, pass func(crilog.Piece) error) error {
	err := lookup.Rest(ctx, h.site.Source, a, from, func(p crilog.Piece) error {
		p.Text = bytes.Clone(p.Text)
		return pass(p)
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// place is how far a viewer has seen the output of a run.
type place struct {
	// Container is the ID of the container, "" before the first one.
	Container string
	Mark      crilog.Mark
	// Line is the number of the last line.
	Line int
}

// String writes a place so that parsePlace reads it.
func (p place) String() string {
	if p.Container == "" {
		return ""
	}
	return p.Container + " " + p.Mark.String() + " " + strconv.Itoa(p.Line)
}

func parsePlace(text string) (place, error) {
	if text == "" {
		return place{}, nil
	}
	fields := strings.Split(text, " ")
	if len(fields) != 3 || fields[0] == "" {
		return place{}, fmt.Errorf("%q is no place in an output", text)
	}
	mark, err := crilog.ParseMark(fields[1])
	if err != nil {
		return place{}, err
	}
	line, err := strconv.ParseUint(fields[2], 10, 31)
	if err != nil {
		return place{}, fmt.Errorf("%q is no place in an output", text)
	}
	return place{fields[0], mark, int(line)}, nil //nolint:gosec // it has 31 bits
}
