// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

var hostPath = &Rule{
	ID: "host-path", Level: Info, Kinds: "CronJob, Timetable, Job",
	Summary: "a volume is a directory of the node",
	Reason:  "On a cluster each run may be on another node, with other files; and a Pod that writes there can harm the node.",
	Cure:    "Take a PersistentVolumeClaim, or bind the Pod to one node if it is about that node.",
	check: eachPod(func(_ *Subject, p *podSpec) []problem {
		var found []problem
		for i, v := range p.spec.Volumes {
			if v.HostPath != nil {
				found = append(found, one(p.path.and("volumes", i, "hostPath"), "volume %s is %s of whichever node the Pod is on", v.Name, v.HostPath.Path)...)
			}
		}
		return found
	}),
}
