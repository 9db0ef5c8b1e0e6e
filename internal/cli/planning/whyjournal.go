// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"context"
	"errors"
	"time"

	"github.com/carillon-dev/carillon/internal/cli/evidence"
	"github.com/carillon-dev/carillon/internal/cli/reference"
	"github.com/carillon-dev/carillon/internal/plan/diagnosis"
)

// remember adds what the journal of the Carillon of this machine has, if that is asked.
func (w *why) remember(ctx context.Context, found *diagnosis.Evidence, question diagnosis.Question) {
	if len(w.input.files) > 0 || found.Scheduled == nil {
		return
	}
	reader, err := evidence.OpenJournal(w.input.cluster)
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
	evidence.Remember(ctx, reader, found, at)
}

// orGone answers from the journal for an object that is not there any more.
func (w *why) orGone(ctx context.Context, found *diagnosis.Evidence, err error, ref reference.Reference, namespace string, now time.Time) (*diagnosis.Evidence, error) {
	var notThere *evidence.NotThere
	if !errors.As(err, &notThere) {
		return found, err
	}
	reader, unread := evidence.OpenJournal(w.input.cluster)
	if reader == nil || unread != nil {
		return nil, err
	}
	defer func() { _ = reader.Close() }() // it was only read
	gone, err := evidence.Gone(ctx, reader, ref, namespace, notThere)
	if err != nil {
		return nil, err
	}
	gone.Now, gone.Standalone, gone.Kubectl = now, true, evidence.Kubectl(w.input.cluster)
	return gone, nil
}
