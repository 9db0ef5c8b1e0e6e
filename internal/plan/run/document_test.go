// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/carillon-dev/carillon/internal/plan/run"
)

// Programs get what is known and nothing else, in units that the keys name.
func TestDocument(t *testing.T) {
	noon := at("2026-11-23T12:00:00Z")
	whole := run.Run{
		UID: "u1", APIVersion: "batch/v1", Kind: "Job", Namespace: "ns", Name: "backup-1", Owner: backup, Trigger: run.Schedule, ScheduledTime: noon,
		Created: noon.Add(1500 * time.Millisecond), Started: noon.Add(2 * time.Second), Ended: noon.Add(12 * time.Second), Outcome: run.Failed,
		Reason: "BackoffLimitExceeded", Message: "no more", Completions: 1, PodsFailed: 2, Attempts: 2, ExitCode: new(int32(3)),
		CPU: 1250 * time.Millisecond, MemoryPeak: 4096, OutputBytes: 12,
	}
	for name, test := range map[string]struct {
		document any
		want     string
	}{
		"a whole run": {run.Document(whole, noon), `{"uid":"u1","apiVersion":"batch/v1","kind":"Job","namespace":"ns","name":"backup-1",
			"owner":{"apiVersion":"batch/v1","kind":"CronJob","name":"backup","uid":"cj"},"trigger":"Schedule",
			"scheduledTime":"2026-11-23T12:00:00Z","creationTime":"2026-11-23T12:00:01.5Z","startTime":"2026-11-23T12:00:02Z","endTime":"2026-11-23T12:00:12Z",
			"latenessSeconds":1.5,"durationSeconds":10,"outcome":"Failed","reason":"BackoffLimitExceeded","message":"no more","completions":1,
			"podsSucceeded":0,"podsFailed":2,"podsRunning":0,"attempts":2,"exitCode":3,"cpuSeconds":1.25,"memoryPeakBytes":4096,"outputBytes":12}`},
		"one that is active lasts until now": {run.Document(run.Run{UID: "u", Kind: "Job", Outcome: run.Active, Created: noon, Retry: 3}, noon.Add(time.Minute)),
			`{"uid":"u","apiVersion":"","kind":"Job","namespace":"","name":"","retry":3,"creationTime":"2026-11-23T12:00:00Z","durationSeconds":60,
			"outcome":"Active","podsSucceeded":0,"podsFailed":0,"podsRunning":0,"attempts":0}`},
		"one that tells nothing": {run.Document(run.Run{Outcome: run.Unknown}, noon),
			`{"uid":"","apiVersion":"","kind":"","namespace":"","name":"","outcome":"Unknown","podsSucceeded":0,"podsFailed":0,"podsRunning":0,"attempts":0}`},
		"an attempt": {run.DocumentAttempt(run.Attempt{ContainerID: "c", Pod: "p", Container: "main", Restart: 1, Started: noon, Ended: noon.Add(time.Second),
			ExitCode: 137, Signal: 9, Reason: "OOMKilled", KeptBytes: 5}, noon),
			`{"containerID":"c","pod":"p","container":"main","restart":1,"startTime":"2026-11-23T12:00:00Z","endTime":"2026-11-23T12:00:01Z","durationSeconds":1,
			"exitCode":137,"signal":9,"reason":"OOMKilled","keptBytes":5}`},
		"an attempt that runs": {run.DocumentAttempt(run.Attempt{ContainerID: "c", Pod: "p", Container: "main", Started: noon}, noon.Add(time.Minute)),
			`{"containerID":"c","pod":"p","container":"main","restart":0,"startTime":"2026-11-23T12:00:00Z","durationSeconds":60,"keptBytes":0}`},
		"an omission": {run.DocumentOmission(run.Omission{Namespace: "ns", Owner: backup, ScheduledTime: noon, Reason: "Overlap", Message: "m", Seen: noon}),
			`{"namespace":"ns","owner":{"apiVersion":"batch/v1","kind":"CronJob","name":"backup","uid":"cj"},"scheduledTime":"2026-11-23T12:00:00Z","count":1,
			"missed":false,"reason":"Overlap","message":"m","seenTime":"2026-11-23T12:00:00Z"}`},
	} {
		t.Run(name, func(t *testing.T) {
			data, err := json.Marshal(test.document)
			var got, want any
			if err != nil || json.Unmarshal(data, &got) != nil || json.Unmarshal([]byte(test.want), &want) != nil {
				t.Fatalf("%v: %s", err, data)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("document (-want +got):\n%s", diff)
			}
		})
	}
}
