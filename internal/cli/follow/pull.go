// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package follow

import "regexp"

// pullFailure is how our own node says, inside of what the kubelet makes of it, that an image cannot be pulled. Other
// runtimes have other words, and what they mean is known to them alone.
var pullFailure = regexp.MustCompile(`(?s)rpc error: code = (\w+) desc = (image \S+ cannot be pulled: .*)$`)

// lasting are the codes of pulls that fail however often they are tried: the registry's host is not known here, it does
// not have the image, or not for this machine, or gives it to others only.
var lasting = map[string]bool{"Unavailable": true, "NotFound": true, "FailedPrecondition": true, "PermissionDenied": true}

// noPull reads a message about an image that cannot be pulled: the sentence in it, and whether the image will never
// come, as far as can be told. Without such a sentence it returns nothing.
func noPull(message string) (sentence string, never bool) {
	m := pullFailure.FindStringSubmatch(message)
	if m == nil {
		return "", false
	}
	if sentence = m[2]; m[1] == "NotFound" {
		sentence += ". Is the name right, and the tag? An image that no registry has comes from a file: carillon image import FILE"
	}
	return sentence, lasting[m[1]]
}
