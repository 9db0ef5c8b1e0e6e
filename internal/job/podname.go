// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Names of generated objects are at most 63 characters: what the server keeps of generateName, and the suffix.
const (
	maxNameBase  = 58
	suffixLength = 5
	maxPodName   = 253
)

// The alphabet of generated names: no vowels, so no words, and nothing that looks alike.
const suffixAlphabet = "bcdfghjklmnpqrstvwxz2456789"

// PodName is the name of the pod that the Job with this UID makes for a completion index (-1 for a NonIndexed Job) as
// its attempt-th. It looks like what the API server makes of generateName, "<job>-<index>-<5>" or "<job>-<5>", but says
// the same when it is asked twice: a creation whose answer was lost, or was decided upon from a stale view, meets its
// own pod instead of making a second one. attempt counts from 0 and is the first whose name no pod of the Job has,
// starting from what is durably known ([syncState.attempts]).
func PodName(job string, uid types.UID, index, attempt int) string {
	hash := sha256.New()
	hash.Write([]byte(uid))
	var key [17]byte
	binary.BigEndian.PutUint64(key[1:], uint64(int64(index)))
	binary.BigEndian.PutUint64(key[9:], uint64(int64(attempt)))
	hash.Write(key[:])
	n := binary.BigEndian.Uint64(hash.Sum(nil))
	base := generateName(job, index)
	name := make([]byte, 0, maxNameBase+suffixLength)
	name = append(name, base[:min(len(base), maxNameBase)]...)
	for range suffixLength {
		name = append(name, suffixAlphabet[n%uint64(len(suffixAlphabet))])
		n /= uint64(len(suffixAlphabet))
	}
	return string(name)
}

// generateName is the fixed part of a pod's name. The server cuts it to 58 characters; with an index we cut the Job's
// name ourselves, so that the index survives.
func generateName(job string, index int) string {
	if index < 0 {
		if len(job)+len("-") > maxPodName {
			return job
		}
		return job + "-"
	}
	tail := "-" + strconv.Itoa(index) + "-"
	if len(job)+len(tail) > maxNameBase {
		job = job[:max(0, maxNameBase-len(tail))]
	}
	return job + tail
}

// namer hands out names that no pod of the Job has.
type namer struct {
	job   *batchv1.Job
	taken map[string]bool
	next  map[int]int
}

func (n *namer) name(index, from int) string {
	attempt, seen := n.next[index]
	if !seen {
		attempt = from
	}
	for {
		name := PodName(n.job.Name, n.job.UID, index, attempt)
		attempt++
		if !n.taken[name] {
			n.taken[name] = true
			n.next[index] = attempt
			return name
		}
	}
}
