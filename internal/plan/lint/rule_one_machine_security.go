// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

var oneMachineSecurity = &Rule{
	ID: "one-machine-security", Level: Info, Kinds: "CronJob, Timetable, Job; on one machine",
	Summary: "a kernel setting or profile that carillon up refuses or leaves out",
	Reason:  "Pods share the kernel settings of the machine: one that asks for sysctls is refused; AppArmor profiles are not applied.",
	Cure:    "For carillon up take it out, and set it on the machine.",
	check: eachPod(func(_ *Subject, p *podSpec) []problem {
		var found []problem
		security := p.path.and("securityContext")
		if c := p.spec.SecurityContext; c != nil {
			if len(c.Sysctls) > 0 {
				found = append(found, one(security.and("sysctls"), "carillon up refuses a Pod with sysctls (%s)", c.Sysctls[0].Name)...)
			}
			if c.AppArmorProfile != nil {
				found = append(found, one(security.and("appArmorProfile"), "carillon up applies no AppArmor profile")...)
			}
		}
		for _, c := range p.containers() {
			if c.SecurityContext != nil && c.SecurityContext.AppArmorProfile != nil {
				found = append(found, one(c.path.and("securityContext", "appArmorProfile"), "carillon up applies no AppArmor profile to container %s", c.Name)...)
			}
			for i, m := range c.VolumeMounts {
				if m.MountPropagation != nil && *m.MountPropagation == "Bidirectional" {
					found = append(found, one(c.path.and("volumeMounts", i, "mountPropagation"), "mountPropagation: Bidirectional is HostToContainer under carillon up")...)
				}
			}
		}
		return found
	}),
}
