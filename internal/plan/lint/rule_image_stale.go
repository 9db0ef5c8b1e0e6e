// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import corev1 "k8s.io/api/core/v1"

var imageStale = &Rule{
	ID: "image-stale", Level: Warning, Kinds: "CronJob, Timetable, Job",
	Summary: "latest, but never pulled again",
	Reason:  "With imagePullPolicy IfNotPresent or Never each node keeps the image that it first saw: the same Job runs other programs on other nodes.",
	Cure:    "Name a version, or write imagePullPolicy: Always.",
	check: eachContainer(func(_ *Subject, c container) []problem {
		if !moving(c.Image) || c.ImagePullPolicy != corev1.PullIfNotPresent && c.ImagePullPolicy != corev1.PullNever {
			return nil
		}
		return one(c.path.and("imagePullPolicy"), "image %q with imagePullPolicy: %s: a node keeps the one it has", c.Image, c.ImagePullPolicy)
	}),
}
