// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package outcome

// volcanoOutcome goes by the phase. Aborted is a pause, from which a Volcano Job can be resumed (cronjob.md Q8).
func volcanoOutcome(object map[string]any) Outcome {
	state := member(object, "status", "state")
	switch text(state, "phase") {
	case "Completed":
		return Outcome{Phase: Succeeded, Ended: instant(state, "lastTransitionTime")}
	case "Failed", "Terminated":
		return Outcome{Phase: Failed, Ended: instant(state, "lastTransitionTime"), Message: text(state, "message")}
	}
	return Outcome{}
}
