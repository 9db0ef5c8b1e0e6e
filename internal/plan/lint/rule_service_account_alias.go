// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

var serviceAccountAlias = &Rule{
	ID: "service-account-alias", Level: Warning, Kinds: "CronJob, Timetable, Job",
	Summary: "serviceAccount is the old name of serviceAccountName",
	Reason:  "It is deprecated, and when both are written the new one wins in silence.",
	Cure:    "Write serviceAccountName.",
	Fix:     "renames the field",
	check: eachPod(func(s *Subject, p *podSpec) []problem {
		path := p.path.and("serviceAccount")
		if p.spec.DeprecatedServiceAccount == "" || s.has("metadata", "uid") { // a server shows both
			return nil
		}
		found := one(path, "serviceAccount: %s is the deprecated spelling", p.spec.DeprecatedServiceAccount)
		if p.spec.ServiceAccountName == "" {
			found[0].changes = []Change{{Path: path, Rename: "serviceAccountName"}}
		}
		return found
	}),
}
