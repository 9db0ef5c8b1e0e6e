// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import corev1 "k8s.io/api/core/v1"

var noMemoryLimit = &Rule{
	ID: "no-memory-limit", Level: Info, Kinds: "CronJob, Timetable, Job",
	Summary: "a container may take all memory of its node",
	Reason:  "A run that leaks takes other Pods of the node with it.",
	Cure:    "Write resources.limits.memory.",
	check: eachContainer(func(_ *Subject, c container) []problem {
		if _, limited := c.Resources.Limits[corev1.ResourceMemory]; limited {
			return nil
		}
		return one(c.path.and("resources", "limits"), "container %s has no limit of memory", c.Name)
	}),
}
