// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/carillon-dev/carillon/internal/client/exitcode"
)

// execute runs a command on 20 March 2027 as a user does, and gives what it writes and its exit code.
func execute(t *testing.T, newAt func(Streams, func() time.Time) *cobra.Command, args ...string) (out string, code int, err error) {
	t.Helper()
	var written, told strings.Builder
	cmd := newAt(Streams{In: strings.NewReader(""), Out: &written, Err: &told}, func() time.Time {
		return time.Date(2027, 3, 20, 12, 0, 0, 700, time.UTC)
	})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	if err = cmd.ExecuteContext(t.Context()); err != nil {
		code = exitcode.Failed
		if coded, ok := errors.AsType[*exitcode.Error](err); ok {
			code = coded.Code
		}
	}
	return written.String(), code, err
}
