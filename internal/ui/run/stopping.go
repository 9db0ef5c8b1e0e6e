// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// defaultGrace is how long a Pod may take to end that does not say how long.
const defaultGrace = 30 * time.Second

// isStopping finds out of its live object and its Pods since when a run that has not ended is being stopped, and until
// when that can take.
func (k *known) isStopping(object *unstructured.Unstructured) {
	asked := object.GetDeletionTimestamp()
	if asked == nil || k.run.Outcome.Ended() {
		return
	}
	k.stopping = asked.Time
	if grace := object.GetDeletionGracePeriodSeconds(); grace != nil {
		k.stopping = k.stopping.Add(-seconds(*grace)) // the timestamp is when that is over
	}
	for i := range k.pods {
		p := &k.pods[i]
		if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			continue
		}
		end := k.stopping.Add(defaultGrace)
		switch {
		case p.DeletionTimestamp != nil:
			end = p.DeletionTimestamp.Time
		case p.Spec.TerminationGracePeriodSeconds != nil:
			end = k.stopping.Add(seconds(*p.Spec.TerminationGracePeriodSeconds))
		}
		if end.After(k.killed) {
			k.killed = end
		}
	}
}

// stoppingText says that a run is being stopped.
func (k *known) stoppingText() *ending {
	text := fmt.Sprintf("It is being stopped since %s.", k.clock(k.stopping))
	if !k.killed.IsZero() {
		text = fmt.Sprintf("It is being stopped since %s, and killed by %s at the latest.", k.clock(k.stopping), k.clock(k.killed))
	}
	return &ending{Class: "warns", Icon: "stop", Text: text}
}
