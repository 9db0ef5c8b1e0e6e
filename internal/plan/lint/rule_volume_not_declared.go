// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

var volumeNotDeclared = &Rule{
	ID: "volume-not-declared", Level: Error, Kinds: "CronJob, Timetable, Job",
	Summary: "a container mounts a volume that the Pod does not have",
	Reason:  "The API server refuses it.",
	Cure:    "Add the volume to volumes, or mend its name.",
	check: eachPod(func(_ *Subject, p *podSpec) []problem {
		there := map[string]bool{}
		for _, v := range p.spec.Volumes {
			there[v.Name] = true
		}
		var found []problem
		for _, c := range p.containers() {
			for i, m := range c.VolumeMounts {
				if !there[m.Name] {
					found = append(found, one(c.path.and("volumeMounts", i, "name"), "container %s mounts %q, and no volume has that name", c.Name, m.Name)...)
				}
			}
		}
		return found
	}),
}
