// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"regexp"
	"strings"
)

// secretName is what variables that hold secrets are called; harmless are values that are none.
var (
	secretName = regexp.MustCompile(`(?i)(^|_)(pg|mysql_|redis_)?(pass|passwd|password|pwd|passphrase|secret|token|api_?key|access_key|private_key)$`)
	harmless   = regexp.MustCompile(`^(/|\$\(|<|\{\{)|^(?i)(true|false|yes|no|none|disabled)$|^\s*$`)
)

var secretInPlainText = &Rule{
	ID: "secret-in-plain-text", Level: Warning, Kinds: "CronJob, Timetable, Job",
	Summary: "a variable that sounds like a secret has its value in the manifest",
	Reason:  "Whoever reads the repository, the object or a describe of its Pod reads the secret.",
	Cure:    "Put it into a Secret, and write valueFrom.secretKeyRef.",
	check: eachContainer(func(_ *Subject, c container) []problem {
		var found []problem
		for i, v := range c.Env {
			if secretName.MatchString(v.Name) && !harmless.MatchString(v.Value) && !strings.Contains(v.Value, "$(") {
				found = append(found, one(c.path.and("env", i, "value"), "the value of %s of container %s is in the manifest", v.Name, c.Name)...)
			}
		}
		return found
	}),
}
