// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

var imageLatest = &Rule{
	ID: "image-latest", Level: Warning, Kinds: "CronJob, Timetable, Job",
	Summary: "the image has no tag, or the tag latest",
	Reason:  "Which program runs tonight is decided by whoever pushes last, and a bad push fails every schedule at once; nobody can go back to what ran yesterday.",
	Cure:    "Name a version, or a digest.",
	check: eachContainer(func(_ *Subject, c container) []problem {
		if !moving(c.Image) {
			return nil
		}
		return one(c.path.and("image"), "image %q of container %s is whatever is newest when it runs", c.Image, c.Name)
	}),
}
