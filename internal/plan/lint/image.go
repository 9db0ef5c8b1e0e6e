// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import "strings"

// imageTag cuts the name of an image: its tag, "" if none is written, and whether a digest says which image it is.
func imageTag(image string) (tag string, digest bool) {
	image, _, digest = strings.Cut(image, "@")
	last := image[strings.LastIndex(image, "/")+1:]
	_, tag, _ = strings.Cut(last, ":")
	return tag, digest
}

// localImages are names that stand for this machine's own files.
var localImages = map[string]bool{"host": true, "none": true}

// moving tells whether an image may be another one tomorrow, as far as its name says.
func moving(image string) bool {
	if image == "" || localImages[image] || strings.Contains(image, "$(") {
		return false
	}
	tag, digest := imageTag(image)
	return !digest && (tag == "" || tag == "latest")
}
