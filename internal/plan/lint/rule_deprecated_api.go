// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

var deprecatedAPI = &Rule{
	ID: "deprecated-api", Level: Warning, Kinds: "CronJob",
	Summary: "the apiVersion is served no more",
	Reason:  "API servers since Kubernetes 1.25 refuse batch/v1beta1, and those since 1.21 batch/v2alpha1. Carillon reads the former as batch/v1, which has the same fields.",
	Cure:    "Write apiVersion: batch/v1.",
	Fix:     "writes batch/v1",
	check: func(s *Subject) []problem {
		version := s.Content.GetAPIVersion()
		if s.document != nil { // a reader of manifests may have changed it
			version = scalar(s.document.root, "apiVersion")
		}
		if !deprecated(version) || s.Content.GetKind() != "CronJob" {
			return nil
		}
		found := one(at("apiVersion"), "apiVersion: %s is served no more", version)
		found[0].changes = []Change{{Path: at("apiVersion"), Value: "batch/v1"}}
		return found
	},
}

// deprecated tells whether an apiVersion had CronJobs, and is served no more.
func deprecated(version string) bool {
	return version == "batch/v1beta1" || version == "batch/v2alpha1"
}
