// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

var oneMachinePlacement = &Rule{
	ID: "one-machine-placement", Level: Info, Kinds: "CronJob, Timetable, Job; on one machine",
	Summary: "the Pod wants a certain node, and carillon up has one",
	Reason:  "Where the one node does not have these labels the Pod stays Pending; priorities and spreading have no one to act on.",
	Cure:    "For carillon up take it out; a cluster needs it.",
	check: eachPod(func(s *Subject, p *podSpec) []problem {
		var found []problem
		for _, field := range []string{"nodeSelector", "nodeName", "affinity", "topologySpreadConstraints", "schedulerName"} {
			if path := p.path.and(field); s.has(path...) && s.text(path...) != "default-scheduler" {
				found = append(found, one(path, "%s chooses among nodes, and carillon up has one", field)...)
			}
		}
		return found
	}),
}
