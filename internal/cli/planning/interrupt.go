// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"context"

	"github.com/carillon-dev/carillon/internal/client/exitcode"
)

// interruptible is the error of a command. One that somebody has interrupted has nothing to say.
func interruptible(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return &exitcode.Error{Code: exitcode.Interrupted}
	}
	return err
}
