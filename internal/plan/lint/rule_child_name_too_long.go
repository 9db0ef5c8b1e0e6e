// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"strconv"
)

// longestHostName is what a label of DNS may have.
const longestHostName = 63

var childNameTooLong = &Rule{
	ID: "child-name-too-long", Level: Warning, Kinds: "Timetable of JobSets",
	Summary: "names of what a JobSet makes may be longer than a host name can be",
	Reason:  "A JobSet adds the name of each of its Jobs and two numbers to its own; what is longer than 63 characters is refused when it starts.",
	Cure:    "Shorten the name of the Timetable or of the replicated Job.",
	check: func(s *Subject) []problem {
		if kind, _ := s.runKind(); s.timetable == nil || kind.String() != "JobSet.jobset.x-k8s.io" {
			return nil
		}
		child := min(len(s.Content.GetName()), longestBase) + len("-20060102-150405")
		if r := s.timetable.Spec.Retry; r != nil {
			child += len("-r" + strconv.Itoa(int(r.Limit)+1))
		}
		var found []problem
		jobs, _ := s.written("spec", "template", "spec", "replicatedJobs")
		list, _ := jobs.([]any)
		for i := range list {
			path := at("spec", "template", "spec", "replicatedJobs", i)
			replicas, pods := int64(1), int64(1)
			if n, ok := s.number(path.and("replicas")...); ok {
				replicas = n
			}
			for _, field := range []string{"parallelism", "completions"} {
				if n, ok := s.number(path.and("template", "spec", field)...); ok {
					pods = max(pods, n)
				}
			}
			name := s.text(path.and("name")...)
			longest := child + len("-"+name) + len("-"+strconv.FormatInt(max(0, replicas-1), 10)) + len("-"+strconv.FormatInt(max(0, pods-1), 10))
			if longest > longestHostName {
				found = append(found, one(path.and("name"), "its Pods' host names may have %d characters: %d of the run, %d of %q and its numbers; %d is the most", longest, child, longest-child, name, longestHostName)...)
			}
		}
		return found
	},
}

// longestBase is how much of a Timetable's name the names of its runs have (timetable.md 7).
const longestBase = 30
