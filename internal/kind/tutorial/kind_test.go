// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package tutorial_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/kind/kindtest"
	"github.com/carillon-dev/carillon/internal/kind/tutorial"
)

func TestKind(t *testing.T) {
	kindtest.Run(t, kindtest.Suite{
		Kind:     tutorial.Kind{},
		Stamp:    tutorial.StampAnnotation,
		Template: kindtest.JobTemplate,
		Children: kindtest.JobChildren,
		Cannot:   kindtest.Cannot{TimeZone: true, LastSuccessful: true, RideAlong: true, UnknownFields: true, ChildBeUnreadable: true},
	})
}

// A template that is no Job is the user's mistake, and is told as such.
func TestBuildTellsABadTemplate(t *testing.T) {
	owner := &tutorial.CronJob{}
	owner.Spec.JobTemplate.Spec = runtime.RawExtension{Raw: []byte(`{"parallelism": "many"}`)}
	if _, err := (tutorial.Kind{}).Build(owner, adapter.Start{Start: cron.Start{Name: "tick-1"}}); err == nil {
		t.Error("built a child from it")
	}
}
