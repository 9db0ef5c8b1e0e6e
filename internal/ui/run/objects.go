// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/carillon-dev/carillon/internal/plan/diagnosis"
	"github.com/carillon-dev/carillon/internal/plan/paragraph"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
)

// objects are what the API server has of a run.
type objects struct {
	Conditions []condition
	// Indexes says which indexes of an indexed Job have succeeded and failed; "" if it has none.
	Indexes string
	Pods    []pod
	// MorePods leads to those that follow; "" if there are none.
	MorePods string
	// Events are the newest ones, MoreEvents those before them.
	Events, MoreEvents []event
}

// eventsAtOnce is how many events are seen at once.
const eventsAtOnce = 8

// condition is one of a Job that holds.
type condition struct {
	Type, Reason, Message string
	Since                 time.Time
}

// pod is a Pod as the page shows it.
type pod struct {
	Name, Node, Index string
	// Class is that of a badge, State one word, and Text says it in words.
	Class, Icon, State, Text string
	Created                  time.Time
	Since                    time.Time
}

// event is an event as the page shows it.
type event struct {
	At                            time.Time
	Type, Reason, Message, Object string
	Count                         int32
}

func objectsOf(k *known, now time.Time) objects {
	var o objects
	if k.job != nil {
		for i := range k.job.Status.Conditions {
			if c := &k.job.Status.Conditions[i]; c.Status == corev1.ConditionTrue {
				o.Conditions = append(o.Conditions, condition{string(c.Type), c.Reason, c.Message, c.LastTransitionTime.Time})
			}
		}
		o.Indexes = indexes(k.job)
	}
	for i := range k.pods {
		o.Pods = append(o.Pods, podOf(&k.pods[i]))
	}
	slices.SortStableFunc(o.Pods, func(a, b pod) int { return b.Created.Compare(a.Created) })
	for i := range k.events {
		e := &k.events[i]
		count := e.Count
		if e.Series != nil {
			count = e.Series.Count
		}
		o.Events = append(o.Events, event{eventTime(e), e.Type, e.Reason, e.Message, strings.ToLower(e.InvolvedObject.Kind) + "/" + e.InvolvedObject.Name, max(1, count)})
	}
	slices.SortStableFunc(o.Events, func(a, b event) int { return cmp.Or(b.At.Compare(a.At), strings.Compare(a.Object, b.Object)) })
	o.Events = o.Events[:min(len(o.Events), mostEvents)]
	if len(o.Events) > eventsAtOnce+2 {
		o.Events, o.MoreEvents = o.Events[:eventsAtOnce], o.Events[eventsAtOnce:]
	}
	return o
}

// longestIndexes bounds what is shown of a list of indexes.
const longestIndexes = 200

func indexes(j *batchv1.Job) string {
	if j.Spec.CompletionMode == nil || *j.Spec.CompletionMode != batchv1.IndexedCompletion {
		return ""
	}
	text := "none has succeeded yet"
	if done := j.Status.CompletedIndexes; done != "" {
		text = "succeeded: " + shortened(done)
	}
	if failed := j.Status.FailedIndexes; failed != nil && *failed != "" {
		text += "; failed: " + shortened(*failed)
	}
	if n := j.Spec.Completions; n != nil && *n > 0 {
		text += "; there are " + quantity.Grouped(int(*n)) + ", from 0 to " + quantity.Grouped(int(*n)-1)
	}
	return text
}

// shortened cuts a list of indexes, which may be very long.
func shortened(list string) string {
	list = strings.ReplaceAll(list, ",", ", ")
	if len(list) <= longestIndexes {
		return list
	}
	return list[:strings.LastIndexByte(list[:longestIndexes], ',')] + ", …"
}

func podOf(p *corev1.Pod) pod {
	state := diagnosis.StateOf(p)
	v := pod{
		Name: p.Name, Node: p.Spec.NodeName, Index: p.Annotations[batchv1.JobCompletionIndexAnnotation], Created: p.CreationTimestamp.Time,
		State: "waits", Class: "waiting", Icon: "clock", Text: paragraph.Sentence(state.Text), Since: state.Since,
	}
	switch {
	case p.Status.Phase == corev1.PodSucceeded:
		v.State, v.Class, v.Icon, v.Text = "succeeded", "succeeded", "check", ""
	case p.Status.Phase == corev1.PodFailed:
		v.State, v.Class, v.Icon = "failed", "failed", "cross"
		v.Text = paragraph.Sentence(strings.TrimPrefix(state.Text, "failed: "))
	case state.Reason == "Running":
		v.State, v.Class, v.Icon = "running", "active", "play"
		v.Text = paragraph.Sentence(strings.TrimPrefix(strings.TrimPrefix(state.Text, "runs"), ", "))
	case state.Reason == "Terminating":
		v.State, v.Class, v.Icon, v.Text = "ending", "cancelled", "stop", "It is being deleted."
	case state.Stuck:
		v.State, v.Icon = "stuck", "warning"
	}
	return v
}
