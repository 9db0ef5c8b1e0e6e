// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/kube/events"
)

// unreadable reports what of a CronJob cannot be read, and how that is mended. Nothing else is done for it: what it
// asks for is not known, and so not what may be started, deleted or recorded.
func (r *reconciler) unreadable(key types.NamespacedName, owner client.Object, trouble *adapter.Unreadable) {
	uid := owner.GetUID()
	r.tracked.track(key, uid, r.forgetUID)
	r.backoff.Forget(key)
	now := r.clock.Now()
	since := r.tracked.unreadableSince(key, uid, trouble.Error(), now)
	times := now.Sub(since) / cron.RepeatInterval
	r.timers.Cancel(key)
	r.timers.Wake(key, since.Add((times+1)*cron.RepeatInterval))
	r.recorder.Event(events.Event{About: events.About(owner, r.info.Owner), Type: corev1.EventTypeWarning, Reason: "Unreadable",
		Message: fmt.Sprintf("%s. Nothing is started or deleted for this %s until that is mended (%s)", trouble, r.info.Owner.Kind,
			r.editCommand(key, trouble)),
		DedupKey: fmt.Sprintf("%s %d %d", trouble, since.UnixNano(), times)})
}

// editCommand is what a user types to mend it.
func (r *reconciler) editCommand(key types.NamespacedName, trouble *adapter.Unreadable) string {
	edit := "kubectl edit " + r.info.Name + " " + key.Name + " -n " + key.Namespace
	if strings.HasPrefix(trouble.Field, "status") {
		edit += " --subresource=status"
	}
	return edit
}

// unreadableStatus reports what of a status cannot be read, once for each thing that it is. All else is served.
func (r *reconciler) unreadableStatus(key types.NamespacedName, owner client.Object, trouble *adapter.Unreadable) {
	r.recorder.Event(events.Event{About: events.About(owner, r.info.Owner), Type: corev1.EventTypeWarning, Reason: "Unreadable",
		Message: fmt.Sprintf("%s. It counts as absent, and is written anew when what it tells of changes; to take it out before: %s",
			trouble, r.editCommand(key, trouble)),
		DedupKey: "status " + trouble.Error()})
}

// unreadableChild reports what of a child cannot be read. It is in the way of others like any unfinished one.
func (r *reconciler) unreadableChild(owner, child client.Object, trouble *adapter.Unreadable) {
	r.recorder.Event(events.Event{About: events.About(owner, r.info.Owner), Type: corev1.EventTypeWarning, Reason: "Unreadable",
		Message: fmt.Sprintf("%s %s: %s. It counts as unfinished until that is mended, or it is deleted",
			r.info.Traits.ChildKind, child.GetName(), trouble),
		DedupKey: string(child.GetUID()) + " " + trouble.Error()})
}
