// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/carillon-dev/carillon/internal/client/cluster"
	"github.com/carillon-dev/carillon/internal/client/evidence"
	"github.com/carillon-dev/carillon/internal/client/exitcode"
	"github.com/carillon-dev/carillon/internal/client/reference"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/diagnosis"
)

// openJournal opens the journal that is asked beside an API server, or in its place; nil if there is none.
func (w *why) openJournal() (*journal.Reader, error) {
	if w.journal != "" {
		return evidence.OpenNamed(w.journal)
	}
	return evidence.OpenJournal(w.input.cluster)
}

// remember adds what the journal has, if one is asked.
func (w *why) remember(ctx context.Context, found *diagnosis.Evidence, question diagnosis.Question) {
	if len(w.input.files) > 0 || found.Scheduled == nil && found.Journal.Only == nil {
		return
	}
	reader, err := w.openJournal()
	if err != nil {
		found.Unread = append(found.Unread, "the journal: "+err.Error())
		return
	}
	if reader == nil {
		return
	}
	defer func() { _ = reader.Close() }() // it was only read
	var at time.Time
	if question.At != nil {
		at = question.At.From
	}
	found.Journal.Flags = w.journalFlags()
	evidence.Remember(ctx, reader, found, at)
}

// journalFlags are those that name the journal to another command.
func (w *why) journalFlags() string {
	if w.journal == "" {
		return ""
	}
	return " --journal " + diagnosis.Quoted(w.journal)
}

// fromServer collects what an API server knows; if there is no such object, or the Carillon of this machine does not
// run, what its journal does.
func (w *why) fromServer(ctx context.Context, ref reference.Reference, now time.Time) (*diagnosis.Evidence, error) {
	if w.journal != "" && !w.input.cluster.Named() {
		return w.alone(ctx, ref, cmp.Or(w.input.cluster.Namespace, "default"), now, diagnosis.Journal{Unasked: "no API server was asked"}, nil)
	}
	local := w.input.cluster.OrLocal()
	server, err := local.Connect()
	if errors.Is(err, cluster.ErrNotRunning) {
		of := diagnosis.Journal{Unasked: err.Error()}
		if w.journal == "" {
			of = stopped(local.DataDir, now)
		}
		return w.alone(ctx, ref, cmp.Or(w.input.cluster.Namespace, "default"), now, of, err)
	}
	if err != nil {
		return nil, err
	}
	found, err := evidence.Ask(ctx, w.input.cluster, server, ref, now)
	if notThere := (*evidence.NotThere)(nil); errors.As(err, &notThere) {
		return w.alone(ctx, ref, server.Namespace, now, diagnosis.Journal{}, notThere)
	}
	return found, err
}

// stopped says that the Carillon on a data directory does not run, and since when.
func stopped(dataDir string, now time.Time) diagnosis.Journal {
	dir, err := cluster.Absolute(dataDir)
	if err != nil {
		return diagnosis.Journal{Stopped: true, Unasked: "the Carillon of this machine does not run"}
	}
	return evidence.Stopped(dir, now)
}

// alone answers from the journal alone, for what could not be had otherwise: because of the error in its place, which
// is given back if there is no journal. Nil is that nobody else was to be asked.
func (w *why) alone(ctx context.Context, ref reference.Reference, namespace string, now time.Time, of diagnosis.Journal, instead error) (*diagnosis.Evidence, error) {
	reader, err := w.openJournal()
	switch {
	case err != nil && w.journal != "":
		return nil, err
	case err != nil && of.Unasked != "":
		// Not wrapped: of an error with an exit code in it only that is shown.
		return nil, fmt.Errorf("%s; nor can what it remembers be read: %w", instead.Error(), err)
	case err != nil || reader == nil:
		return nil, instead
	}
	defer func() { _ = reader.Close() }() // it was only read
	of.Flags = w.journalFlags()
	found, err := evidence.Alone(ctx, reader, ref, namespace, of)
	switch {
	case err != nil:
		return nil, err
	case found != nil:
		found.Now, found.Standalone, found.Kubectl = now, w.journal == "", "carillon kubectl"
		if w.journal == "" {
			found.Kubectl = evidence.Kubectl(w.input.cluster)
		}
		return found, nil
	case of.Unasked == "":
		return nil, instead
	}
	names, err := evidence.Names(ctx, reader, namespace, ref.Kind)
	if err != nil {
		return nil, fmt.Errorf("read the journal: %w", err)
	}
	return nil, exitcode.UsageError("%s; only the journal was asked: %s", reference.NotThere(ref, namespace, names), of.Unasked)
}
