// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package kindtest

import "github.com/carillon-dev/carillon/internal/cron"

// JobTemplate is a Job spec of batch/v1, for the kinds whose children are such Jobs.
const JobTemplate = `{"parallelism": 2, "backoffLimit": 4, "unknownField": "lost",
	"template": {"metadata": {"labels": {"p": "q"}},
		"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i", "command": ["true"], "resources": {}}]}}}`

// JobChildren are statuses of Jobs of batch/v1 (cronjob.md 1.6).
var JobChildren = map[string]Meaning{
	"no status yet": {Status: `{}`},
	"CJ-103 Complete that is False": {
		Status: `{"conditions": [{"type": "Complete", "status": "False"}]}`},
	"Complete that is Unknown": {
		Status: `{"conditions": [{"type": "Complete", "status": "Unknown"}]}`},
	"Complete": {Phase: cron.Complete, Succeeded: true, Finished: "2026-05-04T12:12:30Z",
		Status: `{"startTime": "2026-05-04T12:10:02Z", "completionTime": "2026-05-04T12:12:30Z",
			"conditions": [{"type": "SuccessCriteriaMet", "status": "True"}, {"type": "Complete", "status": "True"}]}`},
	"Failed": {Phase: cron.Failed,
		Status: `{"conditions": [{"type": "FailureTarget", "status": "True"}, {"type": "Failed", "status": "True"}]}`},
	"Failed first, but Complete as well": {Phase: cron.Failed, Succeeded: true,
		Status: `{"conditions": [{"type": "Failed", "status": "True"}, {"type": "Complete", "status": "True"}]}`},
	"a failure that is only foreseen": {
		Status: `{"conditions": [{"type": "FailureTarget", "status": "True"}]}`},
	"a success that is only foreseen": {
		Status: `{"conditions": [{"type": "SuccessCriteriaMet", "status": "True"}]}`},
	"Suspended": {
		Status: `{"conditions": [{"type": "Suspended", "status": "True"}]}`},
}
