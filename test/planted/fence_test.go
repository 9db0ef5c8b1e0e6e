// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planted_test

import "testing"

// The tables of internal/kube/fence find each of these.
func TestFence(t *testing.T) {
	t.Parallel()
	simulate(t, simulation{dir: "internal/kube/fence", test: "Test.*", fixed: true, histories: "1000"}, map[string]bug{
		"lease not asked for": {
			file: "fence.go", old: "\tif !f.elected {\n\t\treturn nil", new: "\tif true {\n\t\treturn nil",
			breaks: "a leader goes on when another one may lead",
		},
		"age of the decision not asked for": {
			file: "fence.go", old: "\tcase !d.final && age > MaxDecisionAge:", new: "\tcase false:",
			breaks: "a process that stood still carries out what it had decided before",
		},
		"undecided requests pass": {
			file: "fence.go", old: "\tcase !d.made:", new: "\tcase false:",
			breaks: "a caller can forget to say when it decided",
		},
		"renewal dated by its answer": {
			file: "lock.go", old: "\t\tl.fence.renew(begun)", new: "\t\tl.fence.renew(max(begun, l.fence.now()))",
			breaks: "others count from an earlier time than the leader",
		},
		"failed renewal counts": {
			file: "lock.go", old: "\tif err == nil && record.HolderIdentity == l.Identity() {", new: "\tif record.HolderIdentity == l.Identity() {",
			breaks: "a leader whose renewals fail goes on",
		},
		"another holder overlooked": {
			file: "lock.go", old: "\tif err == nil && record.HolderIdentity != l.Identity() {", new: "\tif false {",
			breaks: "a leader that reads of its successor goes on",
		},
		"lease given up at once": {
			file: "lock.go", old: "\t\tif err := l.fence.settle(ctx); err != nil {", new: "\t\tif err := ctx.Err(); err != nil {",
			breaks: "a request that was not answered comes when another one leads",
		},
		"unanswered request forgotten": {
			file: "fence.go", old: "\t\tif !answered {", new: "\t\tif false {",
			breaks: "a request that was not answered comes when another one leads",
		},
		"asked once": {
			file: "transport.go", old: "\tif r.Body == nil || r.Body == http.NoBody {", new: "\tif true {",
			breaks: "a process that stands still while it connects sends what it had decided before",
		},
		"retry not asked about": {
			file: "transport.go", old: "\t\t\treturn &body{ReadCloser: b, before: c.check}, nil", new: "\t\t\treturn b, nil",
			breaks: "a request is sent once more when another one leads",
		},
		"no timeout": {
			file: "transport.go", old: "limit := t.fence.timeout(); limit > 0 {", new: "limit := t.fence.timeout(); limit < 0 {",
			breaks: "a request that hangs is carried out when another one leads",
		},
		"refusal taken for no answer": {
			file: "refusal.go", old: "Code: http.StatusPreconditionFailed,", new: "Code: http.StatusServiceUnavailable,",
			breaks: "what was not sent is looked for on the server",
		},
		"clock stops in sleep": {
			file: "boottime.go", old: "max(mono-l.lastMono, wall.Sub(l.lastWall), 0)", new: "max(mono-l.lastMono, 0)",
			breaks: "a laptop that wakes up takes its lease for renewed",
		},
	})
}

// Processes and managers on a real API server find each of these.
func TestTakeover(t *testing.T) {
	t.Parallel()
	simulate(t, simulation{
		dir: "test/integration", test: "(TestFrozenWhileStarting|TestTakeoverWithOldCaches)", fixed: true, noHistories: true, bugs: "internal",
		variables: []string{"CARILLON_FROZEN_ROUNDS=1"},
	}, map[string]bug{
		"no rule": {
			file: "kube/fence/transport.go", old: "\tif !startsOrEndsWork(r) {", new: "\tif true || !startsOrEndsWork(r) {",
			breaks: "a frozen leader makes Jobs that its successor has made and pruned",
		},
		"takeover without a look": {
			file: "controller/scheduled/takeover.go", old: "\tif t == nil {\n\t\treturn true\n\t}", new: "\tif true {\n\t\treturn true\n\t}",
			breaks: "a leader starts what the one before it has started, and pruned",
		},
	})
}
