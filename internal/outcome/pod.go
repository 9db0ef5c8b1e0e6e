// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package outcome

import (
	"fmt"
	"time"
)

func podOutcome(object map[string]any) Outcome {
	switch text(object, "status", "phase") {
	case "Succeeded":
		return Outcome{Phase: Succeeded, Ended: podEnded(object)}
	case "Failed":
		return Outcome{Phase: Failed, Ended: podEnded(object), Message: podMessage(object)}
	}
	return Outcome{}
}

// podEnded is when the last container ended, if all say so; else when the Pod ceased to be ready.
func podEnded(object map[string]any) time.Time {
	var latest time.Time
	for _, statuses := range []string{"containerStatuses", "initContainerStatuses"} {
		for _, status := range list(object, "status", statuses) {
			ended := instant(status, "state", "terminated", "finishedAt")
			if ended.IsZero() && statuses == "containerStatuses" {
				return notReadySince(object)
			}
			if ended.After(latest) {
				latest = ended
			}
		}
	}
	if latest.IsZero() {
		return notReadySince(object)
	}
	return latest
}

func notReadySince(object map[string]any) time.Time {
	for _, c := range conditionsOf(object) {
		if c.kind == "Ready" && c.status == "False" {
			return c.since
		}
	}
	return time.Time{}
}

// podMessage is what the Pod says about its failure, such as an eviction, or the exit code of the first container that
// has another than 0.
func podMessage(object map[string]any) string {
	if message := text(object, "status", "message"); message != "" {
		return message
	}
	for _, statuses := range []string{"initContainerStatuses", "containerStatuses"} {
		for _, status := range list(object, "status", statuses) {
			code, _ := member(status, "state", "terminated", "exitCode").(int64)
			if code != 0 {
				return fmt.Sprintf("container %s ended with exit code %d", text(status, "name"), code)
			}
		}
	}
	return text(object, "status", "reason")
}
