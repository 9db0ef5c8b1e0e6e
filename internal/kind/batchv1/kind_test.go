// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package batchv1_test

import (
	"testing"

	"github.com/carillon-dev/carillon/internal/kind/batchv1"
	"github.com/carillon-dev/carillon/internal/kind/kindtest"
)

func TestKind(t *testing.T) {
	kindtest.Run(t, kindtest.Suite{
		Kind:     batchv1.Kind{},
		Stamp:    "batch.kubernetes.io/cronjob-scheduled-timestamp",
		Template: kindtest.JobTemplate,
		Children: kindtest.JobChildren,
		Cannot:   kindtest.Cannot{Conditions: true, UnknownFields: true, BeUnreadable: true},
	})
}
