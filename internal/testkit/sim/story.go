// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Story remembers what happened. It is put into words only when somebody wants
// to read it, so what is told must not change afterwards: tell strings and
// numbers, and no objects but those of the store.
type Story struct {
	world *World
	lines []line
}

type line struct {
	at     time.Duration
	depth  int
	actor  string
	format string
	args   []any
}

// Tell adds a line: who did, or met, what.
func (s *Story) Tell(actor, format string, args ...any) {
	s.lines = append(s.lines, line{s.world.now, s.world.depth(), actor, format, args})
}

// String is the story, a line for each event: the time since the world began,
// the actor, and what happened; dots before it tell that a request was under way.
func (s *Story) String() string {
	var b strings.Builder
	for _, l := range s.lines {
		fmt.Fprintf(&b, "%12.3fs  %-12s %s", l.at.Seconds(), l.actor, strings.Repeat("· ", l.depth))
		fmt.Fprintf(&b, l.format, l.args...)
		b.WriteByte('\n')
	}
	return b.String()
}

// Len is the number of lines.
func (s *Story) Len() int { return len(s.lines) }

// news is a change in words. Its objects never change, so it can wait for a reader.
type news Change

func (c *news) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s (%s)", c.Verb, c.Kind, c.New.GetName(), c.New.GetUID())
	if c.Old == nil {
		if ref := metav1.GetControllerOfNoCopy(c.New); ref != nil {
			fmt.Fprintf(&b, " for %s", ref.UID)
		}
		switch o := c.New.(type) {
		case *batchv1.Job:
			fmt.Fprintf(&b, ": %s", wish(o))
		case *corev1.Pod:
			if index, ok := o.Annotations[batchv1.JobCompletionIndexAnnotation]; ok {
				fmt.Fprintf(&b, ", index %s", index)
			}
		}
		return b.String()
	}
	said := 0
	say := func(format string, args ...any) {
		b.WriteString(map[bool]string{true: ": ", false: ", "}[said == 0])
		fmt.Fprintf(&b, format, args...)
		said++
	}
	if c.New.GetDeletionTimestamp() != nil && c.Old.GetDeletionTimestamp() == nil {
		say("to go")
		if g := c.New.GetDeletionGracePeriodSeconds(); g != nil && *g > 0 {
			fmt.Fprintf(&b, " in %d s", *g)
		}
	}
	if was, is := c.Old.GetFinalizers(), c.New.GetFinalizers(); !slices.Equal(was, is) {
		say("finalizers %v", is)
	}
	if !maps.Equal(c.Old.GetLabels(), c.New.GetLabels()) {
		say("labels %v", c.New.GetLabels())
	}
	if was, is := metav1.GetControllerOfNoCopy(c.Old), metav1.GetControllerOfNoCopy(c.New); (was == nil) != (is == nil) {
		if is == nil {
			say("without a controller")
		} else {
			say("controlled by %s", is.UID)
		}
	}
	switch o := c.New.(type) {
	case *corev1.Pod:
		old := c.Old.(*corev1.Pod)
		if old.Spec.NodeName != o.Spec.NodeName {
			say("on %s", o.Spec.NodeName)
		}
		if old.Status.Phase != o.Status.Phase {
			say("%s", o.Status.Phase)
			for _, s := range o.Status.ContainerStatuses {
				if t := s.State.Terminated; t != nil {
					fmt.Fprintf(&b, " (exit %d)", t.ExitCode)
				}
			}
		}
		if len(old.Status.Conditions) != len(o.Status.Conditions) && len(o.Status.Conditions) > 0 {
			say("%s", o.Status.Conditions[len(o.Status.Conditions)-1].Type)
		}
	case *batchv1.Job:
		old := c.Old.(*batchv1.Job)
		if was, is := wish(old), wish(o); was != is {
			say("%s", is)
		}
		if c.Verb == "status" {
			say("%s", account(&o.Status))
		}
	}
	if c.Gone {
		say("gone")
	}
	return b.String()
}

// wish is what is asked of a Job.
func wish(j *batchv1.Job) string {
	var b strings.Builder
	s := &j.Spec
	number := func(name string, n *int32) {
		if n != nil {
			fmt.Fprintf(&b, " %s=%d", name, *n)
		}
	}
	if s.CompletionMode != nil {
		b.WriteString(string(*s.CompletionMode))
	}
	number("parallelism", s.Parallelism)
	number("completions", s.Completions)
	number("backoffLimit", s.BackoffLimit)
	number("backoffLimitPerIndex", s.BackoffLimitPerIndex)
	number("maxFailedIndexes", s.MaxFailedIndexes)
	number("ttl", s.TTLSecondsAfterFinished)
	if s.ActiveDeadlineSeconds != nil {
		fmt.Fprintf(&b, " deadline=%d", *s.ActiveDeadlineSeconds)
	}
	if s.Suspend != nil && *s.Suspend {
		b.WriteString(" suspended")
	}
	if s.PodReplacementPolicy != nil {
		fmt.Fprintf(&b, " replace=%s", *s.PodReplacementPolicy)
	}
	if s.PodFailurePolicy != nil {
		b.WriteString(" podFailurePolicy")
	}
	if s.SuccessPolicy != nil {
		b.WriteString(" successPolicy")
	}
	if s.Template.Spec.RestartPolicy != corev1.RestartPolicyNever {
		fmt.Fprintf(&b, " restart=%s", s.Template.Spec.RestartPolicy)
	}
	if s.ManagedBy != nil {
		fmt.Fprintf(&b, " managedBy=%s", *s.ManagedBy)
	}
	return b.String()
}

// account is what a Job's status says.
func account(s *batchv1.JobStatus) string {
	var b strings.Builder
	terminating, ready := int32(0), int32(0)
	if s.Terminating != nil {
		terminating = *s.Terminating
	}
	if s.Ready != nil {
		ready = *s.Ready
	}
	fmt.Fprintf(&b, "active=%d ready=%d terminating=%d succeeded=%d failed=%d", s.Active, ready, terminating, s.Succeeded, s.Failed)
	if s.CompletedIndexes != "" {
		fmt.Fprintf(&b, " completed=%s", s.CompletedIndexes)
	}
	if s.FailedIndexes != nil && *s.FailedIndexes != "" {
		fmt.Fprintf(&b, " failedIndexes=%s", *s.FailedIndexes)
	}
	if u := s.UncountedTerminatedPods; u != nil && len(u.Succeeded)+len(u.Failed) > 0 {
		fmt.Fprintf(&b, " uncounted=%v+%v", u.Succeeded, u.Failed)
	}
	for _, c := range s.Conditions {
		fmt.Fprintf(&b, " %s=%s(%s)", c.Type, c.Status, c.Reason)
	}
	return b.String()
}
