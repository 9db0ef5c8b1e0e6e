// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import "fmt"

var containerIncomplete = &Rule{
	ID: "container-incomplete", Level: Error, Kinds: "CronJob, Timetable, Job",
	Summary: "a Pod template without containers, or a container without name or image",
	Reason:  "The API server refuses it.",
	Cure:    "Write what is missing.",
	check: eachPod(func(_ *Subject, p *podSpec) []problem {
		if len(p.spec.Containers) == 0 {
			return one(p.path.and("containers"), "the Pod template has no containers")
		}
		var found []problem
		names := map[string]bool{}
		for i, c := range p.containers() {
			switch {
			case c.Name == "":
				found = append(found, one(c.path.and("name"), "container %d has no name", i+1)...)
			case names[c.Name]:
				found = append(found, one(c.path.and("name"), "two containers are called %s", c.Name)...)
			case c.Image == "":
				found = append(found, problem{path: c.path.and("image"), message: fmt.Sprintf("container %s has no image", c.Name)})
			}
			names[c.Name] = true
		}
		return found
	}),
}
