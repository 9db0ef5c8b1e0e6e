// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"os"
	"testing"

	"github.com/carillon-dev/carillon/internal/testkit/replay"
)

// worlds is how many random worlds each property sees in an ordinary run.
const worlds = 1000

func TestMain(m *testing.M) { os.Exit(replay.Run(m, worlds)) }
