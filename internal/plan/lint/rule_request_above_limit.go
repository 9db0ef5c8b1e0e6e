// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"maps"
	"slices"
)

var requestAboveLimit = &Rule{
	ID: "request-above-limit", Level: Error, Kinds: "CronJob, Timetable, Job",
	Summary: "a container requests more than its limit",
	Reason:  "The API server refuses it.",
	Cure:    "Raise the limit, or lower the request.",
	check: eachContainer(func(_ *Subject, c container) []problem {
		var found []problem
		for _, resource := range slices.Sorted(maps.Keys(c.Resources.Requests)) {
			request := c.Resources.Requests[resource]
			if limit, limited := c.Resources.Limits[resource]; limited && request.Cmp(limit) > 0 {
				found = append(found, one(c.path.and("resources", "requests", string(resource)), "container %s requests %s of %s, and its limit is %s", c.Name, request.String(), resource, limit.String())...)
			}
		}
		return found
	}),
}
