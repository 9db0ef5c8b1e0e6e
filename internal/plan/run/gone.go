// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Gone makes an active run what it is when its object was seen to go at that time without having ended: deleted by
// somebody. One that has ended stays as it is.
func (r *Run) Gone(at time.Time) {
	if r.Outcome.Ended() {
		return
	}
	r.Outcome, r.Ended, r.Suspended, r.PodsRunning = Cancelled, at.UTC(), false, 0
	r.Reason, r.Message = "Deleted", "it was deleted before it had ended"
}

// FoundGone makes an active run what can be told of it when its object is found to be gone, at that time, and nobody saw
// how: its attempts tell if they leave no doubt. One that has ended stays as it is.
func (r *Run) FoundGone(attempts []Attempt, at time.Time) {
	if r.Outcome.Ended() {
		return
	}
	r.Outcome, r.Ended, r.Suspended, r.PodsRunning = Unknown, at.UTC(), false, 0
	r.Reason, r.Message = "Unseen", "its object was gone when it was looked for again, and nothing tells how it ended"
	last := lastOfPods(attempts)
	if len(last) == 0 {
		return
	}
	succeeded, newest := int32(0), last[0]
	for _, pod := range last {
		if !pod.failed {
			succeeded++
		}
		if pod.ended.After(newest.ended) {
			newest = pod
		}
	}
	switch {
	case succeeded >= max(1, r.Completions):
		r.Outcome, r.Reason, r.Message = Succeeded, "", ""
		r.PodsSucceeded = succeeded
	case newest.failed:
		// Whether it would have tried again nobody knows; it did not.
		r.Outcome, r.Reason = Failed, cmp.Or(newest.attempt.Reason, "Error")
		r.Message = fmt.Sprintf("its object was gone when it was looked for again; container %s had ended with exit code %d",
			newest.attempt.Container, newest.attempt.ExitCode)
	default:
		return
	}
	r.Ended = newest.ended
}

// lastOfPod is how the containers of a Pod ended last.
type lastOfPod struct {
	ended   time.Time
	failed  bool
	attempt Attempt // one that failed, or else the last one
}

// lastOfPods takes of each container of each Pod the last attempt, by Pod.
func lastOfPods(attempts []Attempt) []lastOfPod {
	type container struct {
		pod  types.UID
		name string
	}
	newest := map[container]Attempt{}
	for _, a := range attempts {
		key := container{a.PodUID, a.Container}
		if known, again := newest[key]; !a.Ended.IsZero() && (!again || a.Restart > known.Restart) {
			newest[key] = a
		}
	}
	pods := map[types.UID]*lastOfPod{}
	for key, a := range newest {
		pod := pods[key.pod]
		if pod == nil {
			pod = &lastOfPod{attempt: a}
			pods[key.pod] = pod
		}
		if a.Ended.After(pod.ended) {
			pod.ended = a.Ended
		}
		before := pod.attempt
		if a.Failed() && (!before.Failed() || later(a, before)) || !before.Failed() && later(a, before) {
			pod.attempt = a
		}
		pod.failed = pod.failed || a.Failed()
	}
	var last []lastOfPod
	for _, pod := range pods {
		last = append(last, *pod)
	}
	slices.SortFunc(last, func(a, b lastOfPod) int {
		return cmp.Or(a.ended.Compare(b.ended), cmp.Compare(a.attempt.ContainerID, b.attempt.ContainerID))
	})
	return last
}

func later(a, b Attempt) bool {
	return cmp.Or(a.Ended.Compare(b.Ended), cmp.Compare(a.ContainerID, b.ContainerID)) > 0
}
