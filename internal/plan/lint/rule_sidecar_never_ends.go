// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import "strings"

// sidecarImages are parts of the names of images that serve until they are stopped.
var sidecarImages = []string{"cloud-sql-proxy", "cloudsql-proxy", "istio/proxyv2", "envoyproxy/envoy", "linkerd/proxy", "fluent-bit", "fluentd", "filebeat", "vault-agent", "oauth2-proxy", "pgbouncer"}

var sidecarNeverEnds = &Rule{
	ID: "sidecar-never-ends", Level: Warning, Kinds: "CronJob, Timetable, Job",
	Summary: "a container that serves for ever stands beside the one that works",
	Reason:  "A Pod has ended when all its containers have: the Job never does, and under Forbid nothing follows it.",
	Cure:    "Make it a native sidecar: an init container with restartPolicy: Always.",
	check: eachPod(func(_ *Subject, p *podSpec) []problem {
		if p.job == nil || len(p.spec.Containers) < 2 {
			return nil
		}
		var found []problem
		for i, c := range p.spec.Containers {
			for _, known := range sidecarImages {
				if strings.Contains(c.Image, known) {
					found = append(found, one(p.path.and("containers", i), "container %s (%s) does not end by itself, so the Job does not either", c.Name, c.Image)...)
					break
				}
			}
		}
		return found
	}),
}
