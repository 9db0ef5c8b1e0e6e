// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"context"
	"errors"
	"io"

	"github.com/carillon-dev/carillon/internal/journal/crilog"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// Rest passes on what a Source has of what an attempt wrote after a mark. A piece is valid until pass returns. The
// error is that of pass or of the Source; fs.ErrNotExist says that nothing, or no more, is left of the log.
func Rest(ctx context.Context, s Source, a *run.Attempt, from crilog.Mark, pass func(crilog.Piece) error) error {
	log, err := s.Log(ctx, a)
	if err != nil {
		return err
	}
	defer log.Close()
	pieces, resumed := crilog.NewReader(log), crilog.Resumed{From: from}
	for {
		p, err := pieces.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if p, fresh := resumed.Rest(p); fresh {
			if err := pass(p); err != nil {
				return err
			}
		}
	}
}
