// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import "strings"

var oneMachineNetwork = &Rule{
	ID: "one-machine-network", Level: Info, Kinds: "CronJob, Timetable, Job; on one machine",
	Summary: "Pods of carillon up share the network of the machine",
	Reason:  "There are no Services and no cluster DNS, and two Pods that listen on one port collide.",
	Cure:    "For carillon up name hosts that this machine can resolve, and one port for one Pod.",
	check: eachPod(func(_ *Subject, p *podSpec) []problem {
		var found []problem
		for _, c := range p.containers() {
			for i, v := range c.Env {
				if clusterHost(v.Value) {
					found = append(found, one(c.path.and("env", i, "value"), "%s names a Service of a cluster, which this machine cannot resolve", v.Name)...)
				}
			}
			for i, port := range c.Ports {
				found = append(found, one(c.path.and("ports", i), "port %d of container %s is the machine's under carillon up", port.ContainerPort, c.Name)...)
			}
		}
		return found
	}),
}

// clusterHost tells whether a text names a Service by the DNS of a cluster.
func clusterHost(text string) bool {
	return strings.Contains(text, ".svc.cluster.local") || strings.HasSuffix(text, ".svc")
}
