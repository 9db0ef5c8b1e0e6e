// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/cli/console"
)

// eventState is what was said of an event, which the API server counts up when it happens again.
type eventState struct {
	count   int32
	message string
}

// event passes on what asks for the user's attention. What a Job's own last line says is left out. An event of
// a CronJob is passed on each time that it happens: each is a scheduled time of its own. The kubelet repeats
// itself every few seconds, so of a Pod only what is new is.
func (f *Follower) event(e *corev1.Event) {
	if e.Type != corev1.EventTypeWarning && !f.worthTelling(e) || repeated[e.Reason] || isEcho(e) || f.isHistory(e) || !f.concerns(e) {
		return
	}
	now := eventState{count: max(e.Count, 1), message: e.Message}
	if e.Series != nil {
		now.count = max(now.count, e.Series.Count)
	}
	f.mu.Lock()
	before, known := f.events[e.UID]
	f.events[e.UID] = now
	f.mu.Unlock()
	again := before.message != now.message || (isCronJob(e.InvolvedObject.Kind) && now.count > before.count)
	if known && !again {
		return
	}
	why, stuck := eventObstacle(e)
	stuck = stuck && f.opts.Job.Name != "" && f.opts.OnObstacle != nil
	if stuck && why.Reason == reasonPull {
		f.opts.OnObstacle(why) // whose last words are the same
		return
	}
	about := e.InvolvedObject
	line := console.Line{
		Type: console.Warning, Object: ObjectName(group(about.APIVersion), about.Kind, about.Namespace, about.Name),
		Reason: e.Reason, Message: e.Message,
	}
	if e.Type != corev1.EventTypeWarning {
		line.Type, line.Reason, line.Message = console.Info, "", e.Reason+": "+e.Message
	}
	if sentence, _ := noPull(e.Message); sentence != "" {
		line.Message = sentence
	}
	f.opts.Console.Print(line)
	if stuck {
		f.opts.OnObstacle(why)
	}
}

func (f *Follower) forgetEvent(uid types.UID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.events, uid)
}

// repeated are the reasons that a Job's Failed condition repeats.
var repeated = map[string]bool{
	batchv1.JobReasonBackoffLimitExceeded:     true,
	batchv1.JobReasonDeadlineExceeded:         true,
	batchv1.JobReasonPodFailurePolicy:         true,
	batchv1.JobReasonMaxFailedIndexesExceeded: true,
	batchv1.JobReasonFailedIndexes:            true,
}

// isEcho tells whether an event has only the kubelet's word for what an event before it said in full, such as "Error:
// ErrImagePull".
func isEcho(e *corev1.Event) bool {
	word, ok := strings.CutPrefix(e.Message, "Error: ")
	return ok && e.Reason == "Failed" && !strings.Contains(word, " ")
}

func (f *Follower) isHistory(e *corev1.Event) bool {
	at := e.LastTimestamp.Time
	if at.IsZero() {
		at = e.EventTime.Time
	}
	if e.Series != nil && e.Series.LastObservedTime.After(at) {
		at = e.Series.LastObservedTime.Time
	}
	return at.Before(f.opts.Since.Add(-clockSkew))
}

// reasonDiskPressure is the reason of the Warning on a Node whose disk is nearly full. The kubelet's own event of that
// name is no Warning.
const reasonDiskPressure = "NodeHasDiskPressure"

func (f *Follower) concerns(e *corev1.Event) bool {
	about, want := e.InvolvedObject, f.opts.Job
	if about.Kind == "Node" {
		// The one event of the node that says why nothing runs.
		return e.Reason == reasonDiskPressure
	}
	if want.Name == "" {
		return about.Kind == "Pod" || isCronJob(about.Kind) || isJob(about.Kind)
	}
	if about.Kind == "Pod" {
		return about.Namespace == want.Namespace && strings.HasPrefix(about.Name, want.Name+"-")
	}
	return isJob(about.Kind) && f.isFollowed(group(about.APIVersion), about.Namespace, about.Name)
}

// group is the API group of an apiVersion.
func group(apiVersion string) string {
	version, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return ""
	}
	return version.Group
}
