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
	r.Ended, r.Suspended, r.Stopping, r.PodsRunning = at.UTC(), false, false, 0
	r.cancel()
}

// FailedByStop makes a run what it is that failed after somebody had begun to delete its object: to be ended by a signal
// is a failure for most. One that ended otherwise stays as it is.
func (r *Run) FailedByStop() {
	if r.Outcome == Failed {
		r.cancel()
	}
}

func (r *Run) cancel() {
	r.Outcome, r.Reason, r.Message = Cancelled, "Deleted", "it was deleted before it had ended"
}

// FoundGone makes an active run what can be told of it when its object is found to be gone, and nobody saw how: its
// attempts tell if they leave no doubt, and otherwise it is Unknown, without a time at which it ended. One that has
// ended otherwise stays as it is, and one that runs still: an attempt that has not ended.
func (r *Run) FoundGone(attempts []Attempt) {
	if r.Outcome.Ended() && r.Outcome != Unknown {
		return
	}
	if slices.ContainsFunc(attempts, func(a Attempt) bool { return a.Ended.IsZero() }) {
		return
	}
	r.Outcome, r.Ended, r.Suspended, r.PodsRunning = Unknown, time.Time{}, false, 0
	r.Reason, r.Message = "Unseen", unseen+", and nothing tells how it ended"
	pods := lastOfPods(attempts)
	if len(pods) == 0 {
		return
	}
	succeeded, newest := int32(0), pods[0]
	for _, pod := range pods {
		if pod.succeeded() {
			succeeded++
		}
		if pod.ended.After(newest.ended) {
			newest = pod
		}
	}
	told := &newest.told
	switch {
	case r.Completions > 0 && succeeded >= r.Completions:
		r.Outcome, r.Reason, r.Message = Succeeded, "", ""
		r.PodsSucceeded, r.Ended = succeeded, newest.ended
	case told.Failed() && told.Role != Sidecar && !told.Stopped():
		// Whether it would have tried again nobody knows; it did not.
		r.Outcome, r.Reason, r.Ended = Failed, cmp.Or(told.Reason, "Error"), newest.ended
		r.Message = fmt.Sprintf("%s; container %s had ended with exit code %d", unseen, told.Container, told.ExitCode)
	case told.Stopped():
		r.Message = fmt.Sprintf("%s; container %s had been stopped (exit code %d)", unseen, told.Container, told.ExitCode)
	default:
		r.Message = fmt.Sprintf("%s; container %s had ended with exit code %d, and nothing tells whether that was all",
			unseen, told.Container, told.ExitCode)
	}
}

const unseen = "its object was gone when it was looked for again"

// lastOfPod is how the containers of a Pod ended last.
type lastOfPod struct {
	ended time.Time // the sidecars' does not count
	// mains is how many main containers it has, 0 if nobody told; ok how many of them ended well at last.
	mains, ok int32
	told      Attempt // the one of the greatest weight, of those the last
}

// succeeded tells whether all that must end well has.
func (p *lastOfPod) succeeded() bool { return p.mains > 0 && p.ok == p.mains }

// lastOfPods takes of each container of each Pod the last attempt, by Pod.
func lastOfPods(attempts []Attempt) []lastOfPod {
	type container struct {
		pod  types.UID
		name string
	}
	newest := map[container]Attempt{}
	for _, a := range attempts {
		key := container{a.PodUID, a.Container}
		if known, again := newest[key]; !again || a.Restart > known.Restart {
			newest[key] = a
		}
	}
	pods := map[types.UID]*lastOfPod{}
	for key, a := range newest {
		pod := pods[key.pod]
		if pod == nil {
			pod = &lastOfPod{told: a}
			pods[key.pod] = pod
		}
		if a.Role != Sidecar && a.Ended.After(pod.ended) {
			pod.ended = a.Ended
		}
		if heavier := cmp.Compare(a.Weight(), pod.told.Weight()); heavier > 0 || heavier == 0 && later(a, pod.told) {
			pod.told = a
		}
		pod.mains = max(pod.mains, a.Mains)
		if a.Role == Main && !a.Failed() {
			pod.ok++
		}
	}
	var last []lastOfPod
	for _, pod := range pods {
		if pod.ended.IsZero() {
			pod.ended = pod.told.Ended // of a sidecar: there is nothing else
		}
		last = append(last, *pod)
	}
	slices.SortFunc(last, func(a, b lastOfPod) int {
		return cmp.Or(a.ended.Compare(b.ended), cmp.Compare(a.told.ContainerID, b.told.ContainerID))
	})
	return last
}

func later(a, b Attempt) bool {
	return cmp.Or(a.Ended.Compare(b.Ended), cmp.Compare(a.ContainerID, b.ContainerID)) > 0
}
