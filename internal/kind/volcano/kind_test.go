// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package volcano_test

import (
	"testing"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/kindtest"
	"github.com/carillon-dev/carillon/internal/kind/volcano"
)

func TestKind(t *testing.T) {
	children := map[string]kindtest.Meaning{
		"no status yet": {Status: `{}`},
		"Completed is a success": {Phase: cron.Complete, Succeeded: true, Finished: "2026-05-04T12:12:30Z",
			Status: `{"state": {"phase": "Completed", "lastTransitionTime": "2026-05-04T12:12:30Z"}, "minAvailable": 1}`},
		"Failed is a failure": {Phase: cron.Failed, Finished: "2026-05-04T12:12:30Z",
			Status: `{"state": {"phase": "Failed", "lastTransitionTime": "2026-05-04T12:12:30Z"}}`},
		"Q3: Terminated counts as a failure": {Phase: cron.Failed, Finished: "2026-05-04T12:12:30Z",
			Status: `{"state": {"phase": "Terminated", "lastTransitionTime": "2026-05-04T12:12:30Z"}}`},
		"Q8: Aborted may be resumed": {Suspended: true,
			Status: `{"state": {"phase": "Aborted", "lastTransitionTime": "2026-05-04T12:12:30Z"}}`},
	}
	for _, phase := range []string{"Pending", "Running", "Restarting", "Completing", "Aborting", "Terminating", "Unheard-of"} {
		children[phase+" is unfinished"] = kindtest.Meaning{
			Status: `{"state": {"phase": "` + phase + `", "lastTransitionTime": "2026-05-04T12:12:30Z"}}`}
	}
	kindtest.Run(t, kindtest.Suite{
		Kind:  volcano.Kind{},
		Stamp: "volcano.sh/cronjob-scheduled-timestamp",
		Template: `{"minAvailable": 1, "queue": "default", "unknownField": {"kept": [1, 2.5, "x"]},
			"tasks": [{"name": "main", "replicas": 1, "template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}]}`,
		Children: children,
		Cannot:   kindtest.Cannot{Conditions: true, RideAlong: true},
	})
}
