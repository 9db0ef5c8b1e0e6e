// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable_test

import "testing"

// Retry, timeout, outcome.
func TestAttemptScenarios(t *testing.T) {
	const retry = "{retry: {limit: 2}}"
	first := []step{started, {at: "12:11", given: []given{fails("@12:10")}, want: `
		say RunRetrying
		A 12:10 Schedule attempt 1 retry 12:11:10
		L none
		wake 12:11:10`}}
	second := append(first[:2:2], step{at: "12:11:10", want: "create @12:10-r2\nA 12:10 Schedule attempt 2"})
	play(t, map[string]scenario{
		"TT-017 TT-131 three attempts fail": {spec: retry, steps: append(second[:3:3],
			step{at: "12:12", given: []given{fails("@12:10-r2")}, want: "say RunRetrying\nA 12:10 Schedule attempt 2 retry 12:12:20"},
			step{at: "12:12:20", want: "create @12:10-r3"},
			step{at: "12:13", given: []given{fails("@12:10-r3")}, want: `
				say RunFailed
				L 12:10 Failed/RunFailed after 3
				failures 1
				counts 1 started 0 succeeded 1 failed 0 cancelled 0 skipped 0 missed`})},
		"a run begins with its first attempt": {spec: retry, steps: append(second[:3:3],
			step{at: "12:12", given: []given{fails("@12:10-r2")}, want: "say RunRetrying"},
			step{at: "12:13", given: []given{}, want: "create @12:10-r3\nlastStartTime 12:12:20"},
			step{at: "12:14", given: []given{succeeds("@12:10-r3")}, want: "say RunSucceeded\nL 12:10 Succeeded after 3\nlastStartTime 12:12:20"},
			step{at: "12:15", given: []given{beganAt("12:10")}, want: ""})},
		"a run whose last attempt nobody recorded begins with its first, too": {spec: retry, steps: append(first[:2:2],
			step{at: "12:11:10", given: []given{diesAfter(1)}, want: "create @12:10-r2"},
			step{at: "12:11:20", given: []given{succeeds("@12:10-r2")}, want: "say RunSucceeded\nlastStartTime 12:11:10"},
			step{at: "12:12", given: []given{beganAt("12:10")}, want: ""})},
		"TT-132 the second succeeds": {spec: retry, steps: append(second[:3:3], step{at: "12:12", given: []given{succeeds("@12:10-r2")}, want: `
			say RunSucceeded
			L 12:10 Succeeded after 2
			Healthy True/RunSucceeded`})},
		"TT-100 a pause after failures counts runs": {spec: "{retry: {limit: 2}, pauseAfterFailures: 1}", steps: append(second[:3:3],
			step{at: "12:12", given: []given{fails("@12:10-r2")}, want: "say RunRetrying"},
			step{at: "12:12:30", given: []given{}, want: "create @12:10-r3"},
			step{at: "12:13", given: []given{succeeds("@12:10-r3")}, want: "say RunSucceeded\nPaused False/Active\nfailures 0"})},
		"TT-133 a crash after the create of the second": {spec: retry, steps: append(first[:2:2],
			step{at: "12:11:10", given: []given{diesAfter(1)}, want: "create @12:10-r2"},
			step{at: "12:11:20", want: "A 12:10 Schedule attempt 2"})},
		"TT-134 the child of the first is gone": {spec: retry, steps: append(first[:2:2], step{at: "12:11:10", given: []given{gone("@12:10"), restarted}, want: `
			create @12:10-r2
			A 12:10 Schedule attempt 2`})},
		"TT-135 deleted meanwhile": {spec: retry, steps: append(first[:2:2], step{at: "12:11:10", given: []given{deletedTimetable}, want: ""},
			step{at: "12:30", want: ""})},
		"TT-133 the second is not recorded, and retries are not asked for any more": {spec: retry, steps: append(first[:1:1],
			step{at: "12:11", given: []given{fails("@12:10"), writesFail(internal)}, want: "A 12:10 Schedule"},
			step{at: "12:11:10", want: "create @12:10-r2"},
			step{at: "12:11:20", given: []given{writesFail(nil), edited("{retry: null}")}, want: "A 12:10 Schedule attempt 2\nL none"})},
		"TT-133 the second is not recorded, and the first is deleted": {spec: retry, steps: append(first[:1:1],
			step{at: "12:11", given: []given{fails("@12:10"), writesFail(internal)}, want: "A 12:10 Schedule"},
			step{at: "12:11:10", want: "create @12:10-r2"},
			step{at: "12:11:20", given: []given{writesFail(nil), gone("@12:10"), restarted}, want: "A 12:10 Schedule attempt 2\nL none"})},
		"TT-133 the second is not recorded, is stopped for a time that an edit takes out, and is gone": {
			spec: "{retry: {limit: 2}, concurrency: {policy: Replace}}", steps: append(first[:1:1],
				step{at: "12:11", given: []given{fails("@12:10"), writesFail(internal)}, want: "A 12:10 Schedule"},
				step{at: "12:11:10", want: "create @12:10-r2"},
				step{at: "12:20", want: "stop @12:10-r2"},
				step{at: "12:20:10", given: []given{edited(`{schedules: [{name: main, cron: "7 * * * *"}]}`)}, want: ""},
				step{at: "12:21", given: []given{gone("@12:10-r2")}, want: ""},
				step{at: "12:30", want: ""},
				step{at: "12:31", given: []given{writesFail(nil)}, want: "say RunCancelled\nsay TimesSkipped\nA none\nL 12:20 Skipped/Edited\nL 12:10 Cancelled/Replaced after 2"})},
		"TT-133 TT-140 the second is not recorded, is stopped for its timeout, and is gone": {
			spec: "{timeout: 5m, retry: {limit: 2}, " + pipelines + "}", steps: []step{started,
				{at: "12:11", given: []given{state("@12:10", "broken"), writesFail(internal)}, want: "A 12:10 Schedule"},
				{at: "12:11:10", want: "create @12:10-r2"},
				{at: "12:16:10", want: "stop @12:10-r2"},
				{at: "12:16:15", want: ""},
				{at: "12:16:20", given: []given{gone("@12:10-r2")}, want: ""},
				{at: "12:16:40", want: "create @12:10-r3"},
				{at: "12:16:50", given: []given{writesFail(nil)}, want: "A 12:10 Schedule attempt 3\nL none"}}},
		"TT-133 TT-136 the second is not recorded, and deleted by hand": {spec: retry, steps: append(first[:1:1],
			step{at: "12:11", given: []given{fails("@12:10"), writesFail(internal)}, want: "A 12:10 Schedule"},
			step{at: "12:11:10", want: "create @12:10-r2"},
			step{at: "12:12", given: []given{gone("@12:10-r2")}, want: ""},
			step{at: "12:13", given: []given{writesFail(nil)}, want: "say RunCancelled\nA none\nL 12:10 Cancelled/Deleted after 2"})},
		"TT-133 the second is not recorded, and neither shown nor readable for a while": {spec: retry, steps: append(first[:1:1],
			step{at: "12:11", given: []given{fails("@12:10"), writesFail(internal)}, want: "A 12:10 Schedule"},
			step{at: "12:11:05", given: []given{lags}, want: ""},
			step{at: "12:11:10", want: "create @12:10-r2"},
			step{at: "12:11:20", given: []given{readsFail(internal)}, want: ""},
			step{at: "12:11:30", given: []given{readsFail(nil)}, want: ""},
			step{at: "12:11:40", given: []given{writesFail(nil)}, want: "A 12:10 Schedule attempt 2\nL none"})},
		"TT-136 deleted by hand": {spec: retry, steps: []step{started, {at: "12:11", given: []given{gone("@12:10")}, want: `
			say RunCancelled
			L 12:10 Cancelled/Deleted`}}},
		"TT-265 deleted by hand, and failing by that before it is gone": {spec: retry, steps: []step{started,
			{at: "12:11", given: []given{goes("@12:10")}, want: "A 12:10 Schedule stopping Deleted"},
			{at: "12:11:01", given: []given{fails("@12:10")}, want: "say RunCancelled\nA none\nL 12:10 Cancelled/Deleted\nfailures 0"},
			{at: "12:11:02", given: []given{gone("@12:10")}, want: ""}, {at: "12:12", want: ""}}},
		"TT-265 the same, seen at once": {spec: retry, steps: []step{started,
			{at: "12:11", given: []given{goesSince("@12:10", "12:10:59"), fails("@12:10")}, want: "say RunCancelled\nA none\nL 12:10 Cancelled/Deleted\nfailures 0"}}},
		"TT-265 the same, after a crash": {spec: retry, steps: []step{started,
			{at: "12:11", given: []given{goes("@12:10")}, want: "A 12:10 Schedule stopping Deleted"},
			{at: "12:11:30", given: []given{restarted, fails("@12:10")}, want: "say RunCancelled\nA none\nL 12:10 Cancelled/Deleted"}}},
		"TT-265 the second attempt, which could not be recorded": {spec: retry, steps: append(first[:1:1],
			step{at: "12:11", given: []given{fails("@12:10"), writesFail(internal)}, want: "A 12:10 Schedule"},
			step{at: "12:11:10", want: "create @12:10-r2"},
			step{at: "12:12", given: []given{goes("@12:10-r2")}, want: ""},
			step{at: "12:12:01", given: []given{fails("@12:10-r2")}, want: ""},
			step{at: "12:13", given: []given{writesFail(nil)}, want: "say RunCancelled\nA none\nL 12:10 Cancelled/Deleted after 2"})},
		"TT-265 deleted by hand, and succeeding all the same": {spec: retry, steps: []step{started,
			{at: "12:11", given: []given{goes("@12:10")}, want: "A 12:10 Schedule stopping Deleted"},
			{at: "12:11:01", given: []given{succeeds("@12:10")}, want: "say RunSucceeded\nA none\nL 12:10 Succeeded"}}},
		"TT-265 deleted after it had failed": {spec: retry, steps: []step{started,
			{at: "12:11", given: []given{fails("@12:10"), goes("@12:10")}, want: "say RunRetrying\nA 12:10 Schedule attempt 1 retry 12:11:10"}}},
		"TT-265 a Pod that is evicted": {spec: "{retry: {limit: 2}, " + pods + "}", steps: []step{started,
			{at: "12:11", given: []given{evicted("@12:10"), goes("@12:10")}, want: "A 12:10 Schedule"},
			{at: "12:11:05", given: []given{evicted("@12:10"), phase("@12:10", "Failed")}, want: "say RunRetrying\nA 12:10 Schedule attempt 1 retry 12:11:15"}}},
		"TT-265 a Pod that is deleted": {spec: "{retry: {limit: 2}, " + pods + "}", steps: []step{started,
			{at: "12:11", given: []given{goes("@12:10")}, want: "A 12:10 Schedule stopping Deleted"},
			{at: "12:11:05", given: []given{phase("@12:10", "Failed")}, want: "say RunCancelled\nA none\nL 12:10 Cancelled/Deleted"}}},
		"TT-140 TT-265 its timeout, which could not be recorded": {spec: "{timeout: 5m, retry: {limit: 2}, " + pipelines + "}", steps: []step{started,
			{at: "12:15", given: []given{writesFail(internal)}, want: "stop @12:10"},
			{at: "12:15:10", given: []given{writesFail(nil)}, want: ""},
			{at: "12:15:20", given: []given{state("@12:10", "broken")}, want: "say RunRetrying"}}},
		"TT-137 a quota": {spec: retry, steps: append(first[:2:2],
			step{at: "12:11:10", given: []given{createsFail(quota)}, want: "refused @12:10-r2\nsay CreateFailed\nA 12:10 Schedule attempt 1 retry 12:11:10"},
			step{at: "12:11:20", given: []given{createsFail(nil)}, want: "create @12:10-r2\nA 12:10 Schedule attempt 2"})},
		"TT-066 replace between attempts": {spec: "{retry: {limit: 2, delay: 10m}, concurrency: {policy: Replace}}", steps: []step{started,
			{at: "12:15", given: []given{fails("@12:10")}, want: "say RunRetrying"},
			{at: "12:20", want: `
				create @12:20
				say RunCancelled
				say RunStarted
				L 12:10 Cancelled/Replaced`},
			{at: "12:26", want: "A 12:20 Schedule"}}},
		"TT-073 a retry holds its place": {spec: "{retry: {limit: 2, delay: 10m}}", steps: []step{started,
			{at: "12:15", given: []given{fails("@12:10")}, want: "say RunRetrying"},
			{at: "12:20", want: "W 12:20 Overlap"},
			{at: "12:25", want: "create @12:10-r2"}}},
		"TT-090 a retry while suspended": {spec: retry, steps: append(first[:2:2],
			step{at: "12:11:05", given: []given{edited("{suspend: true}")}, want: "A 12:10 Schedule attempt 1 retry 12:11:10\nPaused True/Suspended"},
			step{at: "12:11:11", want: "create @12:10-r2"})},
		"TT-250 nothing is pruned before the result": {spec: "{retry: {limit: 2}, history: {failed: {limit: 0}}}", steps: append(second[:3:3],
			step{at: "12:15", given: []given{fails("@12:10-r2")}, want: "say RunRetrying"},
			step{at: "12:15:30", want: "create @12:10-r3"},
			step{at: "12:18", given: []given{fails("@12:10-r3")}, want: `
				prune @12:10
				prune @12:10-r2
				prune @12:10-r3
				say RunFailed
				L 12:10 Failed/RunFailed after 3`})},
		"TT-254 due while the template cannot be read": {spec: retry, steps: append(first[:2:2],
			step{at: "12:11:05", given: []given{edited(`{template: {metadata: {labels: {x: "$(carillon.nope)"}}}}`)}, want: "say InvalidSpec\nReady False/InvalidTemplate"},
			step{at: "12:11:30", want: "A 12:10 Schedule attempt 1 retry 12:11:10"},
			step{at: "12:12", given: []given{edited(`{template: {metadata: {labels: {x: z}}}}`)}, want: "create @12:10-r2\nA 12:10 Schedule attempt 2"})},
		"TT-131 of a kind that does not tell when it ended, while no status can be written": {spec: "{retry: {limit: 2}, " + pipelines + "}", steps: []step{started,
			{at: "12:11", given: []given{state("@12:10", "broken"), writesFail(internal)}, want: "A 12:10 Schedule"},
			{at: "12:11:07", want: "A 12:10 Schedule"},
			{at: "12:11:10", want: "create @12:10-r2\nA 12:10 Schedule"},
			{at: "12:11:20", given: []given{writesFail(nil)}, want: "A 12:10 Schedule attempt 2"}}},
		"TT-254 the same, and the schedule neither": {spec: retry, steps: append(first[:2:2],
			step{at: "12:11:05", given: []given{edited(`{schedules: [{name: main, cron: "61 * * * *"}], template: {metadata: {labels: {x: "$(carillon.nope)"}}}}`)},
				want: "say InvalidSpec\nReady False/InvalidSchedule"},
			step{at: "12:11:30", want: "A 12:10 Schedule attempt 1 retry 12:11:10"},
			step{at: "12:12", given: []given{edited(`{template: {metadata: {labels: {x: z}}}}`)}, want: "create @12:10-r2\nsay InvalidSpec\nA 12:10 Schedule attempt 2"})},
		"TT-138 a timeout": {spec: "{timeout: 5m}", steps: []step{started, {at: "12:10:01", given: []given{deadlineIs("@12:10", 300)}, want: ""}}},
		"TT-139 a timeout beside a shorter one": {spec: "{timeout: 5m, template: {spec: {activeDeadlineSeconds: 60}}}", steps: []step{started,
			{at: "12:10:01", given: []given{deadlineIs("@12:10", 60)}, want: ""}}},
		"TT-139 a timeout beside a longer one": {spec: "{timeout: 5m, template: {spec: {activeDeadlineSeconds: 900}}}", steps: []step{started,
			{at: "12:10:01", given: []given{deadlineIs("@12:10", 300)}, want: ""}}},
		"TT-140 of another kind": {spec: "{timeout: 5m, " + pipelines + "}", steps: []step{started,
			{at: "12:15", want: "stop @12:10\nA 12:10 Schedule stopping Timeout"},
			{at: "12:15:20", given: []given{gone("@12:10")}, want: "say RunFailed\nL 12:10 Failed/Timeout"}}},
		"TT-140 with a retry": {spec: "{timeout: 5m, retry: {limit: 1}, " + pipelines + "}", steps: []step{started,
			{at: "12:15", want: "stop @12:10\nA 12:10 Schedule stopping Timeout"},
			{at: "12:15:20", given: []given{gone("@12:10")}, want: "say RunRetrying"},
			{at: "12:15:30", want: "create @12:10-r2"}}},
		"TT-141 it cannot be stopped": {spec: "{timeout: 5m, " + pipelines + "}", steps: []step{started,
			{at: "12:15", given: []given{deletesFail(internal)}, want: "stop @12:10\nsay CleanupFailed\nA 12:10 Schedule stopping Timeout"},
			{at: "12:15:30", given: []given{deletesFail(nil)}, want: "stop @12:10\nA 12:10 Schedule stopping Timeout"},
			{at: "12:15:40", given: []given{gone("@12:10")}, want: "say RunFailed\nL 12:10 Failed/Timeout"}}},
		"TT-140 of a Job, and the template is of another kind by now": {spec: "{timeout: 5m}", steps: []step{started,
			{at: "12:12", given: []given{edited("{template: {apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet}}")}, want: "A 12:10 Schedule"},
			{at: "12:15", want: "A 12:10 Schedule"}}},
		"TT-140 of another kind, and the template is of a Job by now": {spec: "{timeout: 5m, template: {apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet}}", steps: []step{started,
			{at: "12:12", given: []given{edited("{template: {apiVersion: batch/v1, kind: Job}}")}, want: "A 12:10 Schedule"},
			{at: "12:15", want: "stop @12:10\nA 12:10 Schedule stopping Timeout"}}},
		"TT-142 nothing is told yet": {spec: "{" + pipelines + "}", steps: []step{started, {at: "12:11", want: "A 12:10 Schedule\nwrites 0"},
			{at: "12:12", given: []given{state("@12:10", "done")}, want: "say RunSucceeded\nL 12:10 Succeeded"}}},
		"TT-143 an outcome that is no bool": {spec: "{template: {apiVersion: tekton.dev/v1, kind: PipelineRun, spec: {}}, outcome: {succeeded: object.status.state, failed: 'false'}}",
			steps: []step{started, {at: "12:12", given: []given{state("@12:10", "done")}, want: "say OutcomeError\nA 12:10 Schedule"},
				{at: "12:13", want: "A 12:10 Schedule"},
				{at: "12:14", given: []given{edited("{lateAfter: 5m}")}, want: "say OutcomeError\nA 12:10 Schedule"}}},
		"TT-210 an outcome that is too dear": {spec: "{template: {apiVersion: tekton.dev/v1, kind: PipelineRun, spec: {}}, outcome: {succeeded: " +
			"'object.status.list.all(x, object.status.list.all(y, x == y))', failed: 'false'}}",
			steps: []step{started, {at: "12:12", given: []given{manyItems("@12:10")}, want: "say OutcomeError\nA 12:10 Schedule\nReady False/OutcomeTooExpensive\nHealthy False/NotReady"},
				{at: "12:13", given: []given{restarted}, want: "say OutcomeError\nwrites 0"},
				{at: "12:14", given: []given{edited("{outcome: {succeeded: 'size(object.status.list) > 10'}}")}, want: "say RunSucceeded\nL 12:10 Succeeded\nReady True/Accepted"}}},
		"TT-144 an outcome that does not compile": {spec: "{template: {apiVersion: tekton.dev/v1, kind: PipelineRun, spec: {}}, outcome: {succeeded: 'object.', failed: 'false'}}",
			steps: []step{{at: "12:30", want: "Ready False/InvalidOutcome\nA none\nW 12:30 NotReady since 12:10\nsay TimesMissed\nsay RunLate\nsay TimesMissed"}}},
		"TT-145 fire and forget": {spec: "{template: {apiVersion: tekton.dev/v1, kind: PipelineRun, spec: {}}, outcome: {succeeded: 'true', failed: 'false'}}",
			steps: []step{started, {at: "12:10:01", want: "say RunSucceeded\nL 12:10 Succeeded"}}},
		"TT-147 gone while nobody looked": {steps: []step{started, {at: "12:15", given: []given{restarted, gone("@12:10")}, want: "say RunCancelled\nL 12:10 Cancelled/Deleted"}}},
		"TT-244 stopped for its timeout, and a successor": {spec: "{timeout: 5m, retry: {limit: 1}, concurrency: {policy: Replace}, " + pipelines + "}", steps: []step{started,
			{at: "12:15", want: "stop @12:10\nA 12:10 Schedule stopping Timeout"},
			{at: "12:20", want: "A 12:10 Schedule stopping Timeout\nW 12:20 Stopping"},
			{at: "12:21", given: []given{gone("@12:10")}, want: "create @12:20\nsay RunFailed\nsay RunStarted\nL 12:10 Failed/Timeout"}}},
		"TT-245 a deadline of a Job": {steps: []step{started, {at: "12:15", given: []given{deadlineExceeded("@12:10")}, want: "say RunFailed\nL 12:10 Failed/Timeout"}}},
	})
}
