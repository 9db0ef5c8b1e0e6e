// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable_test

import (
	"os"
	"testing"

	"github.com/carillon-dev/carillon/internal/testkit/replay"
)

// histories is how many random cases each property sees in an ordinary run.
const histories = 100

func TestMain(m *testing.M) { os.Exit(replay.Run(m, histories)) }
