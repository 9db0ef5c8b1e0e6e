// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"context"
	"errors"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// JournalPast is a Past that opens a journal when it is first asked: on a full disk there may be none before that. Its
// methods may be called from several goroutines.
type JournalPast struct {
	dir string

	mu     sync.Mutex
	reader *journal.Reader
}

var _ Past = (*JournalPast)(nil)

// NewJournalPast reads the journal in dir.
func NewJournalPast(dir string) *JournalPast { return &JournalPast{dir: dir} }

// open gives the reader; nil without an error means that there is nothing to read.
func (p *JournalPast) open() (*journal.Reader, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reader == nil {
		reader, err := journal.OpenReader(p.dir)
		if errors.Is(err, journal.ErrNone) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		p.reader = reader
	}
	return p.reader, nil
}

// Runs implements Past.
func (p *JournalPast) Runs(ctx context.Context, q journal.Query) ([]run.Run, error) {
	reader, err := p.open()
	if reader == nil {
		return nil, err
	}
	return reader.Runs(ctx, q)
}

// Attempts implements Past.
func (p *JournalPast) Attempts(ctx context.Context, uid types.UID) ([]run.Attempt, error) {
	reader, err := p.open()
	if reader == nil {
		return nil, err
	}
	return reader.Attempts(ctx, uid)
}

// Close ends it.
func (p *JournalPast) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reader == nil {
		return nil
	}
	return p.reader.Close()
}
