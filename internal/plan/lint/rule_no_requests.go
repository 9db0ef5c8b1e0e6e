// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

var noRequests = &Rule{
	ID: "no-requests", Level: Warning, Kinds: "CronJob, Timetable, Job",
	Summary: "a container asks for no memory or CPU",
	Reason:  "The scheduler puts the Pod on a node that may be full already, and when memory is short it is the first to go: the run fails for what others do.",
	Cure:    "Write resources.requests with the memory and CPU that a run needs.",
	check: eachContainer(func(_ *Subject, c container) []problem {
		var missing []string
		for _, resource := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			_, requested := c.Resources.Requests[resource]
			_, limited := c.Resources.Limits[resource] // a request, too, if none is written
			if !requested && !limited {
				missing = append(missing, string(resource))
			}
		}
		if len(missing) == 0 {
			return nil
		}
		return one(c.path.and("resources", "requests"), "container %s requests no %s", c.Name, strings.Join(missing, " and no "))
	}),
}
